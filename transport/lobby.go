package transport

import (
	"net"
	"slices"
	"time"
)

const (
	lobbySize = 256                    // handshakes that are answered at the same time
	fairTime  = 250 * time.Millisecond // that each gets, however many wait
)

// A lobby holds the connections whose handshake is being answered, the oldest
// first, so that strangers who connect and then say little cost a bounded amount
// and keep nobody out: in a full lobby one that had its fair time makes room for a
// newcomer. The zero value is empty.
type lobby struct{ guests []guest }

type guest struct {
	conn  net.Conn
	since time.Time
}

// enter lets a connection in, in the place of another if that is not nil; not
// ok means that there is no room.
func (l *lobby) enter(conn net.Conn, now time.Time) (instead net.Conn, ok bool) {
	if len(l.guests) == lobbySize {
		if now.Sub(l.guests[0].since) < fairTime {
			return nil, false
		}
		instead = l.guests[0].conn
		l.guests = slices.Delete(l.guests, 0, 1)
	}
	l.guests = append(l.guests, guest{conn, now})
	return instead, true
}

// leave forgets a connection; false if it had to make room.
func (l *lobby) leave(conn net.Conn) bool {
	i := slices.IndexFunc(l.guests, func(g guest) bool { return g.conn == conn })
	if i < 0 {
		return false
	}
	l.guests = slices.Delete(l.guests, i, i+1)
	return true
}
