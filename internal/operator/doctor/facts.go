// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// Facts are what is known about a node. The zero value of a field means that it is not known.
type Facts struct {
	Endpoints []Endpoint
	Newest    map[string]string // the newest version of each group: "disk": "v1"
	Services  []Service
	Tree      *treeview.Tree
	Seen      *admin.GetFactsResponse // what only the admin endpoint knows
	// AutomountOff reports whether Windows leaves volumes offline that it has not mounted before (mountvol /N).
	AutomountOff bool
	// BitLockerRequired reports whether Windows mounts fixed data drives without BitLocker read-only (FDVDenyWriteAccess).
	BitLockerRequired bool
	Portals           []string    // of iSCSI that are registered: "192.0.2.10:3260"
	SANPolicy         string      // what becomes of new disks: OfflineShared
	Directories       []Directory // that matter to the agent
	// Staged is what kubelet wrote beside its globalmounts, by their paths without a \ at the end, in lower case.
	Staged   map[string]Staged
	Emulated EmulatedNode
	// Unanswered names what was asked for and did not come in time: "disks and volumes".
	Unanswered []string
	// Missing lists what could not be looked at, and why.
	Missing []string
}

// unknown returns why it is not known which disks there are, or which volume is on a partition.
func (f Facts) unknown() (lines []string) {
	if f.Tree == nil {
		return nil
	}
	if f.Tree.Disks == nil {
		return slices.Clone(f.Tree.Unknown)
	}
	for _, d := range f.Tree.Disks {
		for _, p := range d.Partitions {
			if p.Unknown != "" {
				lines = append(lines, fmt.Sprintf("partition %d of disk %d: %s", p.Number, d.Number, p.Unknown))
			}
		}
	}
	return lines
}

// Staged is what is known of a volume that is staged at a globalmount.
type Staged struct {
	Driver string // from kubelet's vol_data.json; "": not known
	Age    time.Duration
}

// A Directory is one that matters to the agent, and who besides administrators may change it.
type Directory struct {
	Path string
	Who  []string
}

// An EmulatedNode is what is known about a node that is emulated on this host.
type EmulatedNode struct {
	Faults []string // that are active
	// Path is where the node's files are on this host. FreeBytes of SizeBytes are left there; -1: not known.
	Path                 string
	FreeBytes, SizeBytes int64
}

// State is the result of trying an endpoint.
type State string

// The states of an endpoint.
const (
	Absent    State = "absent"    // it does not exist, which is normal for versions that are switched off
	Abandoned State = "abandoned" // its socket is there, and no process listens
	Answers   State = "answers"   // an agent answered a call
	Denied    State = "denied"    // it exists and refuses this process
	Silent    State = "silent"    // it can be opened, and then nothing comes
	Broken    State = "broken"    // anything else; Detail has the error
)

// Endpoint is one pipe or socket that an agent may serve.
type Endpoint struct {
	Group   string `json:"group"`   // "" for the admin endpoint
	Version string `json:"version"` // "" for the admin endpoint
	Address string `json:"address"` // the pipe or socket
	State   State  `json:"state"`
	Detail  string `json:"detail"`
	Server  string `json:"-"` // the process that serves it: "pid 7"
}

// Exists reports whether a process serves the endpoint, or may do so.
func (e Endpoint) Exists() bool { return e.State != Absent && e.State != Abandoned }

// Service is a Windows service that matters to storage, or the agent's own. The names of its fields are those of
// csi-proxyctl's JSON and YAML.
type Service struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Status      string `json:"status"`    // "running", "stopped", in lower case
	Start       string `json:"startType"` // "automatic", "manual", "disabled"
	Installed   bool   `json:"-"`
	Agent       bool   `json:"-"` // it runs an agent
	Wrapper     string `json:"-"` // the program that starts the agent in its place, such as nssm.exe; empty: none
}
