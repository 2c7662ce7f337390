// SPDX-License-Identifier: Apache-2.0

package namedpipe

import (
	"net"
	"os"

	"golang.org/x/sys/windows"
)

// conn is a client's connection. os.File does the rest: it knows overlapped handles, and with them deadlines.
type conn struct {
	*os.File
	path   string
	client clientAddr
}

func newConn(h windows.Handle, path string) net.Conn {
	client := clientOf(h)
	return &conn{File: os.NewFile(uintptr(h), path), path: path, client: client}
}

// LocalAddr is the pipe's path.
func (c *conn) LocalAddr() net.Addr { return addr(c.path) }

// RemoteAddr names the client process, as it was when the connection was accepted.
func (c *conn) RemoteAddr() net.Addr { return c.client }
