package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport/certtest"
)

// A stage has a victim, which must not suffer, and a friend whose link to it
// must not notice, over one kind of stream and with one kind of security.
type stage struct {
	t       *testing.T
	tr      Transport
	secure  func(*Config)
	victim  Endpoint
	friend  Endpoint
	got     tape
	log     lines
	dial    func() (net.Conn, error) // to the victim, as a stranger
	foreign *TLS                     // of an authority that the victim does not know
	expired certtest.Files           // of the right one
}

// onStages runs a test over memory and TCP, for each kind of security.
func onStages(t *testing.T, kinds string, test func(*stage)) {
	for _, kind := range strings.Fields(kinds) {
		for _, stream := range []string{"memory", "tcp"} {
			t.Run(stream+"/"+kind, func(t *testing.T) {
				s := newStage(t, stream, kind)
				test(s)
				s.friendIsUndisturbed()
			})
		}
	}
}

func newStage(t *testing.T, stream, kind string) *stage {
	s := &stage{t: t, secure: func(*Config) {}}
	memory := NewMemory()
	s.tr, s.dial = TCP{}, func() (net.Conn, error) { return net.Dial("tcp", s.victim.Self().Address.String()) }
	if stream == "memory" {
		s.tr = memory
		s.dial = func() (net.Conn, error) {
			return memory.connect(t.Context(), nodeID("10.9.9.9", 9, 0).Address, s.victim.Self().Address)
		}
	}
	if kind == "secret" {
		s.secure = func(c *Config) { c.Secret = testSecret }
	}
	if kind == "tls" {
		authority := certtest.NewAuthority(t)
		files := tlsOf(authority.Issue(t, "127.0.0.1"))
		s.secure = func(c *Config) { c.TLS = files }
		s.foreign = tlsOf(certtest.NewAuthority(t).Issue(t, "127.0.0.1"))
		s.expired = authority.Issue(t)
		authority.Renew(t, s.expired, time.Now().Add(-2*day), time.Now().Add(-day), "127.0.0.1")
	}
	s.victim = s.open(1, &s.got, func(c *Config) { c.Log = s.log.logger() })
	s.friend = s.open(2, &tape{})
	sendNumber(t, s.friend, s.victim.Self(), 0)
	s.until("the friend's first frame", func() bool { numbers, _, _ := s.got.got(); return len(numbers) == 1 })
	return s
}

// open opens an endpoint on the stage's kind of loopback.
func (s *stage) open(uid int64, h Handler, change ...func(*Config)) Endpoint {
	base := func(c *Config) {
		c.Listen, c.Insecure, c.MaxFrame, c.Queue = member.Address{Host: "127.0.0.1"}, false, 1<<20, 4<<20
		s.secure(c)
	}
	return node(s.t, s.tr, uid, h, append([]func(*Config){base}, change...)...)
}

// until waits for a condition, which other goroutines bring about.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		if !pause(ctx, time.Millisecond) {
			s.t.Fatalf("%s: not in good time; stats %+v", what, s.victim.Stats())
		}
	}
}

// refused waits until the victim has refused n connections for a reason, and
// checks that it told so once.
func (s *stage) refused(reason string, n uint64) {
	s.t.Helper()
	s.until("refused as "+reason, func() bool { return s.victim.Stats().Refused[reason] >= n })
	if got := s.victim.Stats().Refused[reason]; got != n {
		s.t.Errorf("refused as %s: %d, want %d", reason, got, n)
	}
	if found := s.log.having("connection refused", "reason="+reason); len(found) != 1 {
		s.t.Errorf("%d log lines, want one:\n%s", len(found), strings.Join(found, ""))
	}
}

