package transport

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Two thousand strangers say one byte every 100 ms, or nothing: more than may
// shake hands at a time. A node that comes later is let in all the same.
func TestSlowStrangersKeepNobodyOut(t *testing.T) {
	for name, secure := range map[string]func(*Config){
		"plain":  func(*Config) {},
		"secret": func(c *Config) { c.Insecure, c.Secret = false, testSecret },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := NewMemory()
				var got tape
				log := new(lines)
				b := node(t, memory, 2, &got, secure, func(c *Config) { c.Log = log.logger() })
				before := heap()
				const strangers = 2000
				for i := range strangers {
					go drip(t, memory, b.Self().Address, i%2 == 0)
				}
				time.Sleep(fairTime / 2)
				if grown := int64(heap()) - int64(before); grown > 64<<20 {
					t.Errorf("heap grew by %d bytes", grown)
				}
				a := node(t, memory, 1, &tape{}, secure)
				sendNumber(t, a, b.Self(), 0)
				time.Sleep(time.Second)
				wantNumbers(t, &got, 0, 1)
				time.Sleep(5 * time.Second)
				r := b.Stats().Refused
				if r["slow"] == 0 || r["slow"]+r["busy"]+r["malformed"]+r["tls"] != strangers+a.Stats().DialErrors {
					t.Errorf("refused %v, want %d in all, some of them slow", r, strangers)
				}
				log.want(t, "reason=slow", 1)
				log.want(t, "reason=busy", 1)
				sendNumber(t, a, b.Self(), 1)
				synctest.Wait()
				wantNumbers(t, &got, 0, 2)
			})
		})
	}
}

// drip begins something that could become a hello or TLS's, and goes on slowly
// or not at all, until the other side hangs up.
func drip(t *testing.T, memory *Memory, to member.Address, goOn bool) {
	conn, err := memory.connect(t.Context(), nodeID("10.9.9.9", 9, 0).Address, to)
	if err != nil {
		t.Error(err)
		return
	}
	defer hangUp(conn)
	begin := []byte(helloMagic + "\x01\x01\x01\x00")
	if goOn {
		go func() {
			for i := range begin {
				_, _ = conn.Write(begin[i : i+1])
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// rawListener accepts without being a node.
func rawListener(t *testing.T, memory *Memory, at member.Address, serve func(net.Conn)) {
	t.Helper()
	l, err := memory.bind(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go serve(conn)
		}
	}()
}

// One peer accepts and never reads, one answers a byte a second, one stops
// reading frames, one was cut off and has rebooted. What goes to others takes no
// time, and what waits for these four is bounded.
func TestBadPeersHarmNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		var got tape
		small := func(c *Config) { c.MaxFrame, c.Queue = minFrame, 4*minFrame }
		a := node(t, memory, 1, &tape{}, small)
		good := node(t, memory, 2, &got)
		deaf, slow := nodeID("10.0.0.3", 2552, 3), nodeID("10.0.0.4", 2552, 4)
		rawListener(t, memory, deaf.Address, func(conn net.Conn) { pause(t.Context(), time.Hour); hangUp(conn) })
		rawListener(t, memory, slow.Address, func(conn net.Conn) {
			for _, b := range []byte(answerMagic + "\x01\x00") {
				_, _ = conn.Write([]byte{b})
				pause(t.Context(), time.Second)
			}
			hangUp(conn)
		})
		stuck := node(t, memory, 5, &tape{slow: time.Hour})
		cut := node(t, memory, 6, &tape{})
		sendNumber(t, a, cut.Self(), 0)
		synctest.Wait()
		memory.Cut(a.Self().Address, cut.Self().Address)

		bad := []member.ID{deaf, slow, stuck.Self(), cut.Self()}
		chunk := make([]byte, 32<<10)
		const seconds, each = 30, 100
		full := 0
		for i := range seconds * each {
			for _, peer := range bad {
				if err := a.Send(peer, User, chunk); err != nil {
					full++
				}
			}
			sendNumber(t, a, good.Self(), i)
			synctest.Wait()
			if numbers, _, _ := got.got(); len(numbers) != i+1 {
				t.Fatalf("frame %d to the good peer waits for the bad ones", i)
			}
			if i == 10*each { // reboots behind the cut, which heals
				kill(cut)
				cut = node(t, memory, 7, &tape{}, func(c *Config) { c.Listen = cut.Self().Address })
				memory.Heal(a.Self().Address, cut.Self().Address)
			}
			time.Sleep(time.Second / each)
		}
		if full == 0 {
			t.Error("no frame to a bad peer was refused, want their queues full")
		}
		for _, l := range a.Stats().Links {
			if l.Waiting > 4*minFrame {
				t.Errorf("%d bytes wait for %v, want at most Config.Queue, %d", l.Waiting, l.Peer, 4*minFrame)
			}
		}
		sendNumber(t, a, cut.Self(), 1) // the incarnation after the reboot
		synctest.Wait()
		if n := cut.Stats().User.ReceivedFrames; n != 1 {
			t.Errorf("the rebooted peer got %d frames, want the one for it", n)
		}
		kill(stuck)
		time.Sleep(time.Hour) // until its handler has returned
	})
}
