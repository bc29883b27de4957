package placement

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A DaemonID names one process of a sharded daemon: a fixed set of numbered
// entities that always run, whose number can be changed by a new revision.
type DaemonID struct {
	Revision int64 // 0 for the first set
	Total    int   // processes in the set
	Number   int   // of this process, from 0
}

// ParseDaemonID reads an entity id. An id of revision 0 is the plain number
// and does not tell the size of its set, which supplied gives.
func ParseDaemonID(id string, supplied int) (DaemonID, error) {
	parts := strings.Split(id, "|")
	var d DaemonID
	var err error
	switch len(parts) {
	case 1:
		d.Total = supplied
		d.Number, err = strconv.Atoi(id)
	case 3:
		var revision, total, number error
		d.Revision, revision = strconv.ParseInt(parts[0], 10, 64)
		d.Total, total = strconv.Atoi(parts[1])
		d.Number, number = strconv.Atoi(parts[2])
		err = cmp.Or(revision, total, number)
	default:
		err = ErrDaemonID
	}
	if err != nil || d.Revision < 0 || d.Number < 0 {
		return DaemonID{}, fmt.Errorf("daemon id %q: %w", id, ErrDaemonID)
	}
	return d, nil
}

// String gives the entity id, which [ParseDaemonID] reads.
func (d DaemonID) String() string {
	if d.Revision == 0 {
		return strconv.Itoa(d.Number)
	}
	return strconv.FormatInt(d.Revision, 10) + "|" + strconv.Itoa(d.Total) + "|" + strconv.Itoa(d.Number)
}

// Shard is the shard id of the process: each has a shard of its own.
func (d DaemonID) Shard() string { return ShardText(d.Number) }
