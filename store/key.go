package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxTTL is the longest time for which a lease or a row may be asked.
const MaxTTL = 30 * 24 * time.Hour

// How long names may be, in bytes. What is a key in the runner table is not
// hashed, and the shorter.
const (
	maxName = 64 << 10
	maxKey  = 512
)

// maxTerm is the highest term that may be asked for: far from where the integers of
// SQL end, since there must always be a higher one.
const maxTerm = math.MaxInt64 / 2

// Key is the name under which a database stores what is called name, of less
// than or exactly limit bytes: short names as they are, others cut and followed
// by a hash of the whole, so that different names have different keys. The
// limit must be at least 65. A name of valid UTF-8 gives a key of valid UTF-8.
func Key(name string, limit int) string {
	if len(name) < limit { // so that a key of exactly limit bytes is always one with a hash
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := "~" + hex.EncodeToString(sum[:])
	end := limit - len(hash)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + strings.Repeat("~", limit-len(hash)-end) + hash
}

// CheckLease tells what is wrong with the arguments of a method of [Leases]:
// nil, or an [ErrBadArgument]. Drivers call it, so that all refuse the same.
func CheckLease(name, owner string, ttl time.Duration) error {
	return errors.Join(checkName("lease", name, maxName), checkName("owner", owner, maxName), checkTTL(ttl))
}

// CheckFounding is to [Founding] what [CheckLease] is to [Leases].
func CheckFounding(cluster, proposal string, ttl time.Duration) error {
	return errors.Join(checkName("cluster", cluster, maxKey), checkName("proposal", proposal, maxKey), checkTTL(ttl))
}

// CheckRunner is to [Runners] what [CheckLease] is to [Leases].
func CheckRunner(r Runner, ttl time.Duration) error {
	return errors.Join(
		checkName("cluster", r.Cluster, maxKey),
		checkName("cluster id", r.ClusterID, maxKey),
		checkName("address", r.Address, maxKey),
		checkTTL(ttl),
	)
}

// CheckClaim is to [State] what [CheckLease] is to [Leases].
func CheckClaim(t Tenure) error {
	return errors.Join(checkShard(t.Shard), checkEpoch(t.Epoch))
}

// CheckWrite is to [State.Put], and without a value to [State.Delete], what
// [CheckLease] is to [Leases].
func CheckWrite(t Tenure, key string, value []byte) error {
	err := errors.Join(CheckClaim(t), checkName("key", key, MaxKey))
	if len(value) > MaxValue {
		err = errors.Join(err, fmt.Errorf("%w: the value of %.40q has %d bytes, at most %d are allowed", ErrBadArgument, key, len(value), MaxValue))
	}
	return err
}

// CheckRead is to [State.Get] what [CheckLease] is to [Leases].
func CheckRead(s Shard, key string) error {
	return errors.Join(checkShard(s), checkName("key", key, MaxKey))
}

// CheckList is to [State.List] what [CheckLease] is to [Leases].
func CheckList(s Shard, after string, limit int) error {
	err := checkShard(s)
	if after != "" {
		err = errors.Join(err, checkName("key", after, MaxKey))
	}
	if limit < 1 || limit > MaxPage {
		err = errors.Join(err, fmt.Errorf("%w: a page of %d entries: choose from 1 to %d", ErrBadArgument, limit, MaxPage))
	}
	return err
}

// CheckRing is to [Locks.Table] what [CheckLease] is to [Leases].
func CheckRing(r Ring) error {
	return errors.Join(checkName("cluster", r.Cluster, maxKey), checkName("type", r.Type, maxKey))
}

// CheckSeat is to [Locks.Sit] and [Locks.Keep] what [CheckLease] is to [Leases].
func CheckSeat(r Ring, s Seat, ttl time.Duration) error {
	err := errors.Join(CheckRise(r, s.Runner), checkTTL(ttl))
	if len(s.Note) > MaxNote {
		err = errors.Join(err, fmt.Errorf("%w: the note of %.40q has %d bytes, at most %d are allowed", ErrBadArgument, s.Runner, len(s.Note), MaxNote))
	}
	return err
}

// CheckRise is to [Locks.Rise] what [CheckLease] is to [Leases].
func CheckRise(r Ring, runner string) error {
	return errors.Join(CheckRing(r), checkName("runner", runner, maxKey))
}

// CheckTake is to [Locks.Take] what [CheckLease] is to [Leases].
func CheckTake(r Ring, runner string, shards []string) error {
	return errors.Join(CheckRise(r, runner), checkLocks(len(shards), slices.Values(shards)))
}

// CheckGive is to [Locks.Give] what [CheckLease] is to [Leases].
func CheckGive(r Ring, runner string, locks []Lock) error {
	return errors.Join(CheckRise(r, runner), checkLocks(len(locks), func(yield func(string) bool) {
		for _, l := range locks {
			if !yield(l.Shard) {
				return
			}
		}
	}))
}

// CheckTerm is to [Locks.RaiseTerm] what [CheckLease] is to [Leases].
func CheckTerm(r Ring, atLeast uint64) error {
	err := CheckRing(r)
	if atLeast > maxTerm {
		err = errors.Join(err, fmt.Errorf("%w: a term of at least %d: it must be below 2^62", ErrBadArgument, atLeast))
	}
	return err
}

// checkLocks refuses too many, and the first name that no shard can have.
func checkLocks(n int, shards iter.Seq[string]) error {
	if n > MaxLocks {
		return fmt.Errorf("%w: %d shards in one call, at most %d are allowed", ErrBadArgument, n, MaxLocks)
	}
	for id := range shards {
		if err := checkName("shard", id, maxKey); err != nil {
			return err
		}
	}
	return nil
}

// checkShard tells what is wrong with a shard's name.
func checkShard(s Shard) error {
	return errors.Join(
		checkName("cluster", s.Cluster, maxKey),
		checkName("type", s.Type, maxKey),
		checkName("shard", s.ID, maxKey),
	)
}

// checkEpoch refuses none at all, and what leaves no room to count on.
func checkEpoch(e Epoch) error {
	if e == (Epoch{}) || e.Term > maxTerm || e.N > math.MaxInt64 {
		return fmt.Errorf("%w: epoch %v: an owner's is above 0.0, its term below 2^62 and its count below 2^63", ErrBadArgument, e)
	}
	return nil
}

// checkName refuses what some database could not store, or would confuse.
func checkName(what, name string, limit int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the %s is empty", ErrBadArgument, what)
	case len(name) > limit:
		return fmt.Errorf("%w: the %s has %d bytes, at most %d are allowed: %.40q…", ErrBadArgument, what, len(name), limit, name)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("%w: the %s is not UTF-8 without zero bytes: %.40q", ErrBadArgument, what, name)
	default:
		return nil
	}
}

func checkTTL(ttl time.Duration) error {
	if ttl < time.Millisecond || ttl > MaxTTL {
		return fmt.Errorf("%w: a time to live of %v: choose one from 1ms to %v", ErrBadArgument, ttl, MaxTTL)
	}
	return nil
}