func (s *stage) friendIsUndisturbed() {
	s.t.Helper()
	sendNumber(s.t, s.friend, s.victim.Self(), 1)
	s.until("the friend's second frame", func() bool { numbers, _, _ := s.got.got(); return len(numbers) >= 2 })
	wantNumbers(s.t, &s.got, 0, 2)
	if f := s.friend.Stats(); f.LinksUp != 1 || f.LinksDown != 0 {
		s.t.Errorf("the friend's link: up %d, down %d, want it untouched", f.LinksUp, f.LinksDown)
	}
}

// attack sends bytes as a stranger and waits until the victim has hung up.
func (s *stage) attack(data []byte) {
	s.t.Helper()
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	defer hangUp(conn)
	_, _ = conn.Write(data) // the victim may have had enough before the end
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Error("the victim has not hung up")
	}
}

func TestMEM11Garbage(t *testing.T) {
	onStages(t, "plain secret tls", func(s *stage) {
		random := rand.NewChaCha8([32]byte{})
		noise := make([]byte, 10_000)
		_, _ = random.Read(noise)
		noise[0] = 'X' // neither ours nor TLS's
		reason := "tls"
		if s.victim.Stats().Security == "plain" {
			reason = "malformed"
		}
		messages := [][]byte{
			[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
			noise,
			[]byte(helloMagic + "\x01\x01\xff\xff"),
			bytes.Repeat([]byte{0xFF}, 100),
			append([]byte{0x16, 3, 1, 0xFF, 0xFF}, noise...), // a record of TLS beyond its limit
		}
		for _, data := range messages {
			s.attack(data)
		}
		s.refused(reason, uint64(len(messages)))
	})
}

// Of a thousand strangers at once each is turned away and counted, however the
// machine schedules them.
func TestREM05ThousandAtOnce(t *testing.T) {
	onStages(t, "plain secret tls", func(s *stage) {
		before := heap()
		const n = 1000
		var attacks sync.WaitGroup
		for range n {
			attacks.Go(func() {
				conn, err := s.dial()
				if err != nil {
					s.t.Error(err)
					return
				}
				defer hangUp(conn)
				_, _ = conn.Write([]byte("\x16\x03\x01\xff\xff\xff\xff\xff\xff")) // for plain links and TLS alike
				_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				_, _ = io.Copy(io.Discard, conn)
			})
		}
		attacks.Wait()
		count := func() (all uint64) {
			r := s.victim.Stats().Refused
			return r["malformed"] + r["tls"] + r["busy"] + r["slow"]
		}
		s.until("a thousand refusals", func() bool { return count() == n })
		if grown := int64(heap()) - int64(before); grown > 64<<20 {
			s.t.Errorf("heap grew by %d bytes, want less than 64 MiB", grown)
		}
		if found := s.log.having("connection refused"); len(found) > 4 {
			s.t.Errorf("%d log lines, want one for each reason:\n%s", len(found), strings.Join(found, ""))
		}
	})
}

func TestStrangersAreRefused(t *testing.T) {
	try := func(s *stage, change func(*Config)) {
		e := s.open(3, &tape{}, change)
		if err := e.SendAddress(s.victim.Self().Address, []byte("join")); err != nil {
			s.t.Fatal(err)
		}
		s.until("an attempt", func() bool { return e.Stats().DialErrors >= 1 })
		kill(e)
	}
	once := func(c *Config) { c.MinBackoff, c.MaxBackoff = time.Hour, time.Hour }
	t.Run("cluster", func(t *testing.T) {
		onStages(t, "plain secret tls", func(s *stage) {
			try(s, func(c *Config) { once(c); c.Cluster = "y" })
			s.refused("cluster", 1)
		})
	})
	t.Run("secret", func(t *testing.T) {
		onStages(t, "secret", func(s *stage) {
			try(s, func(c *Config) { once(c); c.Secret = "what only others know" })
			s.refused("secret", 1)
		})
	})
	t.Run("no secret", func(t *testing.T) {
		onStages(t, "secret", func(s *stage) {
			try(s, func(c *Config) { once(c); c.Secret = "" })
			s.refused("tls", 1)
		})
	})
	t.Run("a secret too many", func(t *testing.T) {
		onStages(t, "tls", func(s *stage) {
			try(s, func(c *Config) { once(c); c.Secret = testSecret })
			s.refused("secret", 1)
		})
	})
	t.Run("foreign certificate", func(t *testing.T) {
		onStages(t, "tls", func(s *stage) {
			try(s, func(c *Config) { once(c); c.TLS = s.foreign }) // which does not trust the victim either
			s.refused("tls", 1)
		})
	})
}

// greetAs shakes hands with the victim as a stranger who has some certificate
// and trusts everybody would; the error is TLS's.
func (s *stage) greetAs(own certtest.Files, from member.ID) (*tls.Conn, error) {
	s.t.Helper()
	pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { hangUp(conn) })
	c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}})
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	h := hello{lowest: 1, highest: 1, cluster: "x", from: from, to: s.victim.Self(), lane: User, round: 1, maxFrame: minFrame}
	_, err = c.Write(h.encode())
	return c, err
}

