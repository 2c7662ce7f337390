// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

type nodeClient = nodeapi.EmulatedNodeClient

func nodeCommand(a *connection) *cobra.Command {
	path := atPath(a, "path", "Print where on this host a path of the node is", "hostPath", text("hostPath"))
	path.Long = path.Short + ". Links and mount points are followed; the last component may be missing."
	saved := &nodeapi.SaveNodeRequest{}
	save := changeWith(a, "save", "Copy the node, with its disks and their files, into a new directory", saved,
		nodeClient.SaveNode, "DIR")
	save.Long = save.Short + `: a state directory, with which an
agent goes on as after the death of this one. It holds the node's secrets, and is for its user alone.`
	save.Example = "  csi-proxyctl node save --clone /tmp/twin && csi-proxy-emulated -state-dir=/tmp/twin"
	save.Flags().BoolVar(&saved.Clone, "clone", false, "the copy is another machine, with a serial number of its own")
	restore := change(a, "restore", "Make the node what was saved in a directory", nodeClient.RestoreNode, "DIR")
	restore.Long = restore.Short + `, which stays as it is. Calls are cut off as by a
reboot, and all that the node had is gone, its detached disks too.`
	return group("node", "Control an emulated node: its hardware, its cloud and its administrator",
		diskCommand(a), accessCommand(a), smbCommand(a), iscsiCommand(a), serviceCommand(a), faultCommand(a), path,
		atPath(a, "readlink", "Print the target of a link or mount point", "linkTarget", text("target")),
		change(a, "reboot", "Reboot the node; returns when the agent serves it again", nodeClient.Reboot),
		save, restore)
}

func accessCommand(a *connection) *cobra.Command {
	type entry struct {
		SID       string `json:"sid"`
		Mask      uint32 `json:"mask"`
		Inherited bool   `json:"inherited"`
	}
	return atPath(a, "access", "Print the access list of the root directory of the volume at a path", "access",
		func(list []entry) answer {
			return table("entries", "SID\tRIGHTS\tINHERITED", list, func(e entry) (any, []any) {
				rights := map[uint32]string{0x1200a9: "read", 0x1301bf: "modify", 0x1f01ff: "full"}[e.Mask]
				return e, []any{e.SID, cmp.Or(rights, fmt.Sprintf("%#x", e.Mask)), e.Inherited}
			})
		})
}

func faultCommand(a *connection) *cobra.Command {
	return group("fault", "Disturb kernel calls and API calls", addFaultCommand(a),
		query(a, "list", "List the faults", nodeClient.ListFaults, showFaults), removeFaultCommand(a))
}

func addFaultCommand(a *connection) *cobra.Command {
	f := &nodeapi.Fault{}
	c := changeWith(a, "add", "Begin to disturb the calls of a kernel function, or of API methods; prints the fault's id",
		&nodeapi.AddFaultRequest{Fault: f}, nodeClient.AddFault)
	c.Long = c.Short + `.

csi-proxyctl journal shows the functions by name, with their control codes. A method is GROUP, GROUP/METHOD,
GROUP/VERSION or GROUP/VERSION/METHOD. A delay is a time, 20ms, or a range of which each call gets a random time,
10ms-2s.`
	c.Example = `  csi-proxyctl node fault add --function SetVolumeMountPoint --fail ERROR_NOT_READY --times 1
  csi-proxyctl node fault add --function DeviceIoControl --code IOCTL_DISK_CREATE_DISK --crash --after-effect
  csi-proxyctl node fault add --function FormatVolume --delay 1s-5s
  csi-proxyctl node fault add --method volume/MountVolume --status UNAVAILABLE --message "try later" --times 2
  csi-proxyctl node fault add --method disk/v1/PartitionDisk --cut --after-effect --times 1`
	flags := c.Flags()
	flags.StringVar(&f.Function, "function", "", "`name` of the kernel function")
	flags.StringVar(&f.ControlCode, "code", "", "only kernel calls with this control `code`, by name or number")
	flags.StringVar(&f.Object, "object", "", "only kernel calls whose object has this `text` in it")
	flags.StringVar(&f.Method, "method", "", "API `methods`, of one or all versions")
	flags.Uint32Var(&f.Skip, "skip", 0, "`count` of such calls that pass first")
	flags.Uint32Var(&f.Times, "times", 0, "`count` of calls to disturb; 0: all")
	flags.StringVar(&f.Fail, "fail", "", "fail with a Win32 error `code`, by name or number")
	flags.StringVar(&f.Status, "status", "", "fail with a gRPC `code`, by name or number")
	flags.StringVar(&f.Message, "message", "", "message `text` of that error (default: injected)")
	flags.StringVar(&f.Reason, "reason", "", "reason in that error's ErrorInfo, a `word` (default: no ErrorInfo)")
	flags.BoolVar(&f.Cut, "cut", false, "cut the connection of the API call")
	flags.StringVar(&f.Delay, "delay", "", "wait first, for a `time`")
	flags.BoolVar(&f.Hang, "hang", false, "wait until the fault is removed or the node reboots")
	flags.BoolVar(&f.Crash, "crash", false, "let the agent die as if it were killed")
	flags.BoolVar(&f.AfterEffect, "after-effect", false, "fail, cut, hang or crash after the call took effect")
	completeCalls(c)
	complete(c, "fail", "ERROR_ACCESS_DENIED", "ERROR_BUSY", "ERROR_DEVICE_NOT_CONNECTED", "ERROR_IO_DEVICE",
		"ERROR_NOT_READY", "ERROR_WRITE_PROTECT")
	complete(c, "status", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL", "NOT_FOUND",
		"RESOURCE_EXHAUSTED", "UNAVAILABLE")
	return prepared(c, func([]string) error {
		if f.GetStatus() != "" {
			f.Message = cmp.Or(f.GetMessage(), "injected")
		}
		return faults.Check(f)
	})
}

func showFaults(_ []string, list *nodeapi.ListFaultsResponse) answer {
	const heads = "ID\tCALLS\tSKIP\tTIMES\tEFFECT\tDISTURBED\tHOLDING"
	return table("faults", heads, list.GetFaults(), func(s *nodeapi.FaultStatus) (any, []any) {
		f := s.GetFault()
		return message{s}, []any{s.GetId(), faults.Calls(f), f.GetSkip(),
			choose(f.GetTimes() == 0, "all", fmt.Sprint(f.GetTimes())), faults.Effect(f), s.GetDisturbed(), s.GetHolding()}
	})
}

func removeFaultCommand(a *connection) *cobra.Command {
	c := change(a, "remove", "End a fault and let the calls that it holds go on", nodeClient.RemoveFault, "[ID]")
	all := c.Flags().Bool("all", false, "end all faults")
	return prepared(c, func(args []string) error {
		if *all == (len(args) == 1) {
			return errors.New(c.CommandPath() + " needs ID or --all; csi-proxyctl node fault list lists the faults")
		}
		if !*all && args[0] == "0" { // the request's value for all faults
			return errors.New(`"0" is not the id of a fault`)
		}
		return nil
	})
}
