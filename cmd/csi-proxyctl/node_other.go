// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// securityOf returns the owner and the mode of a socket, and of the directory that it is in.
func securityOf(socket string) (string, error) {
	info, err := os.Lstat(socket)
	if err != nil {
		return "", err
	}
	text := info.Mode().String()
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		text += fmt.Sprintf(" uid %d gid %d", owner.Uid, owner.Gid)
	}
	return text, nil
}

// systemVersion returns the version of the system's kernel, if it tells one.
func systemVersion() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(text)
}

// automountOff is for Windows. An emulated node has a switch.
func automountOff() (bool, error) { return false, errors.ErrUnsupported }
