package troupe

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/store"
)

const (
	// enrolledFor is how long a node's row in the runner table outlives the node.
	// So long a cluster that crashed as a whole cannot be founded anew.
	enrolledFor = 12 * time.Second
	// enrolAgain is how often a row is refreshed.
	enrolAgain = enrolledFor / 4
	// vacantFor is how long nobody may be in the runner table before a cluster is
	// founded: after an outage of the store all rows have run out, and members
	// need a moment to be back.
	vacantFor = 2 * enrolAgain
)

// An enrolment is a node's part in the store's runner table: the members are in
// it, so that newcomers find them, and who finds nobody in it for long enough may
// found the cluster, one at a time. It belongs to the node's seeker.
type enrolment struct {
	n     *Node
	store store.Store

	row        store.Runner
	own        member.ClusterID // that this node proposes
	generation store.Generation // zero: not in the table
	enrolled   time.Time        // when the last answer to that was asked for
	vacant     time.Time        // since when nobody was in it, who could have been; zero: somebody is, or that is not known
	looked     time.Time        // for members that are missing
}

func newEnrolment(n *Node) *enrolment {
	own := newClusterID()
	return &enrolment{
		n: n, store: n.cfg.Store, own: own,
		row: store.Runner{Cluster: n.cfg.Name, ClusterID: own.String(), Address: n.id.Address.String(), Incarnation: n.id.UID},
	}
}

func newClusterID() member.ClusterID {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails, by its documentation
	return member.ClusterID(binary.BigEndian.Uint64(b[:]) | 1)
}

// attend does what is due, and gives the pause until it is again. At the node's
// end, unless that is a crash, it frees its place.
func (e *enrolment) attend(ctx context.Context) time.Duration {
	v := e.n.View()
	_, joined := v.SelfMember()
	var err error
	pause := enrolAgain
	if joined {
		err = e.stay(ctx, v.Cluster)
	} else {
		pause, err = seekEvery, e.enter(ctx)
	}
	if err == nil || ctx.Err() != nil {
		e.n.seeker.storeTrouble.Store(nil)
		return pause
	}
	e.complain(err)
	return seekEvery
}

// trouble is that the store does not do what the membership wants of it.
type trouble struct {
	since time.Time
	text  string // the last error
}

// complain keeps the store's last error for who asks, and logs each new one.
func (e *enrolment) complain(err error) {
	now := trouble{time.Now(), err.Error()}
	before := e.n.seeker.storeTrouble.Load()
	if before != nil {
		now.since = before.since
	}
	if before == nil || before.text != now.text {
		e.n.log.Warn("the store does not serve the membership", slog.Any("error", err))
	}
	e.n.seeker.storeTrouble.Store(&now)
}

// waits tells what somebody has to do about the store.
func (t *trouble) waits() []Wait {
	if t == nil {
		return nil
	}
	return []Wait{{
		What: member.WaitStore, Since: t.since,
		Why: "the store does not serve the membership: " + t.text,
		Act: "see that the database runs, can be reached from here and takes writes: until then nodes that are members stay it, and nobody founds a cluster",
	}}
}

// enter looks for members to join, or founds the cluster.
func (e *enrolment) enter(ctx context.Context) error {
	rows, err := e.find(ctx)
	if err == nil && rows == 0 {
		err = e.tryWriting(ctx)
	}
	switch now := time.Now(); {
	case err != nil || rows > 0:
		e.vacant = time.Time{}
	case e.vacant.IsZero():
		e.vacant = now
	case now.Sub(e.vacant) >= vacantFor:
		return e.found(ctx)
	}
	return err
}

// tryWriting takes a lease and gives it back. A store that answers and takes
// nothing, for want of room or of a primary, is away for the members too: it says
// nothing about them that their rows have run out.
func (e *enrolment) tryWriting(ctx context.Context) error {
	try, cancel := context.WithTimeout(ctx, seekWithin)
	defer cancel()
	name, owner := "troupe.founding/"+e.row.Cluster, e.n.id.String()
	got, err := e.store.Acquire(try, name, owner, enrolAgain)
	if errors.Is(err, store.ErrHeld) {
		return nil // so somebody else could write just now
	}
	if err != nil {
		return err
	}
	return e.store.Release(try, name, owner, got.Token)
}

