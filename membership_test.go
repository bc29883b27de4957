package troupe

import (
	"testing"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/wire/wiretest"
)

// A change of this schema is a change of what nodes of two versions say to
// each other.
func TestMembershipSchema(t *testing.T) {
	wiretest.Golden(t, "testdata/membership.schema", membershipProtocol)
}

func TestEveryMembershipMessageTravels(t *testing.T) {
	for _, m := range gossip.Messages() {
		if err := membershipProtocol.Check(m); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
}
