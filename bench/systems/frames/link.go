package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// frame is one message: id 0 for a tell, the asker's otherwise. On the wire it
// is the length of what follows, the id, the body.
type frame struct {
	id   uint64
	body []byte
}

const (
	lengthBytes = 4
	idBytes     = 8
	bufferBytes = 64 << 10
	queueBytes  = 4 << 20 // send waits beyond it
)

// link writes frames in batches: what comes while a write is under way goes out
// with the next.
type link struct {
	conn net.Conn

	mu     sync.Mutex
	work   sync.Cond // the writer waits for something to write
	room   sync.Cond // senders wait for less to write
	out    []byte
	broken bool
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn}
	l.work.L, l.room.L = &l.mu, &l.mu
	go l.write()
	return l
}

func (l *link) send(id uint64, body []byte) {
	l.mu.Lock()
	for len(l.out) >= queueBytes && !l.broken {
		l.room.Wait()
	}
	first := len(l.out) == 0
	l.out = binary.BigEndian.AppendUint32(l.out, uint32(idBytes+len(body)))
	l.out = appendNumber(l.out, id)
	l.out = append(l.out, body...)
	l.mu.Unlock()
	if first {
		l.work.Signal()
	}
}

func (l *link) write() {
	var batch []byte
	for {
		l.mu.Lock()
		for len(l.out) == 0 {
			l.work.Wait()
		}
		full := len(l.out) >= queueBytes
		batch, l.out = l.out, batch[:0]
		l.mu.Unlock()
		if full {
			l.room.Broadcast()
		}
		if _, err := l.conn.Write(batch); err != nil {
			l.mu.Lock()
			l.broken = true
			l.mu.Unlock()
			l.room.Broadcast()
			l.conn.Close()
			return
		}
	}
}

// receive calls take for each frame, which owns its memory, until the connection
// ends.
func (l *link) receive(take func(frame)) error {
	in := bufio.NewReaderSize(l.conn, bufferBytes)
	var head [lengthBytes + idBytes]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		f := frame{id: number(head[lengthBytes:])}
		f.body = make([]byte, binary.BigEndian.Uint32(head[:])-idBytes)
		if _, err := io.ReadFull(in, f.body); err != nil {
			return err
		}
		take(f)
	}
}

func appendNumber(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }
func number(b []byte) uint64                   { return binary.BigEndian.Uint64(b) }
