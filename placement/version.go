package placement

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Version is an application version, ordered so that a newer release is
// greater. While a rolling update runs, new shards go to the newest.
type Version struct {
	text    string // as it was written
	numbers [4]int // major, minor, patch, commits since the tag
	rest    string // pre-release or commit; none is newer than any
}

// String gives the version as it was written.
func (v Version) String() string { return v.text }

// ParseVersion reads up to three numbers with dots between them, missing ones
// being 0, and a rest behind the first '-' or '+' of the last: 1.2, 1.2.3-M1,
// 1.0.10+3-1234abcd (three commits after 1.0.10). A text without dots that is
// no number, such as a date, is all rest.
func ParseVersion(s string) (Version, error) {
	segments := strings.SplitN(s, ".", 4)
	if len(segments) == 1 {
		if n, ok := number(s); ok {
			return Version{text: s, numbers: [4]int{n}}, nil
		}
		return Version{text: s, rest: s}, nil
	}
	v := Version{text: s}
	last := min(len(segments), 3) - 1
	if i := strings.IndexAny(segments[last], "-+"); i >= 0 {
		// What follows may have dots of its own.
		tail := strings.Join(segments[last:], ".")
		segments = append(segments[:last], tail[:i])
		v.setRest(tail[i+1:])
	}
	if len(segments) > 3 {
		return Version{}, fmt.Errorf("version %q: %w", s, ErrVersionUnsupported)
	}
	for i, segment := range segments {
		n, ok := number(segment)
		if !ok {
			return Version{}, fmt.Errorf("version %q, segment %q: %w", s, segment, ErrVersionNotANumber)
		}
		v.numbers[i] = n
	}
	return v, nil
}

// setRest splits a leading count of commits off the rest.
func (v *Version) setRest(rest string) {
	if count, commit, ok := strings.Cut(rest, "-"); ok {
		if n, ok := number(count); ok {
			v.numbers[3], v.rest = n, commit
			return
		}
	}
	v.rest = rest
}

func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// Compare is negative when v is older than o, positive when it is newer.
func (v Version) Compare(o Version) int {
	for i, n := range v.numbers {
		if c := cmp.Compare(n, o.numbers[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.rest == o.rest:
		return 0
	case v.rest == "":
		return 1
	case o.rest == "":
		return -1
	}
	return cmp.Compare(v.rest, o.rest)
}

// versionOf reads a member's version; one that is not well-formed is all rest,
// older than any number, so that a typing error does not stop placement.
func versionOf(s string) Version {
	v, err := ParseVersion(s)
	if err != nil {
		return Version{text: s, rest: s}
	}
	return v
}
