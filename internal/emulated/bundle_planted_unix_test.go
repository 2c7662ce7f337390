// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// bundled returns a bundle with a formatted volume.
func bundled(t *testing.T, n *Node) (home, volume string) {
	t.Helper()
	number, volume := written(t, n, "kept")
	return filepath.Dir(detached(t, n, number)), volume
}

// replaced puts something else in the place of a file or directory.
func replaced(t *testing.T, path string, plant func(path string) error) {
	t.Helper()
	must(t, os.RemoveAll(path))
	must(t, plant(path))
}

// A bundle comes from elsewhere. Whatever lies in the place of its files, or of the node.json that it names, an attach
// ends, and so does the node.
func TestPlantedBundles(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	long := func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxStateBytes+1))
	}
	for name, plant := range map[string]func(path string) error{
		"a pipe": pipe,
		"a link to a pipe": func(path string) error {
			return errors.Join(pipe(path+"-pipe"), os.Symlink(path+"-pipe", path))
		},
		"a link to a good file": func(path string) error {
			return errors.Join(os.WriteFile(path+"-good", []byte("{}"), 0o600), os.Symlink(path+"-good", path))
		},
		"a long file": long,
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		for _, file := range []string{bundle.InfoFile, bundle.HolderFile, stateFile, bundle.ImageFile, bundle.VolumesDir} {
			if name == "a long file" && (file == bundle.ImageFile || file == bundle.HolderFile) ||
				file == bundle.VolumesDir && name == "a directory" {
				continue // they may be that
			}
			t.Run(name+" as "+file, func(t *testing.T) {
				n := newNode(t, nil)
				home, _ := bundled(t, n)
				at := filepath.Join(home, file)
				if file == stateFile {
					other := t.TempDir()
					at = filepath.Join(other, file)
					must(t, os.WriteFile(filepath.Join(home, bundle.HolderFile), []byte(other+"\n"), 0o600))
				}
				replaced(t, at, plant)
				_, err := n.AttachDisk(bundle.Spec{BundlePath: home, LUNAuto: true})
				damaged := new(*hostfiles.DamagedError)
				if !errors.As(err, damaged) && !errors.Is(err, bundle.ErrInvalid) || !strings.Contains(err.Error(), at+": it ") {
					t.Errorf("got %v, want that %s is refused", err, at)
				}
				attachedAs(t, n, bundle.Spec{SizeBytes: 32 << 20})
				must(t, n.Close())
			})
		}
	}
}

// A link in the place of a bundle's volumes leads a node nowhere, before an attach, at a start, and while the bundle is
// attached.
func TestLinkedVolumesDirectory(t *testing.T) {
	n := newNode(t, nil)
	home, volume := bundled(t, n)
	id, err := guid.FromString(strings.TrimSuffix(strings.TrimPrefix(volume, `\\?\Volume{`), `}\`))
	must(t, err)
	volumes, detached, outside := filepath.Join(home, bundle.VolumesDir), filepath.Join(home, "aside"), t.TempDir()
	precious := filepath.Join(outside, id.String(), "precious")
	dropped := filepath.Join(outside, hostfiles.DroppedPrefix+"not")
	must(t, errors.Join(os.MkdirAll(precious, 0o700), os.Mkdir(dropped, 0o700)))
	swap := func() { must(t, errors.Join(os.Rename(volumes, detached), os.Symlink(outside, volumes))) }
	back := func() { must(t, errors.Join(os.Remove(volumes), os.Rename(detached, volumes))) }
	damaged := new(*hostfiles.DamagedError)

	swap()
	if _, err := n.AttachDisk(bundle.Spec{BundlePath: home, LUNAuto: true}); !errors.As(err, damaged) ||
		(*damaged).File != volumes {
		t.Errorf("an attach: %v", err)
	}
	back()
	number := attachedAs(t, n, bundle.Spec{BundlePath: home})
	must(t, n.Close())
	swap()
	if other, err := Open(n.dir, Options{}); !errors.As(err, damaged) || (*damaged).File != volumes {
		_ = other.Close()
		t.Errorf("a start: %v", err)
	}
	back()
	own := filepath.Join(n.state.Disks[0].Home(n.dir), bundle.VolumesDir)
	must(t, errors.Join(os.Rename(own, own+"-aside"), os.Symlink(outside, own)))
	if other, err := Open(n.dir, Options{}); !errors.As(err, damaged) || (*damaged).File != own {
		_ = other.Close()
		t.Errorf("a start with a link in the state directory: %v", err)
	}
	must(t, errors.Join(os.Remove(own), os.Rename(own+"-aside", own)))
	n = openNode(t, n.dir, Options{})
	swap()
	if path, err := n.HostPath(volume + "precious"); err == nil {
		t.Errorf("a path leads to %s", path)
	}
	// As a format does.
	if err := n.withDisk(number, func(d *disk) error { return d.image.Empty(id) }); !errors.As(err,
		damaged) {
		t.Errorf("emptied: %v", err)
	}
	for _, path := range []string{precious, dropped} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("outside: %v", err)
		}
	}
	back()
	if path := hostPath(t, n, volume); filepath.Dir(path) != volumes {
		t.Errorf("afterwards the volume is in %s", path)
	}
}
