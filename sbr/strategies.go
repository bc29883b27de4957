package sbr

import "time"

// KeepMajority keeps the larger side; of two equal ones the one with the lowest address.
type KeepMajority struct{ Role string }

// StaticQuorum keeps the side with at least Size members.
type StaticQuorum struct {
	Role string
	Size int
}

// KeepOldest keeps the side of the oldest member.
type KeepOldest struct {
	Role        string
	DownIfAlone bool
}

// DownAll downs everybody.
type DownAll struct{}

// LeaseMajority lets a lease decide.
type LeaseMajority struct {
	Role         string
	AcquireDelay time.Duration
}

type (
	sides   struct{}
	verdict struct{}
)

func (KeepMajority) Name() string  { return "keep-majority" }
func (StaticQuorum) Name() string  { return "static-quorum" }
func (KeepOldest) Name() string    { return "keep-oldest" }
func (DownAll) Name() string       { return "down-all" }
func (LeaseMajority) Name() string { return "lease-majority" }

func (KeepMajority) choose(*sides) verdict  { return verdict{} }
func (StaticQuorum) choose(*sides) verdict  { return verdict{} }
func (KeepOldest) choose(*sides) verdict    { return verdict{} }
func (DownAll) choose(*sides) verdict       { return verdict{} }
func (LeaseMajority) choose(*sides) verdict { return verdict{} }
