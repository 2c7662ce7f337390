// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	csiproxy "github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// A Condition is how a volume is. A driver answers it in NodeGetVolumeStats, up to CSI 1.12, or NodeGetVolumeHealth:
//
//	&csi.VolumeCondition{Abnormal: c.Abnormal, Message: c.Message}
//	&csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_INACCESSIBLE,
//		Reason: c.Reason(), Message: c.Message}
type Condition struct {
	Abnormal bool
	Message  string // for people
	// Cause is the kind of what is wrong, for errors.Is: csiproxy.ErrNotMounted, csiproxy.ErrDiskNotFound,
	// csiproxy.ErrDamaged, csiproxy.ErrNotFormatted, csiproxy.ErrNearlyFull. Nil if nothing is.
	Cause error
}

// The bounds of csiproxy.ErrNearlyFull.
const (
	nearlyFullPart  = 20
	nearlyFullBytes = 1 << 30
)

// causes are the kinds of what can be wrong with a volume, by the reasons that stand for them in answers.
func causes() map[string]error {
	return map[string]error{
		reason.NotMounted: csiproxy.ErrNotMounted, reason.DiskNotFound: csiproxy.ErrDiskNotFound,
		"DISK_CORRUPT":      csiproxy.ErrDamaged,
		reason.NotFormatted: csiproxy.ErrNotFormatted, reason.NearlyFull: csiproxy.ErrNearlyFull,
	}
}

// Reason returns the reason that stands for the cause: NOT_MOUNTED and so on. It is empty if nothing is wrong.
func (c Condition) Reason() string {
	for name, cause := range causes() {
		if c.Abnormal && c.Cause == cause { //nolint:errorlint // a cause is one of these itself
			return name
		}
	}
	return ""
}

// Condition returns the condition of the volume that is mounted or linked at a path. It finds
//
//   - a mount point whose disk is gone or offline,
//   - a link that leads nowhere: to a mount point that is gone, or to a share that is not mapped, whose server does not
//     answer within ten seconds or refuses the mapping's credentials, or that has no such directory any more,
//   - a directory at which nothing is mounted,
//   - a volume without a file system, or with one that Windows says is damaged,
//   - a volume that is nearly full.
//
// The API has no call that shows a read-only disk or file system, or NTFS that is marked dirty but still answers. Such
// volumes are normal here, and so is a full share, which Usage shows. A path that does not exist is fs.ErrNotExist, as NodeGetVolumeStats
// must tell it from an abnormal volume. Other errors say that the condition is not known. It changes nothing.
func (m *Mounter) Condition(ctx context.Context, path string) (Condition, error) {
	path = windowsPath(path)
	if condition, done, err := m.conditionInOneCall(ctx, path); done {
		return condition, err
	}
	leads, err := m.client.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: path})
	if err != nil {
		if exists, failure := m.exists(ctx, path); failure == nil && !exists {
			err = &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
		}
		return Condition{}, err
	}
	there, err := m.at(ctx, path)
	switch {
	case err != nil:
		return Condition{}, err
	case there.gone:
		return abnormal(csiproxy.ErrDiskNotFound, "the disk of volume %s, mounted at %s, is gone or offline",
			there.volume, path), nil
	case there.volume == "" && leads.GetIsSymlink(): // a share that answers
		return Condition{Message: "the volume is mounted"}, nil
	case there.volume == "":
		return abnormal(csiproxy.ErrNotMounted, "nothing is mounted at %s, or what it leads to cannot be reached", path), nil
	}
	usage, err := m.usage(ctx, there.volume)
	switch {
	case errors.Is(err, csiproxy.ErrDamaged):
		return abnormal(csiproxy.ErrDamaged, "%v", err), nil
	case err != nil:
		return Condition{}, err
	case usage.Total == 0:
		return abnormal(csiproxy.ErrNotFormatted, "volume %s, mounted at %s, has no file system that Windows knows",
			there.volume, path), nil
	case usage.Available < nearlyFullBytes && usage.Available < usage.Total/nearlyFullPart:
		return abnormal(csiproxy.ErrNearlyFull, "%d of %d bytes are available at %s", usage.Available, usage.Total, path), nil
	}
	return Condition{Message: "the volume is mounted"}, nil
}

func abnormal(cause error, format string, args ...any) Condition {
	return Condition{Abnormal: true, Message: fmt.Sprintf(format, args...), Cause: cause}
}
