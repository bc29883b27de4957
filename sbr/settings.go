package sbr

import "time"

// Settings of a [Resolver]; zero fields have the defaults told beside them.
// They must be the same on all nodes of a cluster.
type Settings struct {
	// Strategy decides. Default KeepMajority{}.
	Strategy Strategy
	// StableAfter is how long nothing may have changed before a decision: long
	// enough for an observation to reach everybody on a side, short enough for
	// the other side to have stopped before its work is done again here. Zero
	// follows the size of the cluster, see [StableAfter]; negative decides at
	// once.
	StableAfter time.Duration
	// DownAllWhenUnstable is how much longer than StableAfter reachability may
	// keep changing before everybody is downed: the sides of a network that
	// flaps never agree. Zero is 3/4 of StableAfter, at least 4 s; negative
	// never does it.
	DownAllWhenUnstable time.Duration
}

// StableAfter gives the time that suits a cluster of so many members: 7 s up to
// 5, 10 s up to 10, 13 s up to 20, 17 s up to 50, 20 s up to 100, and 30 s
// beyond.
func StableAfter(members int) time.Duration {
	switch {
	case members <= 5:
		return 7 * time.Second
	case members <= 10:
		return 10 * time.Second
	case members <= 20:
		return 13 * time.Second
	case members <= 50:
		return 17 * time.Second
	case members <= 100:
		return 20 * time.Second
	default:
		return 30 * time.Second
	}
}

func (s Settings) withDefaults() Settings {
	if s.Strategy == nil {
		s.Strategy = KeepMajority{}
	}
	return s
}

func (s Settings) stableAfter(members int) time.Duration {
	if s.StableAfter == 0 {
		return StableAfter(members)
	}
	return max(0, s.StableAfter)
}

// unstableAfter is how long reachability may keep changing; ok is false when
// that is for ever.
func (s Settings) unstableAfter(members int) (limit time.Duration, ok bool) {
	stable := s.stableAfter(members)
	if s.DownAllWhenUnstable == 0 {
		return stable + max(4*time.Second, stable*3/4), true
	}
	return stable + s.DownAllWhenUnstable, s.DownAllWhenUnstable > 0
}
