package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testSecret Secret = "what only the nodes know"

func TestSecretNeverPrints(t *testing.T) {
	cfg := Config{Secret: testSecret}
	encoded, err := json.Marshal(cfg.Secret)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "config", cfg, "secret", cfg.Secret)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "secret", cfg.Secret, "in", map[string]any{"a": cfg.Secret})
	for _, text := range []string{
		fmt.Sprint(cfg), fmt.Sprintf("%+v %#v %q %x %s %v %d", cfg, cfg, cfg.Secret, cfg.Secret, cfg.Secret, &cfg.Secret, cfg.Secret),
		string(encoded), log.String(),
	} {
		if strings.Contains(text, string(testSecret)) || strings.Contains(text, fmt.Sprintf("%x", string(testSecret))) {
			t.Errorf("the secret is in %q", text)
		}
	}
}

// A proof holds for its role, session and words alone.
func TestProof(t *testing.T) {
	binding, said := []byte("session 1"), []byte("hello")
	proof := testSecret.prove(roleDials, binding, said)
	for _, tt := range []struct {
		name    string
		secret  Secret
		proof   string
		role    string
		binding string
		said    []string
		want    bool
	}{
		{"the same", testSecret, proof, roleDials, "session 1", []string{"hello"}, true},
		{"another secret", testSecret + "!", proof, roleDials, "session 1", []string{"hello"}, false},
		{"no proof", testSecret, "", roleDials, "session 1", []string{"hello"}, false},
		{"half a proof", testSecret, proof[:16], roleDials, "session 1", []string{"hello"}, false},
		{"sent back", testSecret, proof, roleAccepts, "session 1", []string{"hello"}, false},
		{"another session", testSecret, proof, roleDials, "session 2", []string{"hello"}, false},
		{"other words", testSecret, proof, roleDials, "session 1", []string{"hullo"}, false},
		{"words cut elsewhere", testSecret, proof, roleDials, "session 1h", []string{"ello"}, false},
		{"words in two", testSecret, proof, roleDials, "session 1", []string{"hel", "lo"}, false},
	} {
		var parts [][]byte
		for _, s := range tt.said {
			parts = append(parts, []byte(s))
		}
		if got := tt.secret.proven(tt.proof, tt.role, []byte(tt.binding), parts...); got != tt.want {
			t.Errorf("%s: proven %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestReadSecret(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"good": " " + string(testSecret) + "\n", "short": "password\n", "empty": "", "long": strings.Repeat("x", maxSecret+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := ReadSecret(filepath.Join(dir, "good")); err != nil || s != testSecret {
		t.Errorf("good file: %d bytes, %v", len(s), err)
	}
	for _, name := range []string{"short", "empty", "long", "absent"} {
		if _, err := ReadSecret(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s file: %v, want an error that names it", name, err)
		}
	}
}