// find tells the membership who is in the table. Members that say they are of
// another cluster than the table says are not joined.
func (e *enrolment) find(ctx context.Context) (rows int, err error) {
	in := gossip.JoinContacts{Contacts: e.n.listed(ctx)}
	try, cancel := context.WithTimeout(ctx, seekWithin)
	defer cancel()
	live, err := e.store.Live(try, e.row.Cluster)
	for _, r := range live {
		a, bad := member.ParseAddress(r.Address)
		id, badID := member.ParseClusterID(r.ClusterID)
		if err = errors.Join(err, bad, badID); bad == nil && badID == nil {
			in.Contacts, in.ID = append(in.Contacts, a), id
		}
	}
	_ = e.n.tell(ctx, in) // fails only at the end
	return len(live), err
}

// found asks the store to let this node found the cluster. Its row is there
// before the cluster is, so that no other node can be told the same.
func (e *enrolment) found(ctx context.Context) error {
	sent := time.Now()
	switch err := e.propose(ctx); {
	case errors.Is(err, store.ErrOtherCluster):
		return nil // somebody else founds, and will be in the table soon
	case err != nil:
		return err
	}
	e.generation = 0 // a row of an earlier attempt may be gone
	if err := e.enrol(ctx); err != nil {
		return err
	}
	if took := time.Since(sent); took > enrolledFor/2 {
		return fmt.Errorf("it took %v to let this node found the cluster, which may be too late: it asks again", took)
	}
	return e.n.tell(ctx, gossip.Found{ID: e.own})
}

// stay keeps a member in the table. One that the table does not know any more has
// no right to what the others take for theirs, and ends. But if its row had run
// out, for want of a store that answers, that only means that somebody has tidied
// up; and a cluster that was there before it had a store becomes known to it now.
func (e *enrolment) stay(ctx context.Context, id member.ClusterID) error {
	if own := id.String(); own != e.row.ClusterID {
		e.row.ClusterID, e.generation = own, 0
	}
	err := e.enrol(ctx)
	switch ranOut := time.Since(e.enrolled) > enrolledFor; {
	case errors.Is(err, store.ErrRunnerGone) && ranOut:
		e.generation = 0
		err = e.enrol(ctx)
	case errors.Is(err, store.ErrOtherCluster) && e.enrolled.IsZero():
		if err = e.propose(ctx); err == nil {
			err = e.enrol(ctx)
		}
	}
	if errors.Is(err, store.ErrRunnerGone) || errors.Is(err, store.ErrOtherCluster) {
		return e.n.tell(ctx, gossip.Void{Text: fmt.Sprintf("the store says that this node of cluster %v is no member any more: %v", id, err)})
	}
	if err == nil && time.Since(e.looked) >= seekAgain {
		e.looked = time.Now()
		_, err = e.find(ctx)
	}
	return err
}

// propose asks the store to take the row's id for the cluster's; it is an
// ErrOtherCluster when there is another.
func (e *enrolment) propose(ctx context.Context) error {
	try, cancel := context.WithTimeout(ctx, seekWithin)
	defer cancel()
	id, err := e.store.Found(try, e.row.Cluster, e.row.ClusterID, enrolledFor)
	if err == nil && id != e.row.ClusterID {
		err = fmt.Errorf("%w: it is %s", store.ErrOtherCluster, id)
	}
	return err
}

// enrol enters this node in the table, or makes its row last longer.
func (e *enrolment) enrol(ctx context.Context) (err error) {
	sent := time.Now()
	try, cancel := context.WithTimeout(ctx, seekWithin)
	defer cancel()
	if e.generation != 0 {
		err = e.store.Refresh(try, e.row, e.generation, enrolledFor)
	} else {
		e.generation, err = e.store.Register(try, e.row, enrolledFor)
	}
	if err == nil {
		e.enrolled = sent
	}
	return err
}

// leave takes this node out of the table.
func (e *enrolment) leave(ctx context.Context) error {
	if e.generation == 0 {
		return nil
	}
	return e.store.Remove(ctx, e.row, e.generation)
}
