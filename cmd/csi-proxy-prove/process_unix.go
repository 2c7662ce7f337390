// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// A family is a program and all that it starts. They end together, when the kit says so.
type family struct{ group int }

// endTogether does nothing: here a program may outlive a kit that is killed.
func endTogether() error { return nil }

func newFamily() (*family, error) { return &family{}, nil }

// start starts a program in a process group of its own, so that Ctrl-C reaches the kit alone.
func (f *family) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := c.Start()
	if err == nil {
		f.group = c.Process.Pid
	}
	return err
}

// end ends all of them.
func (f *family) end() {
	if f.group > 0 {
		_ = syscall.Kill(-f.group, syscall.SIGKILL)
	}
}
