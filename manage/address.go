package manage

import (
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// parseNode reads scheme://cluster@host:port or cluster@host:port. Scheme and
// cluster must be this cluster's own: a URI of another cluster names no member
// here, whoever listens at its address.
func parseNode(n Namer, written string) (member.Address, bool) {
	rest, hasScheme := strings.CutPrefix(written, n.Scheme()+"://")
	if !hasScheme && strings.Contains(written, "://") {
		return member.Address{}, false
	}
	hostPort, ok := strings.CutPrefix(rest, n.Name()+"@")
	if !ok {
		return member.Address{}, false
	}
	a, err := member.ParseAddress(hostPort)
	return a, err == nil
}
