// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// identified adds the control group of the process that connected, unless it has ended or the kernel gives no handle on
// it (SO_PEERPIDFD, since Linux 6.5). The handle does not keep the process's number from being reused, but shows at the
// end that the process was still there: then what was read under its number was its own.
func identified(c net.Conn, peer Peer) Peer {
	socket, ok := c.(*net.UnixConn)
	if !ok || peer.PID == 0 {
		return peer
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return peer
	}
	process := -1
	if ctrl := raw.Control(func(fd uintptr) {
		process,
			err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	}); ctrl != nil || err != nil {
		return peer
	}
	defer func() { _ = unix.Close(process) }()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(int(peer.PID)) + "/cgroup")
	if err != nil {
		return peer
	}
	if ended, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 0); ended != 0 || err != nil {
		return peer
	}
	peer.Container = cgroupOf(string(text))
	return peer
}

// cgroupOf returns the path in the unified hierarchy, else that of systemd's own, from /proc/PID/cgroup (cgroups(7)). A
// group that was removed identifies no container.
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
