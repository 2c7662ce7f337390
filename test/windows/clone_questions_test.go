// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func cloneQuestions() []Question {
	return []Question{
		{52, "How does a clone come up beside its parent, and in which order of its attributes does it come online and get " +
			"an identity of its own?", askClones},
	}
}

type clone struct {
	Arrived, Then attributes
	Calls         []string
	OwnIdentity   bool // not its parent's, in the end
}

func askClones(t testing.TB, s Subject) (any, error) {
	const offline, readOnly = win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_READ_ONLY
	answers := map[string]clone{}
	for order, masks := range map[string][]uint64{
		"online, then writable": {offline, readOnly}, "writable, then online": {readOnly, offline},
		"both in one call": {offline | readOnly},
	} {
		answer, err := bringUpClone(t, s, masks)
		if err != nil {
			return answers, fmt.Errorf("%s: %w", order, err)
		}
		answers[order] = answer
	}
	return answers, nil
}

// bringUpClone makes a disk and its clone, and clears the clone's attributes, one mask after the other.
func bringUpClone(t testing.TB, s Subject, masks []uint64) (answer clone, err error) {
	t.Helper()
	parent, err := s.Attach(t, gib, 0)
	if err != nil {
		return answer, err
	}
	if _, err := partitioned(s, parent); err != nil {
		return answer, err
	}
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return answer, err
	}
	h, err := openDisk(s, d)
	if err != nil {
		return answer, err
	}
	// A disk that comes up read-only could not be written to.
	_ = setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE|win32.DISK_ATTRIBUTE_READ_ONLY)
	_ = h.Close()
	original, err := openDisk(s, parent)
	if err != nil {
		return answer, err
	}
	defer original.Close()
	if err := copyTables(original, d); err != nil {
		return answer, err
	}
	if err := errors.Join(d.Detach(), d.Attach()); err != nil {
		return answer, err
	}
	if h, err = openDisk(s, d); err != nil {
		return answer, err
	}
	defer h.Close()
	if answer.Arrived, err = attributesOf(h); err != nil {
		return answer, err
	}
	for _, mask := range masks {
		answer.Calls = append(answer.Calls, verdict(setAttributes(h, 0, mask)))
	}
	if answer.Then, err = attributesOf(h); err != nil {
		return answer, err
	}
	theirs, err := layoutOf(original)
	if err != nil {
		return answer, err
	}
	own, err := layoutOf(h)
	answer.OwnIdentity = own.DiskID != theirs.DiskID
	return answer, err
}

// copyTables copies the first MiB of a disk of 1 GiB, and the last: both partition tables are there.
func copyTables(from kernel.Handle, to Disk) error {
	content := make([]byte, mib)
	for _, offset := range []int64{0, gib - mib} {
		if _, err := from.ReadAt(content, offset); err != nil {
			return err
		}
		if err := to.Write(offset, content); err != nil {
			return err
		}
	}
	return nil
}
