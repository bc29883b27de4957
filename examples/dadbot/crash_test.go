package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
)

// kills makes TestCrashIsRecoveredFrom measure: one kill after the other, as
// `make kills` does.
var kills = flag.Int("kills", 0, "how many nodes to kill, one after the other; 0: one of each kind, at the same time")

const (
	recoverWithin = 3 * time.Second         // the first answer by the new owner, at the latest
	recoverUsual  = 1500 * time.Millisecond // the median of ten kills
)

// victims are the nodes of which more than their own Dads depends, and one of which
// nothing does. A test names the node by its place in the cluster.
var victims = []struct {
	what string
	is   func(v view, uri string) bool
}{
	{"the coordinator's host", func(v view, uri string) bool { return uri == v.Oldest }},
	{"the leader", func(v view, uri string) bool { return uri == v.Leader }},
	{"another", func(v view, uri string) bool { return uri != v.Oldest && uri != v.Leader }},
}

// view is what the management API says of the cluster.
type view struct{ Leader, Oldest string }

// TestCrashIsRecoveredFrom kills, with default settings and without a store, the
// host of a busy chat, and wants another node to answer for the chat soon, and
// never two.
func TestCrashIsRecoveredFrom(t *testing.T) {
	if *kills == 0 {
		for _, victim := range victims {
			t.Run(victim.what, func(t *testing.T) {
				t.Parallel()
				if took := killHost(t, victim.is); took > recoverWithin {
					t.Errorf("the chat was answered for %v after the kill, want %v at the latest", took, recoverWithin)
				}
			})
		}
		return
	}
	var took []time.Duration
	for i := range *kills {
		victim := victims[i%len(victims)]
		took = append(took, killHost(t, victim.is))
		t.Logf("kill %d, %s: %v", i+1, victim.what, took[i].Round(time.Millisecond))
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("first answer by the new owner, %d kills: median %v, at most %v", len(took), median.Round(time.Millisecond), worst.Round(time.Millisecond))
	if worst > recoverWithin || median > recoverUsual {
		t.Errorf("want a median of %v, and %v at most", recoverUsual, recoverWithin)
	}
}

// killHost starts three nodes, kills one that hosts a chat to which the others
// send ten messages a second, and tells when another answered for it.
func killHost(t *testing.T, is func(v view, uri string) bool) (took time.Duration) {
	nodes := startDefault(t)
	v := viewOf(t, nodes[0])
	i := slices.IndexFunc(nodes, func(p *process) bool { return is(v, "troupe://dadbot@"+p.listen) })
	if i < 0 {
		t.Fatalf("no node is what is to be killed: %+v", v)
	}
	victim := nodes[i]
	staying := slices.Delete(slices.Clone(nodes), i, i+1)
	chat := chatOn(t, victim)
	var crowd crowd
	stop := make(chan struct{})
	for _, p := range staying {
		crowd.chatter(p, chat, 200*time.Millisecond, stop)
	}
	after(time.Second)
	killed := victim.kill(t)
	owner := ""
	eventually(t, "another node answers for the chat", func() (err error) {
		owner, err = ownerOf(staying[0], chat)
		if err == nil && owner == victim.name {
			err = fmt.Errorf("%s does", owner)
		}
		return err
	})
	recovered := time.Now()
	took = recovered.Sub(killed)
	t.Logf("%s was killed, and %s answered %v later", victim.name, owner, took.Round(time.Millisecond))
	after(time.Second)
	close(stop)
	crowd.all.Wait()
	eventually(t, "what was accepted since is in a joke", func() error { return readLedger(t, nodes).lost(recovered) })
	for _, p := range staying {
		p.leave(t)
	}
	wantNone(t, "two Dads at a time", readLedger(t, nodes).rivals(map[string]time.Time{victim.name: killed}))
	return took
}

// startDefault starts three nodes with default settings, and waits until all have
// watched the cluster for as long as a coordinator wants to have before it trusts
// its own eyes.
func startDefault(t *testing.T) []*process {
	t.Helper()
	nodes := startNodes(t, 3)
	after(8 * time.Second)
	return nodes
}

func viewOf(t *testing.T, p *process) (v view) {
	t.Helper()
	_, body, err := get(p.manage + "/cluster/members")
	if err == nil {
		err = json.Unmarshal([]byte(body), &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// chatOn finds a chat whose Dad lives on a node.
func chatOn(t *testing.T, p *process) string {
	t.Helper()
	for i := range 100 {
		chat, owner := fmt.Sprintf("k%d", i), ""
		eventually(t, chat+" has a Dad", func() (err error) { owner, err = ownerOf(p, chat); return err })
		if owner == p.name {
			return chat
		}
	}
	t.Fatalf("none of 100 chats is on %s", p.name)
	return ""
}

// ownerOf asks a node where the Dad of a chat lives.
func ownerOf(p *process, chat string) (node string, err error) {
	status, body, err := get(p.http + "/chats/" + chat)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("%d %s", status, body)
	}
	var h struct{ Node string }
	err = json.Unmarshal([]byte(body), &h)
	return h.Node, err
}

// chatter says something in a chat, through a node, again and again.
func (c *crowd) chatter(node *process, chat string, every time.Duration, stop <-chan struct{}) {
	c.all.Go(func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for said := 0; ; said++ {
			select {
			case <-stop:
				return
			case <-beat.C:
				c.say(node, chat, said)
			}
		}
	})
}

// TestPausedNodeBlamesNobody stops a process until the others have removed it. They
// are neither downed nor blamed, and it ends when it wakes, before it answers
// anything.
func TestPausedNodeBlamesNobody(t *testing.T) {
	t.Parallel()
	nodes := startDefault(t)
	paused, staying := nodes[1], []*process{nodes[0], nodes[2]}
	chat := chatOn(t, paused)
	send := func(s syscall.Signal) {
		if err := paused.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	after(15 * time.Second)
	for _, p := range staying {
		eventually(t, p.name+" has removed the paused node", func() error { return p.sees(2) })
	}
	var answered []string
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			status, body, err := get(paused.http + "/chats/" + chat)
			if err != nil {
				return // it has ended
			}
			if status == http.StatusOK {
				answered = append(answered, body)
			}
		}
	})
	send(syscall.SIGCONT)
	paused.wantExit(t, exitFailure)
	asking.Wait()
	if len(answered) > 0 {
		t.Errorf("the woken node answered: %s", answered[0])
	}
	if log := paused.log.String(); !strings.Contains(log, troupe.ErrDowned.Error()) {
		t.Errorf("the woken node does not say that it was downed:\n%s", log)
	}
	for _, p := range staying {
		if err := p.sees(2); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	for _, p := range staying {
		p.leave(t)
		for line := range strings.Lines(p.log.String()) {
			if strings.Contains(line, "member unreachable") && !strings.Contains(line, paused.listen) {
				t.Errorf("%s blamed another: %s", p.name, line)
			}
		}
	}
}
