// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/signature"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// probeLength is how much of the beginning and of the end of a disk or volume must be zero for it to count as blank.
// Every partition table, file system and volume manager in use leaves a mark there.
const probeLength = 1 << 20

// mayBePartitioned refuses a disk that has no data partition and still is not blank. The one exception is a GPT with at
// most the Microsoft Reserved partition and nothing else on the disk: an interrupted PartitionDisk or a freshly
// initialised disk looks like that, and losing it loses nothing.
func (d *disk) mayBePartitioned(layout win32.DriveLayout) error {
	geometry, err := d.geometry()
	if err != nil {
		return fail(err, "reading the size of disk %d", d.number)
	}
	probes := []span{{0, probeLength}, {geometry.DiskSize - probeLength, geometry.DiskSize}}
	found := ""
	switch layout.Style {
	case win32.PARTITION_STYLE_GPT:
		if probes, err = unusedSpans(layout); err != nil {
			return noRoom(d.number, err)
		}
	case win32.PARTITION_STYLE_MBR:
		// Some blank media read back as an MBR without a signature or entries.
		if used := func(p win32.Partition) bool { return p.Length != 0 || p.MBRType != 0 }; layout.Signature != 0 || slices.ContainsFunc(layout.Partitions, used) {
			found = "an MBR partition table"
		}
	}
	if found == "" {
		if found, err = contentOf(d, probes, geometry.DiskSize); err != nil {
			return fail(err, "looking at what disk %d holds", d.number)
		}
	}
	if found == "" {
		return nil
	}
	return errorf(FailedPrecondition, reason.DiskNotBlank,
		"disk %d is not blank: it holds %s; it is left as it is, so that nothing is lost. Clear the disk if its content is not needed", d.number, found)
}

// span is a range of bytes, end excluded.
type span struct{ start, end int64 }

// unusedSpans returns the parts of a GPT disk that no partition occupies and where data would show: the beginning and
// the end of the usable area, and the place where a data partition would begin.
func unusedSpans(layout win32.DriveLayout) ([]span, error) {
	_, data, err := win32.PlanDataPartition(layout, msrLength, guid.NewV4)
	if err != nil {
		return nil, err
	}
	start, end := layout.StartingUsableOffset, layout.StartingUsableOffset+layout.UsableLength
	head := start + probeLength
	for _, p := range layout.Partitions {
		head = min(head, p.StartingOffset)
	}
	return []span{{start, head}, {data.StartingOffset, data.StartingOffset + probeLength}, {end - probeLength, end}}, nil
}

// contentOf names the content of the given parts of a disk or volume, or returns "" when they are all zero.
func contentOf(h kernel.Handle, probes []span, size int64) (string, error) {
	for _, probe := range probes {
		probe.start, probe.end = max(probe.start, 0), min(probe.end, size)
		if probe.end <= probe.start {
			continue
		}
		content := make([]byte, probe.end-probe.start)
		if n, err := h.ReadAt(content, probe.start); err != nil && !(errors.Is(err, io.EOF) && n == len(content)) {
			return "", fmt.Errorf("reading %d bytes at %d: %w", len(content), probe.start, err)
		}
		if found := signature.Describe(content, probe.start); found != "" {
			return found, nil
		}
	}
	return "", nil
}
