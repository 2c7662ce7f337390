// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Spec describes a disk: in a scenario file, to AttachDisk, and as part of its record in node.json.
type Spec struct {
	// bytes, or a text such as 10GiB: whole sectors, at least 4 MiB; required except for the system disk and an image
	SizeBytes    setting.Size `yaml:"size" json:"-"`
	SerialNumber string       `json:"serial"` // printable ASCII
	// of an NVMe disk: at most 40 printable ASCII characters, of which the device path has 16
	Model       string              `json:"model,omitempty"`
	Identifiers setting.Identifiers `json:"identifiers,omitempty"` // page 83 identifiers, in order
	// `scsi`, the default, `ata`, `fibre`, `usb`, `raid`, `iscsi`, `sas`, `sata`, `virtual`, `filebackedvirtual`,
	// `spaces`, `nvme`
	BusType setting.BusType `json:"busType"`
	Adapter uint8           `json:"adapter"` // 0 to 255; iSCSI disks have adapter 2
	Bus     uint8           `json:"bus"`     // 0 to 255
	Target  uint8           `json:"target"`  // 0 to 255
	LUN     uint8           `json:"lun"`     // 0 to 255; left out: the lowest free one
	// instead of LUN: the lowest free one of the adapter, bus and target
	LUNAuto    bool   `yaml:"-" json:"-"`
	SectorSize uint32 `json:"sectorSize"`          // 512, the default, or 4096
	Offline    bool   `json:"offline"`             // how it arrives; not the system disk
	ReadOnly   bool   `json:"readOnly"`            // how it arrives; not the system disk
	Protected  bool   `json:"protected,omitempty"` // the device itself refuses writes; not the system disk

	// `raw`, the default, or `formatted`, one volume, for which it needs 64 MiB; not an image
	Formatted  setting.Formatted  `yaml:"content" json:"-"`
	FileSystem setting.FileSystem `yaml:"fileSystem" json:"-"` // `NTFS`, the default, or `exFAT`, without reparse points
	Table      setting.Table      `yaml:"table" json:"-"`      // `gpt`, the default, or `mbr`: no reserved partition
	// a formatted disk of 256 MiB or more gets a boot partition, of EFI or, with an MBR, an active one; Windows boots from
	// the first such disk, else from the system disk
	Boot   bool   `yaml:"boot" json:"-"`
	Letter string `yaml:"letter" json:"-"` // D to Z, for the volume of a formatted disk

	// ImagePath is a file with the disk's bytes, which is copied into the node, or a bundle or the image in one, as
	// DetachDisk returned it, which is used where it lies. Empty: a blank disk.
	ImagePath string `yaml:"-" json:"-"`

	// BundlePath is a bundle like ImagePath. If there is none, and the disk has a size, it is made as a blank disk.
	BundlePath string `yaml:"-" json:"-"`
}

// Record is a disk of the node. It does not keep from what the disk was made: size, content and image path.
type Record struct {
	Image  string `json:"image"` // name of the image, without directory and suffix
	Number uint32 `json:"number"`
	System bool   `json:"system,omitempty"`
	// where it lies, perhaps relative to the state directory; empty: a disk of the node's own
	Bundle string `json:"bundle,omitempty"`

	// ImageBytes is the size of the image: a shorter one, as an interrupted copy leaves it, has lost data.
	ImageBytes int64 `json:"imageBytes"`
	Spec
}

// minDiskBytes is the size of the smallest disk.
const minDiskBytes = 4 << 20

// Record returns the record of a disk that is added to others, with the lowest free number. One that arrives offline
// may be read-only besides.
func (s Spec) Record(others []Record, offlineReadOnly bool) (Record, error) {
	r := Record{Image: hostfiles.NewName(), Spec: s}
	r.BusType, r.SectorSize = cmp.Or(r.BusType, win32.BusTypeScsi), cmp.Or(r.SectorSize, 512)
	r.ReadOnly = s.ReadOnly || r.Offline && offlineReadOnly
	if err := r.check(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	r.ImageBytes = int64(r.SizeBytes)
	for slices.ContainsFunc(others, func(o Record) bool { return o.Number == r.Number }) {
		r.Number++
	}
	for slices.ContainsFunc(others, r.sameAddress) {
		if !s.LUNAuto || r.LUN == 255 {
			return r, fmt.Errorf("%w: adapter %d, bus %d, target %d, LUN %d is taken", ErrInvalid, r.Adapter,
				r.Bus, r.Target, r.LUN)
		}
		r.LUN++
	}
	return r, nil
}

// check refuses a disk that cannot be made.
func (s *Spec) check() error {
	printable := func(text string, most int) bool {
		return len(text) <= most && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
	}
	switch {
	case s.SectorSize != 512 && s.SectorSize != 4096:
		return fmt.Errorf("sectors of %d bytes, not 512 or 4096", s.SectorSize)
	case s.SizeBytes < minDiskBytes || s.SizeBytes > setting.MaxSize || int64(s.SizeBytes)%int64(s.SectorSize) != 0:
		return fmt.Errorf("a size of %d bytes is not whole sectors from 4 MiB to 16 TiB", s.SizeBytes)
	case s.Boot && s.SizeBytes < minBootBytes:
		return errors.New("a disk to boot from needs at least 256 MiB")
	case bool(s.Formatted) && (s.ImagePath != "" || s.SizeBytes < MinFormattedBytes):
		return errors.New("only a new disk of at least 64 MiB can be formatted")
	case len(s.Letter) > 1 || s.Letter != "" && (!bool(s.Formatted) || s.Letter < "D" || s.Letter > "Z"):
		return fmt.Errorf("the letter %q is not one from D to Z, or the disk is not formatted", s.Letter)
	case (s.Boot || s.FileSystem != setting.FileSystemNTFS) && !bool(s.Formatted):
		return errors.New("a disk to boot from, and one with a fileSystem, needs content: formatted")
	case !printable(s.SerialNumber, 255):
		return errors.New("the serial number must be at most 255 printable ASCII characters")
	case s.Model != "" && s.BusType != win32.BusTypeNvme:
		return errors.New("a model needs busType: nvme")
	case !printable(s.Model, 40):
		return errors.New("the model must be at most 40 printable ASCII characters")
	}
	for _, id := range s.Identifiers {
		if len(id.Identifier) == 0 || len(id.Identifier) > 255 {
			return fmt.Errorf("an identifier of %d bytes, not 1 to 255", len(id.Identifier))
		}
	}
	return nil
}

// sameAddress reports whether two disks cannot be attached together.
func (r Record) sameAddress(o Record) bool {
	return r.Adapter == o.Adapter && r.Bus == o.Bus && r.Target == o.Target && r.LUN == o.LUN
}

// ErrInvalid means that a Spec is not valid.
var ErrInvalid = errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "invalid disk")

// CompleteFromImage fills in the size of a disk that is a copy of an image.
func (s *Spec) CompleteFromImage() error {
	info, err := os.Lstat(s.ImagePath)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the image %s: %w", s.ImagePath, os.ErrNotExist)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", ErrInvalid, s.ImagePath)
	case s.SizeBytes == 0:
		s.SizeBytes = setting.Size(info.Size())
	case int64(s.SizeBytes) < info.Size():
		return fmt.Errorf("%w: %s has more than %d bytes", ErrInvalid, s.ImagePath, s.SizeBytes)
	}
	return nil
}
