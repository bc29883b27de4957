package sim

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// state changes the gossip state in a message that carries one.
func state(change func(from member.ID, p *gossip.Packed)) func(from, to member.ID, m gossip.Message) gossip.Message {
	return func(from, _ member.ID, m gossip.Message) gossip.Message {
		switch m := m.(type) {
		case gossip.GossipEnvelope:
			change(from, &m.Gossip)
			return m
		case gossip.Welcome:
			change(from, &m.Gossip)
			return m
		}
		return m
	}
}

// mutants are clusters with a planted fault, each of which a check must notice.
var mutants = map[string]func(w *World){
	"tombstones are forgotten": func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) { p.Tombstones = nil })
	},
	"leaving is taken back": func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) {
			p.Members = append([]gossip.PackedMember(nil), p.Members...)
			for i, m := range p.Members {
				if m.Status == member.Leaving {
					p.Members[i].Status = member.Up
				}
			}
		})
	},
	"everybody has seen everything": func(w *World) {
		w.Tamper = state(func(_ member.ID, p *gossip.Packed) {
			p.Seen = append([]byte(nil), p.Seen...)
			for i := range p.Members {
				p.Seen[i/8] |= 1 << (i % 8)
			}
		})
	},
	"the sides use different strategies": func(w *World) {
		w.Downing = func(place int) sbr.Settings {
			if place%2 == 0 {
				return sbr.Settings{Strategy: sbr.KeepOldest{}}
			}
			return sbr.Settings{Strategy: sbr.KeepMajority{}}
		}
	},
	"nobody waits until it is stable": func(w *World) {
		w.Downing = settings(sbr.Settings{StableAfter: -1})
	},
	"old news is never corrected": func(w *World) {
		w.Tamper = func(_, _ member.ID, m gossip.Message) gossip.Message {
			if _, ok := m.(gossip.GossipEnvelope); ok && w.Stats().Virtual > 2*time.Minute {
				return nil
			}
			return m
		}
	},
	"heartbeats stay unanswered": func(w *World) {
		w.Tamper = func(from, _ member.ID, m gossip.Message) gossip.Message {
			if _, ok := m.(gossip.HeartbeatRsp); ok && from.Host == "n001" {
				return nil
			}
			return m
		}
	},
}

func TestMutantsAreCaught(t *testing.T) {
	codec, err := CBOR()
	if err != nil {
		t.Fatal(err)
	}
	for name, plant := range mutants {
		t.Run(name, func(t *testing.T) {
			for _, seed := range Seeds(300) {
				w := newWorld(seed, codec)
				if report := play(w, func(w *World) { plant(w); storm(w) }); report != "" {
					t.Logf("caught by seed %d", seed)
					return
				}
			}
			t.Error("survived 300 seeds")
		})
	}
}
