// Frames is a floor: what plain Go needs for the same work between two
// processes, with length-prefixed frames over loopback TCP that are written in
// batches.
package main

import (
	"fmt"
	"net"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

func main() {
	driver.Main(driver.System{
		Works: map[string]driver.Func{
			"remote-tell-1-1":  func(r *driver.Run) error { return tell(r, 1) },
			"remote-tell-64-1": func(r *driver.Run) error { return tell(r, work.Askers) },
			"remote-ask-1":     func(r *driver.Run) error { return ask(r, 1) },
			"remote-ask-64":    func(r *driver.Run) error { return ask(r, work.Askers) },
		},
		Peers: map[string]func([]string) (string, error){"counter": serve},
	})
}

// serve runs the actor for one connection.
func serve([]string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		link := newLink(conn)
		mailbox := make(chan frame, work.Mailbox)
		go counter(mailbox, link)
		_ = link.receive(func(f frame) { mailbox <- f })
	}()
	return l.Addr().String(), nil
}

// counter is the actor: a frame with an id is a request.
func counter(in <-chan frame, back *link) {
	sum := uint64(0)
	var answer [idBytes]byte
	for f := range in {
		if len(f.body) == work.Body {
			sum++
		}
		if f.id != 0 {
			back.send(f.id, appendNumber(answer[:0], sum))
		}
	}
}

// client is the asking side. Askers have an id each, from 1.
type client struct {
	*link
	answers []chan uint64
}

func connect(r *driver.Run, askers int) (*client, error) {
	p, err := r.Peer("counter")
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", p.Address)
	if err != nil {
		return nil, err
	}
	c := &client{link: newLink(conn), answers: make([]chan uint64, askers+1)}
	for i := range c.answers {
		c.answers[i] = make(chan uint64, 1)
	}
	go func() {
		defer func() {
			for _, a := range c.answers { // the askers see that no more will come
				close(a)
			}
		}()
		_ = c.receive(func(f frame) { c.answers[f.id] <- number(f.body) })
	}()
	return c, nil
}

func (c *client) ask(id uint64, body []byte) (uint64, error) {
	c.send(id, body)
	n, ok := <-c.answers[id]
	if !ok {
		return 0, fmt.Errorf("ask %d: the connection has ended", id)
	}
	return n, nil
}

func tell(r *driver.Run, senders int) error {
	c, err := connect(r, 1)
	if err != nil {
		return err
	}
	body := make([]byte, work.Body)
	send := func() error {
		c.send(0, body)
		return nil
	}
	return r.Send(senders, send, func() (int, error) {
		n, err := c.ask(1, nil)
		return int(n), err
	})
}

func ask(r *driver.Run, askers int) error {
	c, err := connect(r, askers)
	if err != nil {
		return err
	}
	body := make([]byte, work.Body)
	return r.AskTimed(askers, func(asker, _ int) error {
		_, err := c.ask(uint64(asker+1), body)
		return err
	})
}
