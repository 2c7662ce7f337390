// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// slowDisk is a hook that keeps the first thing waiting that is to become durable, once it is armed.
type slowDisk struct {
	armed   atomic.Bool
	begun   chan struct{}
	onward  chan struct{}
	changes atomic.Int64
}

func (d *slowDisk) before(change, _ string) error {
	d.changes.Add(1)
	if (change == "sync" || change == "syncdir") && d.armed.CompareAndSwap(true, false) {
		close(d.begun)
		<-d.onward
	}
	return nil
}

// stuck starts a change that waits for the disk until the returned function is called, which returns the change's
// error.
func (d *slowDisk) stuck(t *testing.T, change func() error) (end func() error) {
	t.Helper()
	d.begun, d.onward = make(chan struct{}), make(chan struct{})
	d.armed.Store(true)
	done := make(chan error, 1)
	go func() { done <- change() }()
	select {
	case <-d.begun:
	case err := <-done:
		t.Fatalf("nothing had to become durable: %v", err)
	}
	return func() error { close(d.onward); return <-done }
}

// Who only looks at files does not wait for the disk that another's change waits for. Changes do, one after the other.
func TestLooksDoNotWaitForTheDisk(t *testing.T) {
	disk := &slowDisk{}
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario(), Before: disk.before})
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\pods\a`)
	mkdir(t, n, `C:\m`)
	link(t, n, `C:\link`, symlink(`C:\pods`))
	pods := openFile(t, n, `\\?\C:\pods`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	doomed := openFile(t, n, `\\?\C:\pods\a`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))

	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"a directory is made", func() error {
			h, err := n.OpenFile(pods, "new", how(anyRight, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE))
			if err == nil {
				err = h.Close()
			}
			return err
		}},
		{"a directory is deleted", func() error {
			return doomed.SetInformation(win32.FileDispositionInfoEx, win32.FileDispositionEx(3))
		}},
		{"a volume is mounted", func() error { return n.SetVolumeMountPoint(`C:\m\`, v) }},
		{"a volume is unmounted", func() error { return n.DeleteVolumeMountPoint(`C:\m\`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := disk.stuck(t, c.change)
			changes := disk.changes.Load()
			looked := make(chan struct{})
			go func() { defer close(looked); looksAround(t, n, pods) }()
			select {
			case <-looked:
			case <-time.After(20 * time.Second): // for ever, were it not for the end of this test
				t.Error("looks wait for the change of another")
			}
			second := make(chan error)
			go func() {
				h, err := n.OpenFile(nil, `\\?\C:\second`, how(anyRight, win32.FILE_OPEN_IF, win32.FILE_DIRECTORY_FILE))
				if err == nil {
					err = h.Close()
				}
				second <- err
			}()
			if now := disk.changes.Load(); now != changes {
				t.Errorf("looks made %d changes", now-changes)
			}
			must(t, end())
			must(t, <-second)
			<-looked
		})
	}
}

// looksAround makes each call that changes nothing.
func looksAround(t *testing.T, n *Node, pods kernel.Handle) {
	t.Helper()
	for _, path := range []string{`C:\pods`, `C:\link`, `C:\m`} {
		h, err := n.OpenFile(nil, `\\?\`+path,
			how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		if err != nil {
			t.Error(err)
			continue
		}
		wantCode(t, "attributes", h.Information(win32.FileAttributeTagInfo, make([]byte, 8)), 0)
		_, err = h.FinalPath(win32.VOLUME_NAME_DOS)
		wantCode(t, "path", err, 0)
		// some have none
		_, _ = h.DeviceIoControl(win32.FSCTL_GET_REPARSE_POINT, nil, make([]byte, win32.MAXIMUM_REPARSE_DATA_BUFFER_SIZE))
		wantCode(t, "closing", h.Close(), 0)
	}
	wantCode(t, "listing", pods.Information(win32.FileFullDirectoryRestartInfo, make([]byte, 4096)), 0)
	_, err := n.OpenFile(pods, "missing", how(anyRight, win32.FILE_OPEN, 0))
	wantCode(t, "a missing file", err, win32.ERROR_FILE_NOT_FOUND)
}

// A directory below which something is open keeps its path. So the path of an open file leads to it, though names are
// looked up while others rename what they lie in.
func TestOpeningWhileItsDirectoryIsRenamed(t *testing.T) {
	if onWine() {
		t.Skip("require volume serial numbers of open files: Wine looks for them at the path that a file was opened by")
	}
	n := newNode(t, nil)
	mkdir(t, n, `C:\a\below`)
	root := openFile(t, n, `\\?\C:\`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	var openers sync.WaitGroup
	var over atomic.Bool
	opened := 0
	openers.Go(func() {
		defer over.Store(true)
		for opened < 300 && !t.Failed() {
			for _, path := range []string{`\\?\C:\a\below`, `\\?\C:\b\below`} {
				h, err := n.OpenFile(nil, path, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if err != nil {
					continue // it has the other name
				}
				opened++
				final, err := h.FinalPath(win32.VOLUME_NAME_DOS)
				if err != nil {
					t.Error(err)
				}
				again, err := n.OpenFile(nil, final, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if err != nil {
					t.Errorf("%s is open by its path %s, which leads nowhere: %v", path, final, err)
				} else {
					_ = again.Close()
				}
				_ = h.Close()
			}
		}
	})
	renamed := 0
	for names := [2]string{"a", "b"}; !over.Load(); {
		h, err := n.OpenFile(root, names[0], how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		must(t, err)
		if h.Rename(root, names[1]) == nil {
			names[0], names[1] = names[1], names[0]
			renamed++
		}
		must(t, h.Close())
	}
	openers.Wait()
	t.Logf("opened %d times, renamed %d times in %s", opened, renamed, filepath.Base(n.dir))
}
