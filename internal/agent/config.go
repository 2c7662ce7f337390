// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// KubeletDir is kubelet's directory on a Windows node, the working directory if no other is given.
const KubeletDir = node.KubeletDir

// Config is what an agent works on and what it serves.
type Config struct {
	// Kernel is the node to work on, which the caller closes.
	Kernel kernel.Kernel
	// Emulation makes the node an emulated one; nil on a real node. Package emulation sets it.
	Emulation Emulation
	// RecordsDir is the directory for the records of shares in use; empty: none, and no share is staged in one call.
	RecordsDir string
	// SocketDir is the directory of the sockets, except on Windows.
	SocketDir string
	// PipePrefix is put before the names of the pipes, which all agents of a machine share. Drivers know no prefix.
	PipePrefix string
	// PipeSecurity is the security descriptor of the API's pipes in SDDL, on Windows; empty: SYSTEM and administrators,
	// and for an emulated node the user that runs it. It does not apply to the admin endpoint.
	PipeSecurity string
	// WorkingDirs are the Windows directories below which operations are allowed; none: KubeletDir.
	WorkingDirs []string
	// RequirePrivacy asks for encryption on SMB global mappings.
	RequirePrivacy bool
	// EraseOnFormat lets FormatVolume erase the files of an NTFS volume.
	EraseOnFormat bool
	// ProtectedServices are the services that StopService does not stop; see node.ProtectedServices.
	ProtectedServices []string
	// OwnService names the service that the agent works for; see node.Config.
	OwnService func() string
	// APIs selects the API groups and versions that are served; nil: all.
	APIs *apis.Selection
	// Interceptor wraps every kernel call; it may be nil.
	Interceptor kernel.Interceptor
	// Metrics counts and times calls, operations and kernel calls; see Agent.Metrics.
	Metrics bool
	// KernelHistograms makes Metrics count how long each kernel function takes, in many series.
	KernelHistograms bool
	// Limits bound what clients cost; the zero value: the defaults. The admin endpoint has its own, of the same size.
	Limits limits.Limits
	// CallTimeout is how long every call of the API may take, see server.CheckCallTimeout; 0: the method's own limit.
	CallTimeout time.Duration
	// Policy decides what clients of the storage API may do; nil: everything. It does not apply to the admin endpoint.
	Policy *policy.Policy
	// Audit records every call, after the journal of an emulated node; it may be nil.
	Audit server.Recorder
	// Logger is the agent's log; the zero value: klog's own.
	Logger klog.Logger
}

// complete returns the configuration with its defaults filled in.
func (c Config) complete() (Config, error) {
	if c.Kernel == nil {
		return c, errors.New("an agent needs a kernel")
	}
	if len(c.WorkingDirs) == 0 {
		c.WorkingDirs = []string{KubeletDir}
	}
	if c.Logger.GetSink() == nil {
		c.Logger = klog.Background()
	}
	return c, nil
}
