package transport

import (
	"net"
	"testing"
	"time"
)

func TestLobbyMakesRoomForNewcomers(t *testing.T) {
	var l lobby
	now := time.Unix(0, 0)
	conns := make([]net.Conn, lobbySize+2)
	for i := range conns {
		conns[i] = &memConn{}
	}
	for i := range lobbySize {
		if instead, ok := l.enter(conns[i], now); instead != nil || !ok {
			t.Fatalf("guest %d of %d: instead of %v, %v, want it let in", i, lobbySize, instead, ok)
		}
	}
	if _, ok := l.enter(conns[lobbySize], now.Add(fairTime-1)); ok {
		t.Error("a full lobby, before the first had its fair time: let in")
	}
	if instead, ok := l.enter(conns[lobbySize], now.Add(fairTime)); instead != conns[0] || !ok {
		t.Errorf("a full lobby, after it: instead of %v, %v, want the first to go", instead, ok)
	}
	if l.leave(conns[0]) || !l.leave(conns[5]) || l.leave(conns[5]) {
		t.Error("leave: want true for who is in, once, and not for who had to go")
	}
	if instead, ok := l.enter(conns[lobbySize+1], now); instead != nil || !ok {
		t.Errorf("after one has left: instead of %v, %v, want room", instead, ok)
	}
}