func TestREM09WrongCertificates(t *testing.T) {
	stranger := nodeID("127.0.0.1", 9, 9)
	for name, tt := range map[string]struct {
		own    func(*stage) certtest.Files
		from   member.ID
		reason string
		log    []string
	}{
		"foreign": {func(s *stage) certtest.Files { return certtest.Files{Cert: s.foreign.CertFile, Key: s.foreign.KeyFile} }, stranger, "certificate", []string{"unknown authority"}},
		"expired": {func(s *stage) certtest.Files { return s.expired }, stranger, "certificate", []string{"expired"}},
		"name": {func(s *stage) certtest.Files {
			var c Config
			s.secure(&c)
			return certtest.Files{Cert: c.TLS.CertFile, Key: c.TLS.KeyFile}
		}, nodeID("10.0.0.9", 9, 9), "name", []string{"127.0.0.1", "10.0.0.9"}}, // what it offers, and whom it says it is
	} {
		t.Run(name, func(t *testing.T) {
			onStages(t, "tls", func(s *stage) {
				for range 3 {
					c, err := s.greetAs(tt.own(s), tt.from)
					if err == nil {
						_, err = io.Copy(io.Discard, c) // the answer, if it gets one, and the end
					}
					if errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error("the victim has not hung up")
					}
				}
				s.refused(tt.reason, 3)
				if found := s.log.having(append(tt.log, "reason="+tt.reason)...); len(found) != 1 {
					t.Errorf("no log line shows %q:\n%s", tt.log, s.log.buf.String())
				}
			})
		})
	}
}

// A peer that has shown who it is may still send what it likes: it is cut off
// with a reason, and costs what it sent.
func TestREM05ClaimsOfAKnownPeer(t *testing.T) {
	onStages(t, "plain secret tls", func(s *stage) {
		e := s.open(3, &tape{}).(*endpoint)
		before := heap()
		claims := []uint32{1<<32 - 2, 1<<31 - 1, isPart | 1<<20 + 1, 1<<20 + 1, segmentBytes + 1}
		for i, claim := range claims {
			conn, err := s.dial()
			if err != nil {
				t.Fatal(err)
			}
			defer hangUp(conn)
			h := hello{lowest: 1, highest: 1, cluster: "x", from: e.self, to: s.victim.Self(), lane: User, round: uint64(i + 1), maxFrame: minFrame}
			ch, _, err := e.greet(t.Context(), conn, h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ch.Write(binary.BigEndian.AppendUint32(nil, claim)); err != nil {
				t.Fatal(err)
			}
			if a, err := readAnswer(ch); err != nil || a.refusal != RefusedFrame {
				t.Errorf("claim of %d bytes: answer %+v, %v, want the goodbye %v", claim, a, err, RefusedFrame)
			}
		}
		s.refused("frame", uint64(len(claims)))
		if grown := int64(heap()) - int64(before); grown > 16<<20 {
			s.t.Errorf("heap grew by %d bytes", grown)
		}
	})
}
