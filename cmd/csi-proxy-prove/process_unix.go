// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os/exec"
	"sync"
	"syscall"
)

// start starts a program in a process group of its own, so that Ctrl-C reaches the kit alone, and returns what ends the
// group. Here a program may outlive a kit that is killed.
func start(c *exec.Cmd) (end func(), err error) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end = sync.OnceFunc(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	c.Cancel = func() error { end(); return nil }
	return end, c.Start()
}
