package placement

import "fmt"

// Slices is the fixed number of slices that persistence ids are spread over:
// the unit by which projections share the events of one entity type.
const Slices = 1024

// Slice gives the slice of a persistence id, from 0 to Slices-1. Unlike
// [JavaHash] it takes the remainder first, so it is never negative.
func Slice(persistenceID string) int {
	n := int(StringHash(persistenceID)) % Slices
	return max(n, -n)
}

// A SliceRange is a run of slices, both ends included.
type SliceRange struct {
	First, Last int
}

// SliceRanges divides the slices into n ranges of one size, in order. n must
// divide [Slices], which means a power of two up to 1024.
func SliceRanges(n int) ([]SliceRange, error) {
	if n <= 0 || Slices%n != 0 {
		return nil, fmt.Errorf("%d slice ranges: %w", n, ErrNotADivisor)
	}
	size := Slices / n
	ranges := make([]SliceRange, n)
	for i := range ranges {
		ranges[i] = SliceRange{First: i * size, Last: (i+1)*size - 1}
	}
	return ranges, nil
}
