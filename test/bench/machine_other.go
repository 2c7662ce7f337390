// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

// echoAddress returns a socket in a directory.
func echoAddress(dir string) string { return filepath.Join(dir, "echo.sock") }

// listen takes the place of an earlier echo, which was killed and left its socket.
func listen(address string) (net.Listener, error) {
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", address)
}

func system() string { return runtime.GOOS }

func takesConnections(sockets, name string) bool {
	conn, err := net.Dial("unix", filepath.Join(sockets, name+".sock"))
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// onlyServer returns nil: an agent's sockets are in a directory of its own.
func onlyServer(context.Context, int) error { return nil }

// countsOf returns how many threads and open files a process has.
func countsOf(pid int) (threads, handles int, err error) {
	process := "/proc/" + strconv.Itoa(pid)
	tasks, err := os.ReadDir(process + "/task")
	if err != nil {
		return 0, 0, err
	}
	files, err := os.ReadDir(process + "/fd")
	return len(tasks), len(files), err
}

var residentLine = regexp.MustCompile(`Vm(HWM|RSS):\s*(\d+) kB`)

// memoryOf returns a process's resident memory, now and at its peak, in MiB, as Linux counts it.
func memoryOf(pid int) (now, peak float64, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0, err
	}
	kB := map[string]float64{}
	for _, line := range residentLine.FindAllStringSubmatch(string(text), -1) {
		if kB[line[1]], err = strconv.ParseFloat(line[2], 64); err != nil {
			return 0, 0, fmt.Errorf("the memory of process %d: %w", pid, err)
		}
	}
	return kB["RSS"] / 1024, kB["HWM"] / 1024, nil
}
