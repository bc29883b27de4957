//go:build chaos && linux

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// period is over which a processor's time is divided.
const period = 100 * time.Millisecond

// quota is a control group that has a part of one processor: of version 1 of the
// kernel's interface if cpu is mounted there, else of version 2.
type quota struct{ dir string }

// slowDown gives a node a part of one processor until the test ends, together
// with a busy process, since a node that is left alone needs less than that.
func (r *rehearsal) slowDown(node int, part float64) quota {
	r.t.Helper()
	const first, second = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
	name := fmt.Sprintf("troupe-chaos-%d", os.Getpid())
	micro := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	share := time.Duration(part * float64(period))
	var q quota
	var limits [][2]string
	if _, err := os.Stat(filepath.Join(first, "cpu.cfs_quota_us")); err == nil {
		q.dir = filepath.Join(first, name)
		limits = [][2]string{{"cpu.cfs_period_us", micro(period)}, {"cpu.cfs_quota_us", micro(share)}}
	} else {
		r.write(filepath.Join(second, "cgroup.subtree_control"), "+cpu")
		q.dir = filepath.Join(second, name)
		limits = [][2]string{{"cpu.max", micro(share) + " " + micro(period)}}
	}
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		r.t.Fatalf("a control group for a slow node: %v", err)
	}
	p := r.nodes[node-1]
	busy := exec.Command("sh", "-c", "while :; do :; done")
	busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := busy.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_, _ = busy.Process.Kill(), busy.Wait()
		_ = p.cmd.Process.Kill() // in vain when it has exited
		<-p.exited
		if err := within(time.Minute, func() error { return os.Remove(q.dir) }); err != nil { // its last process is still being buried
			r.t.Error(err)
		}
	})
	for _, pid := range []int{busy.Process.Pid, p.cmd.Process.Pid} {
		limits = append(limits, [2]string{"cgroup.procs", strconv.Itoa(pid)})
	}
	for _, l := range limits {
		r.write(filepath.Join(q.dir, l[0]), l[1])
	}
	return q
}

func (r *rehearsal) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// throttled is in how many periods the group had used up its share.
func (q quota) throttled(t *testing.T) (times int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(q.dir, "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); ok {
			if times, err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return times
}
