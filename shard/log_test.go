package shard

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/shard/internal/ring"
)

// A node that leaves gives up its seat when it hosts nothing any more: nobody has
// to be warned of that.
func TestSeatThatIsGivenUpIsNoWarning(t *testing.T) {
	for shards, want := range map[int]string{0: "INFO", 7: "WARN"} {
		var out bytes.Buffer
		c := &control{log: slog.New(slog.NewTextHandler(&out, nil))}
		c.logRing(ring.Unseated{Token: 3, Shards: shards, Cause: "given up"})
		if !strings.Contains(out.String(), "level="+want) {
			t.Errorf("with %d shards: %q, want level %s", shards, out.String(), want)
		}
	}
}
