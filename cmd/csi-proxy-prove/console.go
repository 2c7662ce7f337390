// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"time"
)

// A console is written to without waiting. A click into its window stops whatever writes to it until a key is pressed,
// and the tests, whose output the kit reads and prints, would stop with it.
type console struct {
	texts   chan []byte   // nil ends them
	written chan struct{} // closed after the last write
}

// maxTexts is how many texts wait for a stopped window. A run prints far fewer; what is more is lost there, and is in
// the report.
const maxTexts = 1 << 16

func newConsole(to io.Writer) *console {
	c := &console{texts: make(chan []byte, maxTexts), written: make(chan struct{})}
	go func() {
		defer close(c.written)
		for text := <-c.texts; text != nil; text = <-c.texts {
			_, _ = to.Write(text)
		}
	}()
	return c
}

func (c *console) Write(text []byte) (int, error) {
	c.put(append([]byte{}, text...))
	return len(text), nil
}

func (c *console) put(text []byte) {
	select {
	case c.texts <- text:
	default:
	}
}

// end waits until all is written, but not for long: the report is in its file.
func (c *console) end() {
	c.put(nil)
	select {
	case <-c.written:
	case <-time.After(10 * time.Second):
	}
}

// reportDirectory returns the default directory of reports: the kit's, if it is writable, or else the user's own. An
// elevated shell starts in that of Windows.
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
