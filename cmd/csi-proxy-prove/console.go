// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A console is written to without waiting. A click into its window stops whoever writes to it until a key is pressed,
// and the tests, whose output the kit reads and prints, would stop with it.
type console struct {
	to      io.Writer
	mu      sync.Mutex
	pending []byte
	ended   bool
	more    chan struct{} // has an element when something is pending or it has ended
	written chan struct{} // closed after the last write
}

func newConsole(to io.Writer) *console {
	c := &console{to: to, more: make(chan struct{}, 1), written: make(chan struct{})}
	go c.print()
	return c
}

func (c *console) Write(text []byte) (int, error) {
	c.mu.Lock()
	c.pending = append(c.pending, text...)
	c.mu.Unlock()
	c.wake()
	return len(text), nil
}

func (c *console) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *console) print() {
	defer close(c.written)
	for range c.more {
		c.mu.Lock()
		text, ended := c.pending, c.ended
		c.pending = nil
		c.mu.Unlock()
		_, _ = c.to.Write(text)
		if ended {
			return
		}
	}
}

// end waits until all is written, but not for long: the report is in its file.
func (c *console) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.wake()
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	select {
	case <-c.written:
	case <-late.C:
	}
}

// reportDirectory returns the place of a report that nobody named: that of the kit, if it can be written to, or else
// the user's own directory. An elevated shell starts in that of Windows.
func reportDirectory(self string) string {
	dir := filepath.Dir(self)
	f, err := os.CreateTemp(dir, "csi-proxy-prove-*.tmp")
	if err == nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	return home
}
