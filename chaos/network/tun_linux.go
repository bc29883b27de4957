package network

import (
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// openTUN makes a TUN interface in a namespace. Its packets are read from and
// written to the file, one by one.
func openTUN(namespace, name string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	result := make(chan opened)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			result <- opened{err: err}
			return
		}
		defer home.Close()
		f, err := openTUNOn(namespace, name)
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			// Else the thread ends with the goroutine, as it must not be used
			// again: and so do processes that it started with Pdeathsig.
			runtime.UnlockOSThread()
		}
		result <- opened{f, err}
	}()
	o := <-result
	return o.f, o.err
}

// openTUNOn moves its thread into the namespace.
func openTUNOn(namespace, name string) (*os.File, error) {
	ns, err := os.Open(filepath.Join("/var/run/netns", namespace))
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("setns", err)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("TUNSETIFF", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
