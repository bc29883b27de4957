package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

const (
	leastSecret  = 16      // bytes: what a peer proves can be tried against guesses
	maxSecret    = 4 << 10 // bytes
	secretInText = "[secret]"
)

// A Secret is what the nodes of one cluster share, and nobody else knows: 16 to
// 4096 bytes, best drawn at random (openssl rand -hex 32). It is used for proofs
// only and never sent; package fmt, log/slog and encoders of text print
// "[secret]" in its place.
type Secret string

// ReadSecret reads a secret from a file, without the white space around it. The
// error names the file and what to do.
func ReadSecret(file string) (Secret, error) {
	b, err := readBounded(file, maxSecret)
	if err != nil {
		return "", fmt.Errorf("transport: secret: %w", err)
	}
	s := Secret(strings.TrimSpace(string(b)))
	if problem := s.problem(); problem != "" {
		return "", fmt.Errorf("transport: secret in %s: %s", file, problem)
	}
	return s, nil
}

// readBounded reads a file that has no reason to be long.
func readBounded(file string, limit int) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > limit:
		return nil, fmt.Errorf("%s: more than %d bytes", file, limit)
	default:
		return b, nil
	}
}

// problem is what is wrong with a secret that is to be used, empty for nothing.
func (s Secret) problem() string {
	if len(s) < leastSecret || len(s) > maxSecret {
		return fmt.Sprintf("%d bytes: want %d to %d, best from a random source (openssl rand -hex 32)", len(s), leastSecret, maxSecret)
	}
	return ""
}

// Format prints [secret], whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, secretInText) }

// LogValue logs [secret].
func (Secret) LogValue() slog.Value { return slog.StringValue(secretInText) }

// MarshalText encodes as [secret].
func (Secret) MarshalText() ([]byte, error) { return []byte(secretInText), nil }

// The roles of a proof: what one side has said is worth nothing from the other.
const (
	roleDials   = "troupe dials"
	roleAccepts = "troupe accepts"
)

// prove shows that this side knows the secret, by HMAC-SHA256 over its role, the
// one TLS session that both sides are in, and what was said there. The binding
// depends on the random numbers and key shares of both sides (RFC 9266), so
// it is each side's challenge to the other: a proof says nothing in any other
// session, which is why one cannot be replayed, or passed on by somebody in the
// middle. Without a secret it is empty.
func (s Secret) prove(role string, binding []byte, said ...[]byte) string {
	if s == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(s))
	for _, part := range append([][]byte{[]byte(role), binding}, said...) {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write(part)
	}
	return string(mac.Sum(nil))
}

// proven tells, in constant time, whether a proof is the one expected.
func (s Secret) proven(proof, role string, binding []byte, said ...[]byte) bool {
	return hmac.Equal([]byte(proof), []byte(s.prove(role, binding, said...)))
}
