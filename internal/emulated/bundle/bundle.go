// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Every disk of a node is a directory. One that says of itself what it is, as all that were detached do, is a bundle: a
// disk as a cloud keeps it. A node uses an attached bundle where it lies and never moves it.
//
//	disk.img      the image
//	disk.json     what the disk says of itself
//	volumes/GUID/ the files of a volume, as plain files
//	attached      the state directory of the node that attached the bundle last
const (
	Suffix     = ".disk"
	ImageFile  = "disk.img"
	InfoFile   = "disk.json"
	HolderFile = "attached"
)

// infoFormat is the version of disk.json that this program writes and reads.
const infoFormat = 1

// maxInfoBytes is more bytes than disk.json has.
const maxInfoBytes = 1 << 20

// Info is the content of disk.json.
type Info struct {
	Format int          `json:"format"`
	Size   setting.Size `json:"sizeBytes"` // the image has at least as many bytes
	Spec                // its address is that of the last node
}

// WriteInfo makes the directory of a disk a bundle.
func WriteInfo(h *hostfiles.Host, home string, r *Record, sizeBytes int64) error {
	return h.WriteJSON(filepath.Join(home, InfoFile), Info{infoFormat, setting.Size(sizeBytes), r.Spec})
}

// ReadInfo reads disk.json. If it is missing, the error is os.ErrNotExist.
func ReadInfo(home string) (info Info, err error) {
	err = hostfiles.ReadOwn(filepath.Join(home, InfoFile), maxInfoBytes,
		"restore it from a copy, or attach "+ImageFile+" from another directory, without its files",
		func(text []byte) error {
			err := json.Unmarshal(text, &info)
			if err == nil && info.Format != infoFormat {
				err = fmt.Errorf("it has format %d; this program reads format %d", info.Format, infoFormat)
			}
			return err
		})
	return info, err
}

// At returns the bundle that a path names: its directory, or the image in it.
func At(path string) (home string, ok bool) {
	if path == "" {
		return "", false
	}
	if filepath.Base(path) == ImageFile {
		path = filepath.Dir(path)
	}
	_, err := os.Lstat(filepath.Join(path, InfoFile))
	return path, err == nil
}

// Complete fills in what a bundle says of its disk and the caller of AttachDisk leaves open.
func (info *Info) Complete(spec *Spec, home string) error {
	path := filepath.Join(home, ImageFile)
	image, err := os.Lstat(path)
	if err != nil {
		return err
	}
	size, problem := setting.Size(image.Size()), ""
	switch {
	case !image.Mode().IsRegular():
		problem = "it is not a regular file"
	case size < info.Size:
		problem = fmt.Sprintf("it was cut off: it has %d bytes and had %d; restore it from a copy", size, info.Size)
	case spec.SizeBytes > size: // it may have grown since it was made
		problem = fmt.Sprintf("it has %d bytes, not %d; leave the size out and grow the attached disk, or copy the image",
			size, spec.SizeBytes)
	case bool(spec.Formatted):
		problem = "only a new disk can be formatted"
	case spec.SectorSize != 0 && spec.SectorSize != info.SectorSize:
		problem = fmt.Sprintf("it has sectors of %d bytes", info.SectorSize)
	}
	if problem != "" {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, path, problem)
	}
	spec.SizeBytes, spec.SectorSize = size, info.SectorSize
	spec.SerialNumber, spec.BusType = cmp.Or(spec.SerialNumber, info.SerialNumber), cmp.Or(spec.BusType, info.BusType)
	spec.Model = cmp.Or(spec.Model, info.Model)
	if len(spec.Identifiers) == 0 {
		spec.Identifiers = info.Identifiers
	}
	return nil
}

// Make makes the directory of a disk, apart from the node as a bundle. It appears under its name only when it is
// complete. The result is the volume of a disk that is formatted.
func Make(h *hostfiles.Host, home string, r Record, apart bool) (id guid.GUID, err error) {
	temporary := home + newSuffix
	if err := h.RemoveAll(temporary); err != nil { // an earlier try
		return id, err
	}
	if err := h.MkdirAll(filepath.Join(temporary, VolumesDir), 0o700); err != nil {
		return id, err
	}
	if err := createImage(h, filepath.Join(temporary, ImageFile), r); err != nil {
		return id, err
	}
	if r.Formatted {
		if id, err = createFormattedDisk(h, temporary, r); err != nil {
			return id, err
		}
	}
	if apart {
		if err := WriteInfo(h, temporary, &r, int64(r.SizeBytes)); err != nil {
			return id, err
		}
	}
	return id, h.Rename(temporary, home)
}

// ErrAttachedElsewhere means that another node has a bundle attached.
var ErrAttachedElsewhere = errors.New("the disk is attached to another node")

// Claim notes in a bundle that the node of a state directory has it attached, unless another node has it. The note only
// says where to look: a node has a bundle attached if its node.json says so, which attached looks at. So a detach
// changes nothing here, and nothing that a death leaves is ever wrong.
func Claim(h *hostfiles.Host, home, stateDir string, attached func(stateDir, home string) (bool, error)) error {
	file, noted := filepath.Join(home, HolderFile), ""
	err := hostfiles.ReadOwn(file, maxInfoBytes, "remove it if no node has the bundle attached", func(text []byte) error {
		noted = strings.TrimSuffix(string(text), "\n")
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case noted == stateDir:
		return nil
	case filepath.IsAbs(noted):
		if elsewhere, err := attached(noted, home); err != nil {
			return err
		} else if elsewhere {
			return fmt.Errorf("%w: %s to the one in %s; detach it there", ErrAttachedElsewhere, home, noted)
		}
	}
	return h.WriteFile(file, []byte(stateDir+"\n"))
}

// DiskHome returns where the directory of a new disk is in the state directory.
func DiskHome(image string) string { return filepath.Join(DisksDir, image+Suffix) }

// Home returns the directory of a disk.
func (r *Record) Home(stateDir string) string {
	home := cmp.Or(r.Bundle, DiskHome(r.Image))
	if filepath.IsAbs(home) {
		return home
	}
	return filepath.Join(stateDir, home)
}
