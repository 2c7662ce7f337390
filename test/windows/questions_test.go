// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// A Question is one that Microsoft's pages leave open and on which this project's code relies. Its answer is not
// asserted: it is logged beside the emulated node's, and a person reads it.
type Question struct {
	Number int // R1, R2 and so on, in the order in which they arose
	Text   string
	ask    func(q *inquiry)
}

// A Subject is the node to which questions are put.
type Subject struct {
	Kernel kernel.Kernel // which changes no other disk than Disks
	Disks  *machine.Disks

	// Attach gives the node a new blank disk until the test ends. The sector size is in bytes; 0 is 512.
	Attach func(t testing.TB, bytes int64, sectorSize uint32) Disk

	// Share and Target give the node a share and an iSCSI target until the test ends, and Stranger a share of the same
	// server, for another account.
	Share, Stranger func(t testing.TB) Share
	Target          func(t testing.TB) Target

	// Drop ends the sessions that the server of a share has for the share's account.
	Drop func(Share) error

	// Initiator starts the iSCSI initiator of a node that is not only the test's, until the test ends; nil: it is.
	Initiator func(t testing.TB)

	// Timeout is how long a volume or partition may take to arrive.
	Timeout time.Duration
}

// A Disk is one that a Subject has attached.
type Disk interface {
	Number() uint32
	Grow(bytes int64) (how string, err error) // to a new total size; its number may differ afterwards
	Write(offset int64, content []byte) error
	Detach() error // surprise removal
	Attach() error // after Detach
}

// guarded makes a subject change only the disks that it attaches.
func guarded(s Subject) Subject {
	s.Disks = &machine.Disks{}
	s.Kernel = s.Disks.Guard(s.Kernel)
	attach := s.Attach
	s.Attach = func(t testing.TB, bytes int64, sectorSize uint32) Disk {
		t.Helper()
		d := attach(t, bytes, sectorSize)
		s.Disks.Add(d.Number(), machine.Identity{})
		return ownDisk{d, s.Disks}
	}
	return s
}

// An ownDisk is one that a guarded subject attached. While it is detached, its number may be another one's.
type ownDisk struct {
	Disk
	all *machine.Disks
}

func (d ownDisk) Grow(bytes int64) (string, error) {
	d.all.Remove(d.Number())
	how, err := d.Disk.Grow(bytes)
	d.all.Add(d.Number(), machine.Identity{})
	return how, err
}

func (d ownDisk) Detach() error {
	d.all.Remove(d.Number())
	return d.Disk.Detach()
}

func (d ownDisk) Attach() error {
	err := d.Disk.Attach()
	if err == nil {
		d.all.Add(d.Number(), machine.Identity{})
	}
	return err
}

// An Answer is a node's answer.
type Answer struct {
	Status string // "answered", "not asked" or "failed"
	Answer any
	Reason string // why it was not asked, or how it failed
}

func (a Answer) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %+v %s", a.Status, a.Answer, a.Reason))
}

// questionLimit is how long a question may take.
const questionLimit = 4 * time.Minute

// Ask asks a question. A failure is an answer as well, also to hang or to panic: it ends neither the test nor the other
// questions.
func (q Question) Ask(t testing.TB, s Subject) Answer {
	t.Helper()
	answers := make(chan Answer, 1)
	go func() {
		r := &recorder{TB: t, failure: errors.New("it ended the test")}
		i := &inquiry{TB: r, Subject: s}
		defer func() {
			if broken := recover(); broken != nil {
				r.failure = fmt.Errorf("panic: %v", broken)
			}
			a := Answer{Status: "answered", Answer: i.noted}
			var unavailable Unavailable
			switch {
			case errors.As(r.failure, &unavailable):
				a.Status, a.Reason = "not asked", string(unavailable)
			case r.failure != nil:
				a.Status, a.Reason = "failed", r.failure.Error()
			}
			answers <- a
		}()
		q.ask(i)
		r.failure = nil
	}()
	select {
	case answer := <-answers:
		return answer
	case <-time.After(questionLimit):
		return Answer{Status: "failed", Reason: fmt.Sprintf("it did not end in %v", questionLimit)}
	}
}

// Questions returns all of them, those that this system cannot be asked included.
func Questions() []Question {
	return slices.Concat(portableQuestions(), machineQuestions())
}

// portableQuestions returns the questions that can be put to an emulated node as well.
func portableQuestions() []Question {
	return slices.Concat(privilegeQuestions(), diskQuestions(), volumeQuestions(), mountQuestions(), pathQuestions(),
		growQuestions(), arrivalQuestions(), cloneQuestions(), rootQuestions(), shareQuestions(), targetQuestions())
}
