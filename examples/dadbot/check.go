package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/manage"
)

func (f *nodeFlags) checkNumbers() error {
	var problems []error
	positive := f.times()
	h := &f.opts.house
	positive = append(positive, setting{name: "quiet", value: &h.Dad.Quiet}, setting{name: "think", value: &h.Dad.Think})
	for _, s := range positive {
		if *s.value < 0 || *s.value == 0 && f.given(s.name) {
			problems = append(problems, fmt.Errorf("-%s is %v: use a time above zero, such as 500ms", s.name, *s.value))
		}
	}
	if t := h.Cluster.Times; t.AcceptablePause < t.Heartbeat && t.AcceptablePause > 0 {
		problems = append(problems, fmt.Errorf("-acceptable-pause %v is less than -heartbeat %v, so every node would be suspected: use at least %v", t.AcceptablePause, t.Heartbeat, 3*t.Heartbeat))
	}
	return errors.Join(problems...)
}

var (
	clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	hostName    = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

func (f *nodeFlags) checkNames() error {
	var problems []error
	c := f.opts.house.Cluster
	for _, n := range []struct{ flag, value string }{{"cluster", c.Name}, {"scheme", c.Scheme}} {
		if !clusterName.MatchString(n.value) {
			problems = append(problems, fmt.Errorf("-%s %q: use letters, digits, - and _", n.flag, n.value))
		}
	}
	return errors.Join(problems...)
}

// readToken finds the secret of the management API, without ever showing it.
func (f *nodeFlags) readToken() error {
	flag := "-manage-token"
	f.opts.token = f.token
	switch {
	case f.given("manage-token") && f.given("manage-token-file"):
		return errors.New("-manage-token and -manage-token-file are both given: use one")
	case f.given("manage-token-file"):
		flag = "-manage-token-file " + f.tokenFile
		text, err := os.ReadFile(f.tokenFile)
		if path := new(fs.PathError); errors.As(err, &path) {
			return fmt.Errorf("%s: %w", flag, path.Err)
		}
		f.opts.token = strings.TrimSpace(string(text))
	case !f.given("manage-token"):
		return nil
	}
	if err := manage.CheckToken(f.opts.token); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

func (f *nodeFlags) checkAddresses(i int) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	used := make(map[string]string)
	for _, a := range []struct {
		flag, value string
		fits        func(string) bool
	}{{"http", f.opts.http, servesAt}, {"manage", f.opts.manage, servesAt}, {"listen", f.listen, isAddress}} {
		if !a.fits(a.value) {
			problem("-%s %q: use host:port, such as 127.0.0.1:8080", a.flag, a.value)
			continue
		}
		if other, ok := used[a.value]; ok {
			problem("-%s and -%s are both %s: use two ports", other, a.flag, a.value)
		}
		if _, port, _ := net.SplitHostPort(a.value); port != "0" {
			used[a.value] = a.flag
		}
	}
	switch advertise := f.opts.house.Cluster.Advertise; {
	case advertise != "" && !isAddress(advertise):
		problem("-advertise %q: use host:port, such as 192.0.2.1:25520", advertise)
	case advertise == "" && bindsAll(f.listen):
		problem("-listen %s is on all interfaces: name the host:port that other nodes dial with -advertise", f.listen)
	}
	for _, seed := range f.seedList() {
		if !isAddress(seed) {
			problem("-seeds has %q: use host:port, separated by commas", seed)
		}
	}
	if !f.given("seeds") && f.store == "" && i < len(defaultSeeds()) && f.listen != defaultSeeds()[i] {
		problem("-listen %s takes %s away from the default seeds, where others look for it: name the seeds with -seeds", f.listen, f.opts.name)
	}
	return errors.Join(problems...)
}

// isAddress tells whether a text is host:port, with the port a number.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	_, err = netip.ParseAddr(host)
	return err == nil || hostName.MatchString(host)
}

// servesAt tells whether an HTTP server can listen at a text: host:port, or
// :port for all interfaces.
func servesAt(text string) bool {
	return isAddress(text) || strings.HasPrefix(text, ":") && isAddress("localhost"+text)
}

func bindsAll(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().IsUnspecified()
}
