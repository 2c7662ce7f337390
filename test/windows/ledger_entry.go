// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind is what kind of thing an entry names.
type Kind string

// The kinds, and what the fields of their entries are.
const (
	// KindDirectory is an empty directory that was made where none was. Name is its path, Mark the identity of one that is
	// the tests' alone, known once it is made: it is removed with all that is in it, any other one only while it is empty.
	KindDirectory Kind = "directory"

	// KindDiskFile is the VHDX of a virtual disk, which is pulled before. Name is its path; it ends in a random name.
	KindDiskFile Kind = "disk-file"

	// KindUser is a local account, KindShare a share. Name is its name, Mark its comment.
	KindUser  Kind = "user"
	KindShare Kind = "share"

	// KindMapping is a global mapping of a share that was made. Name is the share's remote path.
	KindMapping Kind = "smb-mapping"

	// KindTarget is an iSCSI target of the machine's target server, and KindTargetDisk its disk there, with the file. Name
	// is the target's random name or the file's path, which ends in a random name; Mark is the description.
	KindTarget     Kind = "iscsi-target"
	KindTargetDisk Kind = "iscsi-disk"

	// KindSession is the initiator's sessions with a target that was made. Name is the target's, in which its random name
	// is.
	KindSession Kind = "iscsi-session"

	// KindInitiator is an iSCSI initiator that was not in use: it had no sessions, portals and persistent logins, and is
	// to have none again. Name is its service. With the mark "secret" its secret for mutual CHAP is cleared.
	KindInitiator Kind = "iscsi-initiator"

	// KindService is a service of Windows, the agent's among them, with its event source. Name is its name, Mark the path
	// of its program.
	KindService Kind = "service"

	// KindStopped is a service that was stopped and may be running now. Name is its name.
	KindStopped Kind = "stopped-service"

	// KindRegistryValue is a number in the registry, below HKEY_LOCAL_MACHINE. Name is its key, a colon and its name; Mark
	// is the number that was set, Before the one that was there, "" if none was.
	KindRegistryValue Kind = "registry-value"

	// KindAutomount is the mount manager's setting. Mark is what was set, Before what it was: on or off.
	KindAutomount Kind = "automount"
)

// An Entry names one thing.
type Entry struct {
	ID     string    `json:"id"` // of the entry
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name"`
	Mark   string    `json:"mark,omitempty"` // by it the thing is known to be the one that was made
	Before string    `json:"before,omitempty"`
	Noted  time.Time `json:"noted"`
}

func (e Entry) String() string { return fmt.Sprintf("%s %s", e.Kind, e.Name) }

// NotOurs is the reason why something is left alone: it is not the thing that was made.
type NotOurs string

func (n NotOurs) Error() string { return "not what was made: " + string(n) }

// maxLedger is more bytes than a ledger ever has.
const maxLedger = 16 << 20

// A record is one line of the file.
type record struct {
	Made   *Entry `json:"made,omitempty"`
	Struck string `json:"struck,omitempty"` // the entry's ID
}

// line returns the record as it is written. It begins a line of its own, also after one that was torn.
func (r record) line() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("\n"), text...), '\n'), nil
}

// parseLedger returns the entries that are not struck out. A line that is not whole was torn by the end of its process
// or by a power cut. It says nothing: the thing of a torn entry was not made yet, and that of a torn strike is gone,
// which its remover finds.
func parseLedger(content []byte) (entries []Entry) {
	at := map[string]int{} // 1 + the index of each entry, 0 for one that was struck out
	for line := range bytes.Lines(content) {
		var r record
		if json.Unmarshal(bytes.Trim(line, "\x00\r\n"), &r) != nil { // a power cut may leave zeros
			continue
		}
		if r.Made != nil && r.Made.ID != "" {
			i, known := at[r.Made.ID]
			switch {
			case !known:
				entries = append(entries, *r.Made)
				at[r.Made.ID] = len(entries)
			case i > 0:
				entries[i-1] = *r.Made
			}
		}
		if i := at[r.Struck]; i > 0 {
			entries[i-1].ID = ""
			at[r.Struck] = 0
		}
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.ID == "" })
}

// namePrefix begins all random names, so that a person knows whose they are.
const namePrefix = "csiprove-"

// isRandom reports whether a name is one of randomName's, with an ending: no other program has it.
func isRandom(name, suffix string) bool {
	const digits = 10
	name, begins := strings.CutPrefix(name, namePrefix)
	name, ends := strings.CutSuffix(name, suffix)
	return begins && ends && len(name) == digits && strings.Trim(name, "0123456789abcdef") == ""
}

// MadeHere reports whether a name has one of randomName's in it, as that of a target has, or is one that the tests use
// and never make.
func MadeHere(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, namePrefix) || name == "localhost" || strings.HasSuffix(name, ".invalid")
}

// randomName returns a name that nothing has. It has 19 characters, of the 20 of an account's, in lower case.
func randomName() string { return namePrefix + random(5) }

// random returns so many random bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
