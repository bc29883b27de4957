package placement

// An Error is a fixed reason, to be compared with errors.Is.
type Error string

// Error gives the text.
func (e Error) Error() string { return string(e) }

// The reasons for which an input is refused.
const (
	ErrNotADivisor        = Error("placement: the number of slice ranges must divide 1024")
	ErrVersionNotANumber  = Error("placement: a segment of the version is not a number")
	ErrVersionUnsupported = Error("placement: a version has at most three segments")
	ErrDaemonID           = Error("placement: a daemon id is NUMBER or REVISION|TOTAL|NUMBER")
	ErrGroupShard         = Error("placement: a shard of a group is GROUP:NUMBER, counted from 1")
)
