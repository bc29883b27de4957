package troupe

import (
	"strings"
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
	schema := membershipProtocol.Schema()
	for _, m := range gossip.Messages() {
		if err := membershipProtocol.Check(m.Zero); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if !strings.Contains(schema, m.Name) {
			t.Errorf("%s is not named in the protocol:\n%s", m.Name, schema)
		}
	}
}
