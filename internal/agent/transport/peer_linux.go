// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peerOf returns the process that connected to a unix socket (SO_PEERCRED, unix(7)). Linux remembers the process itself
// since 6.5 (SO_PEERPIDFD); before, another one is held if the first ended before its connection was accepted. A
// process that has ended and been waited for gets no descriptor (EINVAL) until 6.15, and one that says so since.
// https://git.kernel.org/torvalds/c/923ea4d4482b, https://github.com/bus1/dbus-broker/pull/312
func peerOf(c *net.UnixConn) (peer Peer, process Process) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, nil
	}
	_ = raw.Control(func(socket uintptr) {
		credentials, err := unix.GetsockoptUcred(int(socket), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return
		}
		if peer = (Peer{PID: uint32(credentials.Pid), UID: new(int(credentials.Uid))}); peer.PID == 0 {
			return
		}
		fd, err := unix.GetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		itself := err == nil // false only before Linux 6.5, on which no test runs
		if errors.Is(err, unix.ENOPROTOOPT) {
			fd, err = unix.PidfdOpen(int(peer.PID), 0)
		}
		switch {
		case err == nil:
			process = pidfd(fd)
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ESRCH):
			process = ended{}
		}
		if itself {
			peer.Container = cgroup(peer.PID, process)
		}
	})
	return peer, process
}

// cgroup returns the control group of a process. Holding the process does not keep its number from being reused. But if
// it has not ended afterwards, what was read under its number was its own.
func cgroup(pid uint32, process Process) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/cgroup")
	if err != nil || process.Ended() {
		return ""
	}
	return cgroupOf(string(text))
}

// cgroupOf returns the path in the unified hierarchy, else in systemd's own, if its group exists (cgroups(7)).
func cgroupOf(text string) string {
	found := ""
	for line := range strings.Lines(text) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if strings.HasSuffix(path, " (deleted)") || !strings.HasPrefix(path, "/") {
			continue
		}
		if hierarchy == "0" && (path != "/" || found == "") || controllers == "name=systemd" &&
			(found == "" || found == "/") {
			found = path
		}
	}
	return found
}

// pidfd is a process file descriptor. It becomes readable when the process ends (pidfd_open(2)).
type pidfd int

func (p pidfd) Ended() bool {
	look := []unix.PollFd{{Fd: int32(p), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return n > 0 && err == nil
}

func (p pidfd) Close() error { return unix.Close(int(p)) }
