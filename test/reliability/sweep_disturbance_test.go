// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// revival is what happens between the disturbed call and the next attempt.
type revival int

const (
	goesOn    revival = iota // the same agent lives on
	restarted                // the next agent starts with what the dead one left
	rebooted                 // the node restarts, too
)

func (r revival) String() string { return [...]string{"", "after a restart", "after a reboot"}[r] }

// disturbance is one way to disturb a kernel call.
type disturbance struct {
	name    string
	revival revival
	disk    bool // for examples whose disk may go away
	named   bool // of these, for those that do not name it by its number
	// act takes the place of the call.
	inject func(w *world, call kernel.Call, do func() error) error
	// repair undoes what was done to the node, after the disturbed attempt; nil: nothing to undo.
	repair func(w *world)
}

func disturbances() []disturbance {
	return []disturbance{
		{name: "fails", inject: func(_ *world, call kernel.Call, _ func() error) error {
			return failure(call, transient(call))
		}},
		{name: "fails after it took effect", inject: func(_ *world, call kernel.Call, do func() error) error {
			if err := do(); err != nil {
				return err
			}
			return failure(call, transient(call))
		}},
		{name: "is refused", inject: func(_ *world, call kernel.Call, _ func() error) error {
			return failure(call, win32.ERROR_ACCESS_DENIED)
		}},
		{name: "agent dies before", revival: restarted, inject: dieBefore},
		{name: "agent dies after", revival: restarted, inject: dieAfter},
		{name: "power lost before", revival: rebooted, inject: dieBefore},
		{name: "power lost after", revival: rebooted, inject: dieAfter},
		{name: "disk pulled before", disk: true, inject: func(w *world, _ kernel.Call, do func() error) error {
			w.pulled = w.pull()
			return do()
		}, repair: reattach},
		{name: "disk pulled after", disk: true, inject: func(w *world, _ kernel.Call, do func() error) error {
			err := do()
			w.pulled = w.pull()
			return err
		}, repair: reattach},
		{name: "disk replaced by one with data", disk: true, inject: func(w *world, _ kernel.Call, do func() error) error {
			w.replace(map[int64]string{1024 + 56: "\x53\xef", 5 << 20: "somebody's"}) // ext4 without a partition table
			return do()
		}, repair: takeBack},
		{name: "disk replaced by a blank one after", disk: true, inject: func(w *world, _ kernel.Call, do func() error) error {
			err := do()
			w.replace(nil)
			return err
		}, repair: takeBack},
		{name: "disk replaced by one that could grow, before", disk: true, named: true,
			inject: func(w *world, _ kernel.Call, do func() error) error {
				w.replaceByLike()
				return do()
			}, repair: takeBack},
		{name: "disk replaced by one that could grow, after", disk: true, named: true,
			inject: func(w *world, _ kernel.Call, do func() error) error {
				err := do()
				w.replaceByLike()
				return err
			}, repair: takeBack},
	}
}

func dieBefore(w *world, call kernel.Call, _ func() error) error {
	w.around.kill()
	return failure(call, win32.ERROR_OPERATION_ABORTED)
}

func dieAfter(w *world, call kernel.Call, do func() error) error {
	_ = do()
	w.around.kill()
	return failure(call, win32.ERROR_OPERATION_ABORTED)
}

// transient returns a failure that Windows gives for a while.
func transient(call kernel.Call) win32.Errno {
	if call.Function == "OpenFile" || strings.HasSuffix(call.Function, "etInformation") {
		return win32.ERROR_SHARING_VIOLATION
	}
	return win32.ERROR_IO_DEVICE
}

// reattach brings the pulled disk back.
func reattach(w *world) {
	w.t.Helper()
	if w.pulled != "" {
		w.attach(theDiskSpec(w.pulled))
	}
}

// replace pulls the disk and attaches another one, which gets its number and its address.
func (w *world) replace(marks map[int64]string) {
	w.t.Helper()
	w.intended = marks == nil && w.byNumber && !w.around.asked(theDisk)
	w.pulled = w.pull()
	spec := theDiskSpec(w.image(marks))
	spec.SerialNumber = "intruder"
	w.attach(spec)
	w.intruder = w.diskAsItIs()
}

// replaceByLike does as replace, with a disk that has a volume at the same place, and free space behind it.
func (w *world) replaceByLike() {
	w.t.Helper()
	w.intended = w.byNumber && !w.around.asked(theDisk)
	w.pulled = w.pull()
	spec := theDiskSpec("")
	spec.SerialNumber, spec.Formatted = "intruder", true
	w.attach(spec)
	w.OK(w.emulated.GrowDisk(theDisk, grownBytes))
	w.intruder = w.diskAsItIs()
}

// diskAsItIs returns the disk's content and state, as they are compared.
func (w *world) diskAsItIs() string {
	w.t.Helper()
	tree, err := w.observe()
	w.OK(err)
	d := tree.Disks[theDisk]
	return fmt.Sprintf("disk %d, online %t, read-only %t, digest %s", d.Number, d.IsOnline(), d.IsReadOnly(), w.diskDigest(theDisk))
}

// takeBack checks whether the other disk was left alone, and swaps the disks back.
func takeBack(w *world) {
	w.t.Helper()
	if w.pulled == "" {
		return
	}
	if got := w.diskAsItIs(); !w.intended && got != w.intruder {
		w.t.Errorf("the call changed a disk that came while it was running: %s, was %s", got, w.intruder)
	}
	w.pull()
	reattach(w)
}
