// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
)

// change is one atomic change of a disk, as in its journal: blocks of its image, volumes whose files go with it, and
// volumes that get other names and keep their files.
type change struct {
	Blocks  []gpt.Block     `json:"blocks"`
	Empty   []guid.GUID     `json:"empty,omitempty"`
	Renamed []renamedVolume `json:"renamed,omitempty"`
}

// renamedVolume is a volume of a clone that gets an identity of its own.
type renamedVolume struct {
	From guid.GUID `json:"from"`
	To   guid.GUID `json:"to"`
}

const (
	journalFormat   = 1
	maxJournalBytes = 64 << 20 // more than any change has
)
