// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Record says something of a target, the path of a link or a mount point, or of a share.
type Record struct {
	Remote string `json:",omitempty"` // of a Use: \\server\share\dir
	Volume string `json:",omitempty"` // of an Unstaging
	Target string `json:",omitempty"` // of both
	Share  string `json:",omitempty"` // of a Mapping: \\server\share
	Made   Making `json:",omitempty"`
	Asked  bool   `json:",omitempty"` // for by the smb group
}

// A Kind is a kind of records, by the end of their files' names.
type Kind string

const (
	// Use says that a link at the target leads to a share.
	Use Kind = ".json"
	// Unstaging says that a volume is being unstaged from the target: between its unmounting and its disk's going
	// offline, nothing else says which disk that is.
	Unstaging Kind = ".leaving"
	// Mapping says whose the mapping of a share is. The loss of its file means that this is not known.
	Mapping Kind = ".share"
)

// Making is how far the steps have come with mapping a share.
type Making string

// The states of Making; the zero value means that the steps did not map it.
const (
	Begun Making = "begun" // whether the mapping is theirs is not known
	Made  Making = "made"
)

// Known reports whether a Mapping has anything to say.
func (r Record) Known() bool { return r.Made != "" || r.Asked }

// of returns the target or the share of which the record says something.
func (r Record) of() string { return cmp.Or(r.Share, r.Target) }

// unreadable says what a record that cannot be read is of, and what an operator does with it.
func (k Kind) unreadable() string {
	switch k {
	case Use:
		return "of a staged share cannot be read; remove it if no pod uses the share"
	case Unstaging:
		return "of a volume that is being unstaged cannot be read; remove it, and take the disk offline"
	}
	return "of a share cannot be read"
}

// stem is the beginning of the name of a file about a target or a share, the same for names that Windows takes for one.
func stem(of string) string {
	sum := sha256.Sum256([]byte(winpath.Fold(of)))
	return hex.EncodeToString(sum[:12])
}
