package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const secret = "0123456789abcdef0123456789abcdef"

// manageForm sends a form to a node's management API, with the secret.
func manageForm(p *process, method, path, form string) (status int, body string, err error) {
	r, err := http.NewRequest(method, p.manage+path, strings.NewReader(form))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	return read(answer)
}

// An operator has a node leave through another one, and then shuts down the rest
// of the cluster together.
func TestANodeAndThenAllLeaveByTheManagementAPI(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := startCluster(t, 3, "-manage-token-file", file)
	address := "troupe://dadbot@" + nodes[2].listen
	if status, body, err := manageForm(nodes[0], "DELETE", "/cluster/members/"+address, ""); err != nil || status != http.StatusOK || !strings.Contains(body, "Leaving "+address) {
		t.Errorf("DELETE of a member = %d %s %v, want 200 Leaving %s", status, body, err, address)
	}
	nodes[2].wantExit(t, exitOK)

	if status, body, err := manageForm(nodes[1], "PUT", "/cluster", "operation=prepare-for-full-shutdown"); err != nil || status != http.StatusOK {
		t.Errorf("PUT /cluster = %d %s %v, want 200", status, body, err)
	}
	for _, p := range nodes[:2] {
		eventually(t, "all are ready for shutdown", func() error {
			_, body, err := get(p.manage + "/cluster/members")
			if err == nil && strings.Count(body, `"ReadyForShutdown"`) != 2 {
				err = fmt.Errorf("the members are %s", body)
			}
			return err
		})
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, p := range nodes[:2] {
		all.Go(func() { p.leave(t) })
	}
	all.Wait()
	t.Logf("the rest were gone after %v", time.Since(began).Round(time.Millisecond))
}
