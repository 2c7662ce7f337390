// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/signature"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// mayBePartitioned refuses a disk that has no data partition and still is not blank. The one exception is a GPT with at
// most the Microsoft Reserved partition and nothing else on the disk: an interrupted PartitionDisk or a freshly
// initialised disk looks like that, and losing it loses nothing.
func (d *disk) mayBePartitioned(layout win32.DriveLayout) error {
	geometry, err := d.geometry()
	if err != nil {
		return err
	}
	found, err := d.contentBeside(layout, geometry.DiskSize)
	if err != nil {
		return err
	}
	if found == "" {
		return nil
	}
	return errdefs.FailedPrecondition.Errorf(reason.DiskNotBlank,
		"disk %d is not blank: it holds %s; it is left as it is, so that nothing is lost. If its content is not needed, "+
			"clear all of it, as diskpart's clean all does, not only its beginning", d.number, found)
}

// contentBeside names what a disk of a size holds beside its partitions; "": it is blank.
func (d *disk) contentBeside(layout win32.DriveLayout, size int64) (string, error) {
	probes := probesOf(size)
	switch layout.Style {
	case win32.PARTITION_STYLE_GPT:
		var err error
		if probes, err = unusedProbes(layout, size); err != nil {
			return "", noRoom(d.number, err)
		}
	case win32.PARTITION_STYLE_MBR:
		if !hasNoTable(layout) {
			return "an MBR partition table", nil
		}
	}
	found, err := contentOf(d, operation.Disk(d.number), probes)
	return found, errdefs.Errorf(err, "looking at what disk %d holds", d.number)
}

// hasNoTable reports whether a disk has no partition table. Windows calls it raw or, on some media, MBR with neither an
// id nor an entry.
func hasNoTable(layout win32.DriveLayout) bool {
	used := func(p win32.Partition) bool { return p.Length != 0 || p.MBRType != 0 }
	return layout.Style == win32.PARTITION_STYLE_RAW || layout.Style == win32.PARTITION_STYLE_MBR &&
		layout.Signature == 0 && !slices.ContainsFunc(layout.Partitions, used)
}

// unusedProbes returns the regions to check of a GPT disk without a data partition: those of the whole disk, and those
// of the data partition that would be made. The table itself and the Microsoft Reserved partition are left out.
func unusedProbes(layout win32.DriveLayout, size int64) ([]span, error) {
	_, data, err := win32.PlanDataPartition(layout, msrLength, guid.NewV4)
	if err != nil {
		return nil, err
	}
	probes := probesOf(size)
	for _, p := range placesOf(data.Length) {
		probes = append(probes, span{data.StartingOffset + p.start, data.StartingOffset + p.end})
	}
	end := layout.StartingUsableOffset + layout.UsableLength
	used := []span{{0, layout.StartingUsableOffset}, {end, size}}
	for _, p := range layout.Partitions {
		used = append(used, span{p.StartingOffset, p.StartingOffset + p.Length})
	}
	return subtract(merge(probes), used), nil
}

// blankTime limits the check of one disk or volume, after which it counts as not blank. A read that hangs goes on.
const blankTime = 20 * time.Second

// contentOf names the content of the given parts of a disk or volume, or returns "" when they are all zero.
func contentOf(h kernel.Handle, what operation.Object, probes []span) (string, error) {
	began := time.Now()
	buffer := make([]byte, 1<<20)
	for _, p := range probes {
		for at := p.start; at < p.end; at += int64(len(buffer)) {
			if time.Since(began) > blankTime {
				return "", errdefs.DeadlineExceeded.Errorf(reason.NotSeenBlank,
					"%s is read too slowly: %v were not enough to see whether it is blank, so it is left as it is; try again", what,
					blankTime)
			}
			content := buffer[:min(int64(len(buffer)), p.end-at)]
			if n, err := h.ReadAt(content, at); err != nil && !(errors.Is(err, io.EOF) && n == len(content)) {
				return "", fmt.Errorf("reading %d bytes at %d: %w", len(content), at, err)
			}
			if found := signature.Describe(content, at); found != "" {
				return found, nil
			}
		}
	}
	return "", nil
}
