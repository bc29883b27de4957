package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
)

const chats = 10

// after waits for a moment of a test that has nothing else to wait for: a part
// of the traffic's plan.
func after(d time.Duration) { <-time.After(d) }

// TestGracefulLeaveLosesAndRepeatsNothing lets the oldest of three nodes leave,
// which hosts Dads and coordinates, while messages come through every node.
func TestGracefulLeaveLosesAndRepeatsNothing(t *testing.T) {
	for _, style := range []string{"states", "loop"} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			nodes := startCluster(t, 3, "-style", style)
			leaving, staying := nodes[0], nodes[1:]
			var parting, crowd crowd // at the node that leaves, and at the others
			stopParting, stop := make(chan struct{}), make(chan struct{})
			parting.talk(leaving, chats, stopParting)
			for _, p := range staying {
				crowd.talk(p, chats, stop)
			}
			after(3 * time.Second)
			close(stopParting)
			parting.all.Wait()
			began := time.Now()
			leaving.leave(t)
			t.Logf("leaving took %v", time.Since(began).Round(time.Millisecond))
			after(3 * time.Second)
			close(stop)
			crowd.all.Wait()

			parting.wantNoneRefused(t)
			crowd.wantNoneRefused(t)
			eventually(t, "every accepted message is in a joke", func() error { return readLedger(t, nodes).lost(time.Time{}) })
			for _, p := range staying {
				p.leave(t)
			}
			l := readLedger(t, nodes)
			sent := parting.sent + crowd.sent
			if got := len(l.accepted(time.Time{})); got != sent {
				t.Errorf("%d messages were accepted of %d", got, sent)
			}
			wantNone(t, "in more than one joke", l.doubled())
			wantNone(t, "out of order", l.reordered())
			wantNone(t, "two Dads at a time", l.rivals(nil))
			t.Logf("%d messages were sent", sent)
		})
	}
}

// TestKilledHostIsReplaced kills a node that hosts Dads, and wants the others
// to answer for every chat again.
func TestKilledHostIsReplaced(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	victim, staying := nodes[0], nodes[1:]
	var crowd crowd
	stop := make(chan struct{})
	for _, p := range staying {
		crowd.talk(p, chats, stop)
	}
	after(2 * time.Second)
	killed := victim.kill(t)
	<-victim.exited
	for i := range chats {
		eventually(t, "every chat is answered for again", func() error { return answers(staying[i%2], i) })
	}
	recovered := time.Now()
	t.Logf("all %d chats were answered for %v after the kill, with %v", chats, recovered.Sub(killed).Round(time.Millisecond), quick)
	after(2 * time.Second)
	close(stop)
	crowd.all.Wait()

	crowd.wantNoneRefused(t)
	eventually(t, "every message that was accepted after the recovery is in a joke", func() error { return readLedger(t, nodes).lost(recovered) })
	for _, p := range staying {
		p.leave(t)
	}
	l := readLedger(t, nodes)
	wantNone(t, "in more than one joke", l.doubled())
	wantNone(t, "out of order", l.reordered())
	wantNone(t, "two Dads at a time", l.rivals(map[string]time.Time{victim.name: killed}))
}

// answers asks with little patience, because a question that went to the dead
// node waits in vain.
func answers(p *process, chat int) error {
	hasty := http.Client{Timeout: 250 * time.Millisecond}
	r, err := hasty.Get(fmt.Sprintf("%s/chats/c%d", p.http, chat))
	if err != nil {
		return err
	}
	status, body, err := read(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, body)
	}
	return err
}

func wantNone(t *testing.T, what string, found []string) {
	t.Helper()
	for _, f := range found[:min(10, len(found))] {
		t.Errorf("%s: %s", what, f)
	}
	if len(found) > 10 {
		t.Errorf("%s: %d in all", what, len(found))
	}
}

// A minority must not go on, and says so with its exit code.
func TestANodeThatIsDownedExitsWithAnError(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	for _, p := range nodes[1:] {
		p.kill(t)
	}
	nodes[0].wantExit(t, exitFailure)
	if log := nodes[0].log.String(); !strings.Contains(log, "dadbot: node-0 has ended: "+troupe.ErrDowned.Error()) {
		t.Errorf("the log of the downed node does not end with the reason:\n%s", log)
	}
}

// A node that still looks for its cluster says so, and can be stopped like any.
func TestANodeThatHasNotJoinedLeavesGracefully(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 4)
	p := newProcess(5, t.TempDir(), ports)
	p.start(t, "-seeds", ports[3])
	eventually(t, "it serves", func() error { _, _, err := get(p.manage + "/alive"); return err })
	if status, body, err := post("http://"+ports[1]+"/chats/c1/messages", "a", "Ann", "hi"); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("POST before joining = %d %s %v, want 503", status, body, err)
	}
	p.leave(t)
}
