package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// state changes the gossip state in a message that carries one.
func state(change func(from member.ID, p *gossip.Packed)) func(from, to member.ID, m gossip.Message) gossip.Message {
	return func(from, _ member.ID, m gossip.Message) gossip.Message {
		if envelope, ok := m.(gossip.GossipEnvelope); ok {
			change(from, &envelope.Gossip)
			return envelope
		}
		if welcome, ok := m.(gossip.Welcome); ok {
			change(from, &welcome.Gossip)
			return welcome
		}
		return m
	}
}

// mutants are clusters with a planted fault, and what the check that must
// notice it says.
var mutants = []struct {
	name   string
	plant  func(w *World)
	caught string
}{
	{"tombstones are forgotten", func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) { p.Tombstones = nil })
	}, "within one second"},

	{"leaving is taken back", func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) {
			p.Members = slices.Clone(p.Members)
			for i, m := range p.Members {
				if m.Status == member.Leaving {
					p.Members[i].Status = member.Up
				}
			}
		})
	}, "within one second"},

	{"nobody counts versions", func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) {
			p.Version = slices.Clone(p.Version)
			for i := range p.Version {
				p.Version[i].N = 1
			}
		})
	}, "same vector clock"},

	{"everybody has seen everything", func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) {
			p.Seen = slices.Clone(p.Seen)
			for i := range p.Members {
				p.Seen[i/8] |= 1 << (i % 8)
			}
		})
	}, "has seen a version with"},

	{"two strategies", func(w *World) {
		w.Downing = func(place int) sbr.Settings {
			if place%2 == 0 {
				return sbr.Settings{Strategy: sbr.KeepOldest{}}
			}
			return sbr.Settings{Strategy: sbr.KeepMajority{}}
		}
	}, "which has taken over from it"},

	{"nobody waits until it is stable", func(w *World) {
		w.Downing = settings(sbr.Settings{StableAfter: -1})
	}, "which has taken over from it"},

	{"states get lost after the storm", func(w *World) {
		w.Tamper = func(_, _ member.ID, m gossip.Message) gossip.Message {
			if _, ok := m.(gossip.GossipEnvelope); ok && w.Stats().Virtual > time.Minute {
				return nil
			}
			return m
		}
	}, "after 2m0s"},
}

func TestMutantsAreCaught(t *testing.T) {
	codec, err := CBOR()
	if err != nil {
		t.Fatal(err)
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			for _, seed := range Seeds(1000) {
				report := play(newWorld(seed, codec), func(w *World) { mutant.plant(w); rage(w) })
				if report == "" {
					continue
				}
				if first, _, _ := strings.Cut(report, "\n"); !strings.Contains(first, mutant.caught) {
					t.Errorf("caught by another check: %s", first)
				}
				t.Logf("caught by seed %d", seed)
				return
			}
			t.Error("survived all seeds")
		})
	}
}
