// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

// The environment variables that a driver's manifest can set, because New takes no options. They are read once.
const (
	// HostAPIVariable decides what New stands for: "in-process", the default, is the machine that the process runs on, and
	// "agent" the node of the agent whose pipes the process sees, so that a driver's code works in an ordinary container,
	// too.
	HostAPIVariable = "CSI_PROXY_HOSTAPI"
	// KubeletDirVariable holds kubelet's directory, if that is not C:\var\lib\kubelet.
	KubeletDirVariable = "CSI_PROXY_KUBELET_DIR"
	// WorkingDirsVariable holds further directories below which operations are allowed, separated by semicolons.
	// With an agent, its flags take the place of both.
	WorkingDirsVariable = "CSI_PROXY_WORKING_DIRS"
)

func options() inprocess.Options {
	o := inprocess.Options{KubeletDir: os.Getenv(KubeletDirVariable)}
	for dir := range strings.SplitSeq(os.Getenv(WorkingDirsVariable), ";") {
		if dir != "" {
			o.WorkingDirs = append(o.WorkingDirs, dir)
		}
	}
	return o
}
