// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"

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

func askClones(q *inquiry) {
	const offline, readOnly = win32.DISK_ATTRIBUTE_OFFLINE, win32.DISK_ATTRIBUTE_READ_ONLY
	answers := note(q, map[string]clone{})
	for order, masks := range map[string][]uint64{
		"online, then writable": {offline, readOnly}, "writable, then online": {readOnly, offline},
		"both in one call": {offline | readOnly},
	} {
		answers[order] = clone{}
		answers[order] = q.bringUpClone(masks)
	}
}

// bringUpClone makes a disk and its clone, and clears the clone's attributes, one mask after the other.
func (q *inquiry) bringUpClone(masks []uint64) (answer clone) {
	q.Helper()
	parent := q.attach()
	q.partition(parent.Number(), noLetter)
	d := q.attach()
	h := q.openDisk(d.Number())
	// A disk that comes up read-only could not be written to.
	_ = setAttributes(h, 0, win32.DISK_ATTRIBUTE_OFFLINE|win32.DISK_ATTRIBUTE_READ_ONLY)
	_ = h.Close()
	original := q.openDisk(parent.Number())
	defer original.Close()
	content := make([]byte, mib)
	for _, table := range []int64{0, gib - mib} { // a GPT and its backup
		_, err := original.ReadAt(content, table)
		q.check(err)
		q.check(d.Write(table, content))
	}
	q.check(errors.Join(d.Detach(), d.Attach()))
	h = q.openDisk(d.Number())
	defer h.Close()
	answer.Arrived = q.attributes(h)
	for _, mask := range masks {
		answer.Calls = append(answer.Calls, verdict(setAttributes(h, 0, mask)))
	}
	answer.Then = q.attributes(h)
	answer.OwnIdentity = q.layout(h).DiskID != q.layout(original).DiskID
	return answer
}
