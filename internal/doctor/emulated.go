// SPDX-License-Identifier: Apache-2.0

package doctor

import "github.com/kubernetes-csi/csi-proxy/internal/treeview"

// An EmulatedNode is what is known about a node that is emulated on this host.
type EmulatedNode struct {
	Faults []string // that are active
	// Path is where the node's files are on this host. FreeBytes are left there; -1: not known.
	Path      string
	FreeBytes int64
}

// full is less than an emulated node needs to go on.
const full = 64 << 20

// emulated judges what looks like trouble of Windows and is none.
func emulated(f Facts) []Finding {
	var findings []Finding
	if len(f.Emulated.Faults) > 0 {
		findings = append(findings, Finding{
			Severity: Note, Check: "active-fault", What: "faults disturb calls of this emulated node, as somebody wanted",
			Evidence: f.Emulated.Faults, Do: []string{"csi-proxyctl node fault remove --all"},
		})
	}
	if f.Emulated.Path != "" && f.Emulated.FreeBytes >= 0 && f.Emulated.FreeBytes < full {
		findings = append(findings, Finding{
			Severity: Problem, Check: "host-disk-full",
			What:     "the disk of this host that holds the emulated node is full: calls fail as if a disk of the node were",
			Evidence: []string{f.Emulated.Path + ": " + treeview.Size(f.Emulated.FreeBytes) + " free"},
			Do:       []string{"make room there, or start the node with another -state-dir"},
		})
	}
	return findings
}
