// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// lockName is the file in a socket directory that an agent keeps locked while it runs.
const lockName = "csi-proxy.lock"

// maxSocketPath is the longest path that a socket may have: sun_path of sockaddr_un less its NUL.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// A SocketDir implements Endpoints by unix sockets, in a directory that one agent holds. It replaces a killed one's.
type SocketDir struct {
	path string
	lock *os.File
}

// Open opens the directory of an agent's sockets.
func Open(o Options) (Endpoints, error) {
	if o.SocketDir == "" {
		return nil, errors.New("an agent needs a socket directory")
	}
	d, err := OpenSocketDir(o.SocketDir)
	if err != nil {
		return nil, err // not a typed nil
	}
	return d, nil
}

// CheckPipeSecurity fails, as there are no named pipes here.
func CheckPipeSecurity(string) error {
	return errors.New("there are no named pipes here; sockets are for the user that runs the agent")
}

// OpenSocketDir locks a directory for this agent, and makes a missing one with mode 0700. It fails when another agent
// holds it, when neither root nor the agent's user owns it, and when anyone but its owner may write to it.
func OpenSocketDir(path string) (*SocketDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the socket directory: %w", err)
	}
	if err := guard(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which the agent never makes; see who did, and remove it",
			filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock the socket directory: %w", err)
	}
	if err := tryLock(lock); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(lock, 32))
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another csi-proxy (process %s) serves the socket directory %s; stop it or give another "+
				"-socket-dir", strings.TrimSpace(string(holder)), path)
		}
		return nil, fmt.Errorf("cannot lock %s: %w", lock.Name(), err)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt(fmt.Appendln(nil, os.Getpid()), 0) // only for the message above
	}
	return &SocketDir{path: path, lock: lock}, nil
}

// guard refuses a directory in which others could replace our sockets, and closes a directory that is ours alone to
// others. A directory that holds other files too keeps its mode: the sockets' own mode, 0600, protects them.
func guard(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot look at the socket directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the socket directory %s is not a directory", path)
	}
	names, err := fileowner.Others(path)
	if err != nil {
		return fmt.Errorf("cannot look at the socket directory: %w", err)
	}
	if len(names) > 0 {
		return fmt.Errorf("the socket directory %s can be changed by %s, so that others could replace the sockets in it; "+
			"give a directory that only its owner may write to", path, strings.Join(names, ", "))
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("cannot look at the socket directory: %w", err)
	}
	for _, path := range []string{path, resolved} {
		if above, err := fileowner.Exposed(path); err != nil {
			return fmt.Errorf("cannot look above the socket directory: %w", err)
		} else if above != "" {
			return fmt.Errorf("the socket directory %s is refused: everyone may replace what is in %s; give a "+
				"directory elsewhere, or take the right away with chmod o-w or chmod +t", path, above)
		}
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("cannot read the socket directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lockName && e.Type() != fs.ModeSocket {
			return nil
		}
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // G302: a directory needs the x bit
		return fmt.Errorf("cannot close the socket directory to others: %w", err)
	}
	return nil
}

// Path returns the socket's path.
func (d *SocketDir) Path(name string) string { return filepath.Join(d.path, name+".sock") }

// Listen opens the socket NAME.sock with mode 0600: private or not, it is for the agent's own user. A socket
// without a listener is replaced. A socket in use, or another kind of file, is an error that names it.
func (d *SocketDir) Listen(name string, _ bool) (net.Listener, error) {
	path := d.Path(name)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the socket path %s has %d bytes, more than the %d that a unix socket may have; give a "+
			"shorter -socket-dir", path, len(path), maxSocketPath)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot open the socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot protect the socket %s: %w", path, err), l.Close())
	}
	return &socketListener{UnixListener: l}, nil
}

// socketListener is the listener of one socket.
type socketListener struct {
	*net.UnixListener
	closed atomic.Bool
}

func (l *socketListener) Close() error {
	l.closed.Store(true)
	return l.UnixListener.Close()
}

func (l *socketListener) Accept() (net.Conn, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	peer, process := peerOf(c)
	return &Conn{Conn: socketConn{c, l}, Peer: peer, Process: process}, nil
}

// closeLimit is how long a client may take to notice that a server which stops has closed its connection.
const closeLimit = time.Second

// socketConn is an accepted connection. If the listener is closed first, as by a gRPC server that stops, the connection
// can be read until the client has closed its end, too: the server waits for that, so that the client's next call does
// not meet the old connection.
type socketConn struct {
	*net.UnixConn
	listener *socketListener
}

func (c socketConn) Close() error {
	if !c.listener.closed.Load() {
		return c.UnixConn.Close()
	}
	time.AfterFunc(closeLimit, func() { _ = c.UnixConn.Close() })
	return c.CloseWrite()
}

// removeStale removes the socket of a killed agent. No other agent can take its place: we hold the directory's lock.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is in the way: it is not a socket and not ours to remove", path)
	}
	live, err := net.Dial("unix", path)
	if err == nil {
		_ = live.Close()
		return fmt.Errorf("another process serves the socket %s; stop it or give another -socket-dir", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether the socket %s is served: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the socket of a killed agent: %w", err)
	}
	return nil
}

// Close unlocks the directory. The listeners must be closed before.
func (d *SocketDir) Close() error { return d.lock.Close() }

// tryLock locks a file until it is closed or the process ends (flock(2)).
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
