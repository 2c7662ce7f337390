// SPDX-License-Identifier: Apache-2.0

package ntfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// system is an existing file system, as far as Grow knows it.
type system struct {
	volume     io.ReaderAt
	boot       []byte // its first sector
	sector     uint32
	perCluster uint64 // sectors
	cluster    int64  // bytes
	clusters   int64
	recordSize int64
	mft        int64 // where it begins, and how many bytes are there
	mftBytes   int64
	mirror     int64
	mirrored   int64 // records in it

	bootSectorOnly bool // the rest was never written
}

// open reads the boot sector and the first record of the MFT. A boot sector says the most that it can; open believes it
// no sizes that Windows does not allow.
func open(volume io.ReaderAt) (*system, error) {
	s := &system{volume: volume, boot: make([]byte, 4096)}
	if err := s.readAt(s.boot[:512], 0); err != nil {
		return nil, err
	}
	s.sector = uint32(le.Uint16(s.boot[11:]))
	s.perCluster = uint64(s.boot[13])
	if s.perCluster > 128 {
		s.perCluster = 1 << min(256-s.perCluster, 63)
	}
	s.cluster = int64(s.perCluster) * int64(s.sector)
	if s.sector != 512 && s.sector != 4096 || !powerOfTwo(s.perCluster) || s.perCluster > 1<<12 {
		return nil, fmt.Errorf("a cluster has %d sectors of %d bytes", s.perCluster, s.sector)
	}
	s.boot = s.boot[:s.sector]
	if err := s.readAt(s.boot, 0); err != nil {
		return nil, err
	}
	s.recordSize = int64(int8(s.boot[64])) * s.cluster
	if s.recordSize < 0 {
		s.recordSize = 1 << min(-int(int8(s.boot[64])), 20)
	}
	if s.recordSize < 1024 || s.recordSize > 64<<10 || !powerOfTwo(uint64(s.recordSize)) {
		return nil, fmt.Errorf("a file record has %d bytes", s.recordSize)
	}
	s.clusters = int64(le.Uint64(s.boot[40:]) / s.perCluster)
	mft, mirror := int64(le.Uint64(s.boot[48:])), int64(le.Uint64(s.boot[56:]))
	if most := int64(1) << 50 / s.cluster; s.clusters < 1 || s.clusters > most || mft < 1 || mft >= s.clusters ||
		mirror < 1 || mirror >= s.clusters {
		return nil, fmt.Errorf("of %d clusters, the MFT is at %d and its copy at %d", s.clusters, mft, mirror)
	}
	s.mft, s.mftBytes, s.mirror = mft*s.cluster, s.recordSize, mirror*s.cluster
	s.mirrored = max(mirrored, s.cluster/s.recordSize)
	return s, s.openMFT()
}

// openMFT learns how much of the MFT is where it begins.
func (s *system) openMFT() error {
	first := make([]byte, s.recordSize)
	if err := s.readAt(first, s.mft); err != nil {
		return err
	}
	if bytes.Equal(first, make([]byte, len(first))) {
		s.bootSectorOnly = true
		return nil
	}
	r, err := s.record(0)
	if err != nil {
		return fmt.Errorf("$MFT: %w", err)
	}
	_, runs, err := s.attributeRuns(r, "", s.clusters)
	if err != nil {
		return fmt.Errorf("$MFT: %w", err)
	}
	if runs[0].first*s.cluster != s.mft {
		return errors.New("$MFT: it is not where the boot sector says")
	}
	s.mftBytes = runs[0].count * s.cluster
	return nil
}

