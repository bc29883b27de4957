package store

import "bytes"

// A Fence is what a database keeps of a shard beside its entries. It decides what
// may be written, so that all drivers decide alike: in one transaction a driver
// locks the fence, asks it, and stores its answer.
type Fence struct {
	Epoch   Epoch    // the highest that was claimed
	Deleted Revision // of the keys that are not there
}

// Admit gives the fence as the tenure leaves it, or refuses the tenure with a
// *[StaleEpochError]. Everything that is written is admitted first.
func (f Fence) Admit(t Tenure) (Fence, error) {
	if t.Epoch.Compare(f.Epoch) < 0 {
		return f, &StaleEpochError{Shard: t.Shard, Epoch: t.Epoch, Highest: f.Epoch}
	}
	f.Epoch = t.Epoch
	return f, nil
}

// Absent is the entry of a key that is not there.
func (f Fence) Absent(key string) Entry { return Entry{Key: key, Revision: f.Deleted} }

// Put gives the entry to store in place of the one that was found, or a
// *[ConflictError]. That of a repetition is the one that was found.
func (f Fence) Put(t Tenure, found Entry, at Revision, value []byte) (Entry, error) {
	switch {
	case found.Revision == at:
		return Entry{Key: found.Key, Value: value, Revision: at + 1, Epoch: t.Epoch}, nil
	case found.Revision == at+1 && found.Epoch == t.Epoch && bytes.Equal(found.Value, value):
		return found, nil
	default:
		return Entry{}, conflict(t, found, at)
	}
}

// Delete gives the fence as it is when the entry that was found is deleted, or a
// *[ConflictError]. Nothing changes by a repetition.
//
// The revision of keys that are not there rises above that of the one deleted, so
// that a write to it which is still on its way can never come to be.
func (f Fence) Delete(t Tenure, found Entry, at Revision) (Fence, error) {
	if !found.Exists() {
		return f, nil
	}
	if found.Revision != at {
		return f, conflict(t, found, at)
	}
	f.Deleted = max(f.Deleted, at) + 1
	return f, nil
}

func conflict(t Tenure, found Entry, at Revision) error {
	return &ConflictError{Shard: t.Shard, Key: found.Key, At: at, Found: found.Revision, Exists: found.Exists()}
}
