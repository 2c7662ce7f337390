// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A bundle is a disk outside a node, as a cloud keeps it: a directory with the disk's bytes, its identity and the files
// of its volumes. A node uses an attached bundle where it lies and never moves it.
//
//	disk.img      the image
//	disk.json     what the disk says of itself
//	disk.journal  an unfinished change of the image, as of the node's own disks
//	volumes/GUID/ the files of a volume
//	attached.json the state directories of the nodes that have it attached
//	lock          held while a node attaches the bundle
//	lock.image    held while a node changes the image
const (
	bundleSuffix  = ".disk"
	bundleImage   = "disk.img"
	bundleFile    = "disk.json"
	bundleJournal = "disk.journal"
	bundleHolders = "attached.json"
	bundleLock    = "lock"
	imageLock     = "lock.image"
)

// bundleFormat is the version of disk.json that this program writes, and the newest that it reads.
const bundleFormat = 1

// maxBundleFile is more bytes than disk.json and attached.json have.
const maxBundleFile = 1 << 20

// bundleInfo is the content of disk.json.
type bundleInfo struct {
	Format       int         `json:"format"`
	SizeBytes    Size        `json:"sizeBytes"` // the image has at least as many
	SerialNumber string      `json:"serial"`
	Model        string      `json:"model,omitempty"`
	Identifiers  Identifiers `json:"identifiers,omitempty"`
	BusType      BusType     `json:"busType"`
	SectorSize   uint32      `json:"sectorSize"`
}

func newBundleInfo(r *diskState, sizeBytes int64) bundleInfo {
	return bundleInfo{
		Format: bundleFormat, SizeBytes: Size(sizeBytes), SerialNumber: r.SerialNumber, Model: r.Model,
		Identifiers: r.Identifiers, BusType: r.BusType, SectorSize: r.SectorSize,
	}
}

func (h *host) writeBundleInfo(home string, info bundleInfo) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return h.writeFile(filepath.Join(home, bundleFile), append(text, '\n'))
}

// readBundleInfo reads disk.json. If it is missing, the error is os.ErrNotExist.
func readBundleInfo(home string) (info bundleInfo, err error) {
	err = readOwn(filepath.Join(home, bundleFile), maxBundleFile,
		"restore it from a copy, or attach "+bundleImage+" from another directory, without its files",
		func(text []byte) error {
			err := json.Unmarshal(text, &info)
			if err == nil && (info.Format < 1 || info.Format > bundleFormat) {
				err = fmt.Errorf("it has format %d; this program reads format %d", info.Format, bundleFormat)
			}
			return err
		})
	return info, err
}

// bundleAt returns the bundle that a path names: its directory, or the image in it.
func bundleAt(path string) (home string, ok bool) {
	if path == "" {
		return "", false
	}
	if filepath.Base(path) == bundleImage {
		path = filepath.Dir(path)
	}
	_, err := os.Lstat(filepath.Join(path, bundleFile))
	return path, err == nil
}

// complete fills in what a bundle says of its disk and the caller of AttachDisk leaves open.
func (info *bundleInfo) complete(spec *DiskSpec, home string) error {
	path := filepath.Join(home, bundleImage)
	image, err := os.Lstat(path)
	if err != nil {
		return err
	}
	size, problem := Size(image.Size()), ""
	switch {
	case !image.Mode().IsRegular():
		problem = "it is not a regular file"
	case size < info.SizeBytes:
		problem = fmt.Sprintf("it was cut off: it has %d bytes and had %d; restore it from a copy", size, info.SizeBytes)
	case spec.SizeBytes > size: // it may have grown since it was made
		problem = fmt.Sprintf("it has %d bytes, not %d", size, spec.SizeBytes)
	case bool(spec.Formatted):
		problem = "only a new disk can be formatted"
	case spec.SectorSize != 0 && spec.SectorSize != info.SectorSize:
		problem = fmt.Sprintf("it has sectors of %d bytes", info.SectorSize)
	}
	if problem != "" {
		return fmt.Errorf("%w: %s: %s", ErrInvalidSpec, path, problem)
	}
	spec.SizeBytes, spec.SectorSize = size, info.SectorSize
	spec.SerialNumber, spec.BusType = cmp.Or(spec.SerialNumber, info.SerialNumber), cmp.Or(spec.BusType, info.BusType)
	spec.Model = cmp.Or(spec.Model, info.Model)
	if len(spec.Identifiers) == 0 {
		spec.Identifiers = info.Identifiers
	}
	return nil
}

// createBundle makes a blank disk as a bundle. It appears under its name only when it is complete.
func (h *host) createBundle(home string, spec *DiskSpec) error {
	r, err := spec.record(nil, Switches{})
	if err != nil {
		return err
	}
	making := home + newSuffix
	for _, step := range []func() error{
		func() error { return h.removeAll(making) }, // an earlier try
		func() error { return h.mkdirAll(filepath.Join(making, volumesDir), 0o700) },
		func() error { return h.createImageAt(filepath.Join(making, bundleImage), int64(spec.SizeBytes)) },
		func() error { return h.writeBundleInfo(making, newBundleInfo(&r, int64(spec.SizeBytes))) },
		func() error { return h.rename(making, home) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
