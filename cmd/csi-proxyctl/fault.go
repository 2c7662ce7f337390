// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/faulttext"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func faultCommand(a *connection) *cobra.Command {
	return group("fault", "Disturb kernel calls and API calls", addFaultCommand(a),
		query(a, "list", "List the faults", nodeClient.ListFaults, showFaults), removeFaultCommand(a))
}

func addFaultCommand(a *connection) *cobra.Command {
	f := &admin.Fault{}
	c := changeWith(a, "add", "Begin to disturb the calls of a kernel function, or of API methods; prints the fault's id",
		&admin.AddFaultRequest{Fault: f}, nodeClient.AddFault)
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
	code := flags.String("code", "", "only kernel calls with this control `code`, by name or number")
	flags.StringVar(&f.Object, "object", "", "only kernel calls whose object has this `text` in it")
	flags.StringVar(&f.Method, "method", "", "API `methods`, of one or all versions")
	flags.Uint32Var(&f.Skip, "skip", 0, "let this `many` such calls pass first")
	flags.Uint32Var(&f.Times, "times", 0, "disturb this `many` calls; 0: all")
	e := faulttext.Effect{}
	flags.StringVar(&e.Fail, "fail", "", "fail with a Win32 error `code`, by name or number")
	flags.StringVar(&e.Status, "status", "", "fail with a gRPC `code`, by name or number")
	flags.StringVar(&e.Message, "message", "injected", "message `text` of that error")
	flags.StringVar(&e.Reason, "reason", "", "reason in that error's ErrorInfo, a `word` (default: no ErrorInfo)")
	flags.BoolVar(&e.Cut, "cut", false, "cut the connection of the API call")
	flags.StringVar(&e.Delay, "delay", "", "wait first, for a `time`")
	flags.BoolVar(&e.Hang, "hang", false, "wait until the fault is removed or the node reboots")
	flags.BoolVar(&e.Crash, "crash", false, "let the agent die as if it were killed")
	flags.BoolVar(&e.After, "after-effect", false, "fail, cut or crash after the call took effect")
	effects := []string{"fail", "status", "cut", "delay", "hang", "crash"}
	for _, group := range [][]string{{"function", "method"}, effects} {
		c.MarkFlagsOneRequired(group...)
		c.MarkFlagsMutuallyExclusive(group...)
	}
	for _, pair := range [][]string{
		{"after-effect", "delay"}, {"after-effect", "hang"}, {"method", "fail"}, {"method", "code"}, {"method", "object"},
		{"function", "status"}, {"function", "cut"},
	} {
		c.MarkFlagsMutuallyExclusive(pair...)
	}
	completeCalls(c)
	complete(c, "fail", "ERROR_ACCESS_DENIED", "ERROR_BUSY", "ERROR_DEVICE_NOT_CONNECTED", "ERROR_IO_DEVICE",
		"ERROR_NOT_READY", "ERROR_WRITE_PROTECT")
	complete(c, "status", "ABORTED", "CANCELED", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL", "NOT_FOUND",
		"RESOURCE_EXHAUSTED", "UNAVAILABLE")
	return first(c, func([]string) (err error) {
		if *code != "" {
			if f.ControlCode, err = win32.ParseControlCode(*code); err != nil {
				return err
			}
		}
		return e.Set(f)
	})
}

func showFaults(_ []string, list *admin.ListFaultsResponse) answer {
	rows := []string{"ID\tCALLS\tSKIP\tTIMES\tEFFECT\tDISTURBED\tHOLDING"}
	for _, s := range list.GetFaults() {
		f, times := s.GetFault(), "all"
		if f.GetTimes() != 0 {
			times = strconv.FormatUint(uint64(f.GetTimes()), 10)
		}
		rows = append(rows, fmt.Sprintf("%d\t%s\t%d\t%s\t%s\t%d\t%d", s.GetId(), faulttext.Calls(f), f.GetSkip(), times,
			faulttext.EffectOf(f), s.GetDisturbed(), s.GetHolding()))
	}
	return answer{value: message{list}, rows: rows}
}

func removeFaultCommand(a *connection) *cobra.Command {
	c := change(a, "remove", "End a fault and let the calls that it holds go on", nodeClient.RemoveFault, "[ID]")
	all := c.Flags().Bool("all", false, "end all faults")
	return first(c, func(args []string) error {
		if *all == (len(args) == 1) {
			return errors.New(c.CommandPath() + " needs ID or --all; csi-proxyctl node fault list lists the faults")
		}
		if !*all && args[0] == "0" { // which is all of them in the request
			return errors.New(`"0" is not the id of a fault`)
		}
		return nil
	})
}