// clean returns an error if something is left to be repaired or written to its place.
func (s *system) clean(clusters int64) error {
	r, err := s.record(fileVolume)
	if err != nil {
		return fmt.Errorf("$Volume: %w", err)
	}
	a, err := find(r, typeVolumeInformation, "")
	if err != nil {
		return fmt.Errorf("$Volume: %w", err)
	}
	const dirty, checking = 0x0001, 0x4000
	value := a + int(le.Uint16(r[a+20:]))
	if r[a+8] != 0 || value > len(r)-12 {
		return errors.New("$Volume: its version is not there")
	}
	if flags := le.Uint16(r[value+10:]); flags&(dirty|checking) != 0 {
		return fmt.Errorf("the volume waits for chkdsk: flags %#x", flags)
	}
	if r, err = s.record(fileLog); err != nil {
		return fmt.Errorf("$LogFile: %w", err)
	}
	_, runs, err := s.attributeRuns(r, "", clusters)
	if err != nil {
		return fmt.Errorf("$LogFile: %w", err)
	}
	pages := make([]byte, 2*logPage)
	if err := s.read(pages, runs, 0); err != nil {
		return fmt.Errorf("$LogFile: %w", err)
	}
	if !logIsClean(pages) {
		return errors.New("$LogFile has changes that were not made yet")
	}
	return nil
}

// record reads a file record, which is in use, near the beginning of the MFT, and complete.
func (s *system) record(number int64) ([]byte, error) {
	if (number+1)*s.recordSize > s.mftBytes {
		return nil, errors.New("its file record is not at the beginning of the MFT")
	}
	r := make([]byte, s.recordSize)
	if err := s.readAt(r, s.mft+number*s.recordSize); err != nil {
		return nil, err
	}
	if err := unprotect(r, "FILE"); err != nil {
		return nil, err
	}
	if used := le.Uint32(r[0x18:]); le.Uint16(r[0x16:])&recordInUse == 0 || used > uint32(len(r)) || used < 0x38 {
		return nil, errTorn
	}
	if _, err := find(r, typeAttributeList, ""); err == nil {
		return nil, errors.New("it has more than one file record")
	}
	return r, nil
}

// recordBlocks returns the blocks of a changed record, and of its copy if it has one.
func (s *system) recordBlocks(number int64, r []byte) []Block {
	protect(r)
	at := number * s.recordSize
	blocks := []Block{{s.mft + at, s.recordSize, r}}
	if number < s.mirrored {
		blocks = append(blocks, Block{s.mirror + at, s.recordSize, r})
	}
	return blocks
}

var errNoAttribute = errors.New("an attribute is missing")

// find returns the place of an attribute in a record.
func find(r []byte, kind uint32, name string) (int, error) {
	used := int(le.Uint32(r[0x18:]))
	for at := int(le.Uint16(r[0x14:])); at+24 <= used; {
		length := int(le.Uint32(r[at+4:]))
		if le.Uint32(r[at:]) == typeEnd || length < 24 || length%8 != 0 || length > used-at {
			break
		}
		from, size := at+int(le.Uint16(r[at+10:])), int(r[at+9])*2
		if le.Uint32(r[at:]) == kind && from+size <= at+length && string(r[from:from+size]) == string(utf16Bytes(name)) {
			return at, nil
		}
		at += length
	}
	return 0, errNoAttribute
}

// attributeRuns returns the place of the data of that name in a record, and the clusters that it has.
func (s *system) attributeRuns(r []byte, name string, clusters int64) (int, []run, error) {
	a, err := find(r, typeData, name)
	if err != nil {
		return 0, nil, err
	}
	length := int(le.Uint32(r[a+4:]))
	if r[a+8] != 1 || length < 64 {
		return 0, nil, errors.New("its data is in its file record")
	}
	pairs := int(le.Uint16(r[a+32:]))
	if pairs < 64 || pairs > length || le.Uint64(r[a+16:]) != 0 {
		return 0, nil, errTorn
	}
	runs, err := decodeRuns(r[a+pairs:a+length], clusters)
	if err == nil && len(runs) == 0 {
		err = errRuns
	}
	return a, runs, err
}

// read reads bytes of a file.
func (s *system) read(b []byte, runs []run, offset int64) error {
	for _, r := range runs {
		size := r.count * s.cluster
		if offset < size && r.first != hole && int64(len(b)) <= size-offset {
			return s.readAt(b, r.first*s.cluster+offset)
		}
		offset -= size
	}
	return errors.New("it is too short or too scattered")
}

func (s *system) readAt(b []byte, offset int64) error {
	if n, err := s.volume.ReadAt(b, offset); n < len(b) {
		return err
	}
	return nil
}

func powerOfTwo(n uint64) bool { return n > 0 && n&(n-1) == 0 }
