package singleton

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/singleton/internal/owner"
)

// A node that leaves hands over before anybody has claimed: the log must not
// name a node that is not there.
func TestHandOverIsLoggedWithItsHeir(t *testing.T) {
	for _, tt := range []struct {
		event owner.HandsOver
		want  string
	}{
		{owner.HandsOver{Term: owner.Term{N: 2}}, `to="whoever claims it"`},
		{owner.HandsOver{Term: owner.Term{N: 2}, To: asker}, "to=" + asker.String()},
	} {
		var out bytes.Buffer
		logEvent(slog.New(slog.NewTextHandler(&out, nil)), tt.event)
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%+v is logged as %q; want %s", tt.event, out.String(), tt.want)
		}
	}
}
