package member

import (
	"fmt"
	"strconv"
)

// A ClusterID tells clusters of one name apart. It is drawn when a cluster is
// founded and stays with it; an incarnation of a node belongs to one cluster in
// its life. Zero is none.
type ClusterID uint64

// String gives 16 hexadecimal digits, or "none".
func (c ClusterID) String() string {
	if c == 0 {
		return "none"
	}
	return fmt.Sprintf("%016x", uint64(c))
}

// ParseClusterID reads what [ClusterID.String] gives for a cluster that exists.
func ParseClusterID(s string) (ClusterID, error) {
	id, err := strconv.ParseUint(s, 16, 64)
	if c := ClusterID(id); err == nil && c != 0 && c.String() == s {
		return c, nil
	}
	return 0, fmt.Errorf("%.40q is no cluster id: want 16 hexadecimal digits that are not all 0", s)
}
