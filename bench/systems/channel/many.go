package main

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

// crowd is a registry of named actors, each a goroutine.
type crowd map[string]chan<- add

// add an actor that counts in sum and calls handled after each message.
func (c crowd) add(sum *int64, handled func()) chan<- add {
	in := make(chan add, 1)
	c[strconv.Itoa(len(c))] = in
	go func() {
		for m := range in {
			*sum += m.n
			handled()
		}
	}()
	return in
}

// fill makes n actors, sends each one message and waits until all have it.
func (c crowd) fill(n int, sums []int64) {
	var handled atomic.Int64
	done := make(chan struct{})
	for i := range n {
		c.add(&sums[i], func() {
			if handled.Add(1) == int64(n) {
				close(done)
			}
		}) <- add{1}
	}
	<-done
}

func spawn(r *driver.Run) error {
	c, sums := crowd{}, make([]int64, r.N)
	return r.MeasureCold(func(n int) error {
		c.fill(n, sums)
		return nil
	})
}

var kept crowd // until the process ends

func idle(r *driver.Run) error {
	kept = crowd{}
	sums := make([]int64, r.N)
	clear(sums) // resident before
	return r.Resident(func(n int) error {
		kept.fill(n, sums)
		return nil
	})
}

// node of the tree: a leaf says its number, others the sum of their children.
func node(parent chan<- int64, number, size int64) {
	if size == 1 {
		parent <- number
		return
	}
	sums := make(chan int64, work.Branch)
	part := size / work.Branch
	for i := range int64(work.Branch) {
		go node(sums, number+i*part, part)
	}
	sum := int64(0)
	for range work.Branch {
		sum += <-sums
	}
	parent <- sum
}

func skynet(r *driver.Run) error {
	result := make(chan int64)
	return r.MeasureCold(func(n int) error {
		go node(result, 0, int64(n))
		if got, want := <-result, int64(n)*int64(n-1)/2; got != want {
			return fmt.Errorf("the sum is %d, not %d", got, want)
		}
		return nil
	})
}
