package actor_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// receipts notes which messages are handled, in order.
type receipts struct{ handled []int }

type receiptOf struct {
	all *receipts
	n   int
}

func (r receiptOf) Handled() { r.all.handled = append(r.all.handled, r.n) }

// A message is handled when its behavior has returned, whatever with; a stashed one when it was unstashed and
// handled; and what an ending actor hands to its owner is not, but comes with its receipt.
func TestReceipts(t *testing.T) {
	in := func(c ctx) int {
		r, ok := actor.Current(c).(*actor.Cell[any]).Receipt().(receiptOf)
		if !ok {
			return -1
		}
		return r.n
	}
	for _, tt := range []struct {
		name    string
		start   func(*testing.T) start
		told    int
		handled []int
		left    []int
	}{
		{"all are handled", func(t *testing.T) start {
			return func(ctx) (behavior, error) {
				return func(c ctx, m any) error {
					if got := in(c); got != m {
						t.Errorf("the receipt of %v is %d's", m, got)
					}
					return nil
				}, nil
			}
		}, 3, []int{0, 1, 2}, nil},
		{"one that is not understood", func(*testing.T) start {
			return func(ctx) (behavior, error) {
				return func(ctx, any) error { return actor.ErrUnhandled }, nil
			}
		}, 2, []int{0, 1}, nil},
		{"one that fails, and the rest", func(*testing.T) start {
			return func(ctx) (behavior, error) {
				return func(_ ctx, m any) error {
					if m == 1 {
						return errors.New("told to")
					}
					return nil
				}, nil
			}
		}, 4, []int{0, 1}, []int{2, 3}},
		{"a panic", func(*testing.T) start {
			return func(ctx) (behavior, error) {
				return func(ctx, any) error { panic("told to") }, nil
			}
		}, 2, []int{0}, []int{1}},
		{"the stashed one comes later", func(t *testing.T) start {
			return func(ctx) (behavior, error) {
				stashed := false
				return func(c ctx, m any) error {
					switch {
					case m == 0 && !stashed:
						stashed = true
						err := c.Stash()
						if got := in(c); got != 0 {
							t.Errorf("the receipt of the stashed 0 is %d's", got)
						}
						return err
					case m == 2:
						c.Unstash()
					}
					return nil
				}, nil
			}
		}, 4, []int{1, 2, 0, 3}, nil},
		{"the stash is left", func(*testing.T) start {
			return func(ctx) (behavior, error) {
				return func(c ctx, m any) error {
					if m == 2 {
						c.Stop()
						return nil
					}
					return c.Stash()
				}, nil
			}
		}, 4, []int{2}, []int{0, 1, 3}},
		{"a loop", func(*testing.T) start {
			return actor.Loop(func(in *actor.Inbox[any]) error {
				for {
					if m, err := in.Next(in); err != nil || m == 1 {
						return nil
					}
				}
			})
		}, 3, []int{0, 1}, []int{2}},
		{"a loop that fails", func(*testing.T) start {
			return actor.Loop(func(in *actor.Inbox[any]) error {
				_, _ = in.Next(in)
				return errors.New("told to")
			})
		}, 2, []int{0}, []int{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sys := actortest.NewSystem(t, actor.Config{})
				ends := make(chan []actor.Leftover[any], 1)
				gate := make(chan struct{})
				begin := tt.start(t)
				cell, err := actor.NewCell(sys, actor.CellConfig[any]{
					Name: "it", Ended: func(left []actor.Leftover[any], _ actor.StopReason, _ error) { ends <- left },
					Start: func(c ctx) (behavior, error) { <-gate; return begin(c) },
				})
				if err != nil {
					t.Fatal(err)
				}
				all := new(receipts)
				for n := range tt.told {
					if err := cell.DeliverWith(n, receiptOf{all, n}); err != nil {
						t.Fatal(err)
					}
				}
				close(gate)
				synctest.Wait()
				cell.Stop()
				var left []int
				for _, l := range <-ends {
					if l.Message != l.Receipt.(receiptOf).n {
						t.Errorf("%v is left with the receipt of %v", l.Message, l.Receipt)
					}
					left = append(left, l.Message.(int))
				}
				if !slices.Equal(all.handled, tt.handled) || !slices.Equal(left, tt.left) {
					t.Errorf("handled %v, left %v; want %v, %v", all.handled, left, tt.handled, tt.left)
				}
			})
		})
	}
}
