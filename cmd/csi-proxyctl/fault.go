// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func faultCommand(a *connection) *cobra.Command {
	fault := &cobra.Command{Use: "fault", Short: "Disturb the calls of the node's kernel", Args: cobra.NoArgs, RunE: needCommand}
	fault.AddCommand(addFaultCommand(a), listFaultsCommand(a), removeFaultCommand(a))
	return fault
}

func addFaultCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "add --function NAME (--fail CODE | --delay SPAN | --hang | --crash)",
		Short: "Begin to disturb the calls of a kernel function; prints the fault's id",
		Long: `Begin to disturb the calls of a kernel function; prints the fault's id.

csi-proxyctl journal shows the functions by name, with their control codes.`,
		Example: `  csi-proxyctl node fault add --function SetVolumeMountPoint --fail ERROR_NOT_READY --times 1
  csi-proxyctl node fault add --function DeviceIoControl --code IOCTL_DISK_CREATE_DISK --crash --after-effect
  csi-proxyctl node fault add --function FormatVolume --delay 1s-5s`,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
	}
	flags := c.Flags()
	function := flags.String("function", "", "`name` of the kernel function")
	code := flags.String("code", "", "only calls with this control `code`, by name or number")
	skip := flags.Uint32("skip", 0, "let so `many` such calls pass first")
	times := flags.Uint32("times", 0, "disturb so `many`; 0: all")
	fail := flags.String("fail", "", "fail with a Win32 error `code`, by name or number")
	delay := flags.String("delay", "", "wait first: a duration, or a `span` such as 10ms-2s")
	hang := flags.Bool("hang", false, "wait until the fault is removed or the node reboots")
	crash := flags.Bool("crash", false, "let the agent die as if it was killed")
	after := flags.Bool("after-effect", false, "fail or crash after the call took effect")
	required(c, "function")
	c.MarkFlagsOneRequired("fail", "delay", "hang", "crash")
	c.MarkFlagsMutuallyExclusive("fail", "delay", "hang", "crash")
	for _, plain := range []string{"delay", "hang"} {
		c.MarkFlagsMutuallyExclusive("after-effect", plain)
	}
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		f := &admin.Fault{Function: *function, Skip: *skip, Times: *times}
		if *code != "" {
			if f.ControlCode, err = win32.ParseControlCode(*code); err != nil {
				return err
			}
		}
		switch {
		case *hang:
			f.Effect = &admin.Fault_Hang{Hang: &admin.Hang{}}
		case *crash:
			f.Effect = &admin.Fault_Crash{Crash: &admin.Crash{After: *after}}
		case *delay != "":
			least, most, err := parseSpan(*delay)
			if err != nil {
				return err
			}
			f.Effect = &admin.Fault_Delay{Delay: &admin.Delay{Min: durationpb.New(least), Max: durationpb.New(most)}}
		default:
			errno, err := win32.ParseErrno(*fail)
			if err != nil {
				return err
			}
			f.Effect = &admin.Fault_Fail{Fail: &admin.Failure{Win32Code: uint32(errno), After: *after}}
		}
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			r, err := client.AddFault(ctx, &admin.AddFaultRequest{Fault: f})
			if err != nil {
				return err
			}
			return printLine(c, r.GetId())
		})
	}
	return c
}

// parseSpan reads a duration, or two with a dash between.
func parseSpan(text string) (least, most time.Duration, err error) {
	from, to, isSpan := strings.Cut(text, "-")
	if !isSpan {
		to = from
	}
	least, err = time.ParseDuration(from)
	if err == nil {
		most, err = time.ParseDuration(to)
	}
	if err != nil || least < 0 || most < least {
		return 0, 0, fmt.Errorf("%q is no duration, such as 20ms, and no span, such as 10ms-2s", text)
	}
	return least, most, nil
}

func listFaultsCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the faults",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				list, err := client.ListFaults(ctx, &admin.ListFaultsRequest{})
				if err != nil {
					return err
				}
				rows := "ID\tFUNCTION\tCODE\tSKIP\tTIMES\tEFFECT\tDISTURBED\tHOLDING\n"
				for _, s := range list.GetFaults() {
					f, code := s.GetFault(), "any"
					if f.GetControlCode() != 0 {
						code = win32.ControlCodeName(f.GetControlCode())
					}
					times := "all"
					if f.GetTimes() != 0 {
						times = strconv.FormatUint(uint64(f.GetTimes()), 10)
					}
					rows += fmt.Sprintf("%d\t%s\t%s\t%d\t%s\t%s\t%d\t%d\n", s.GetId(), f.GetFunction(), code, f.GetSkip(), times, effectText(f), s.GetDisturbed(), s.GetHolding())
				}
				table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				_, err = io.WriteString(table, rows)
				return errors.Join(err, table.Flush())
			})
		},
	}
}

// effectText is what a fault does to a call.
func effectText(f *admin.Fault) string {
	text, after := "", false
	switch effect := f.GetEffect().(type) {
	case *admin.Fault_Fail:
		errno := win32.Errno(effect.Fail.GetWin32Code())
		if text, after = errno.Name(), effect.Fail.GetAfter(); text == "" {
			text = fmt.Sprintf("error %d", uint32(errno))
		}
	case *admin.Fault_Delay:
		text = "delay " + effect.Delay.GetMin().AsDuration().String()
		if most := effect.Delay.GetMax().AsDuration(); most != effect.Delay.GetMin().AsDuration() {
			text += "-" + most.String()
		}
	case *admin.Fault_Hang:
		text = "hang"
	case *admin.Fault_Crash:
		text, after = "crash", effect.Crash.GetAfter()
	}
	if after {
		text += " after"
	}
	return text
}

func removeFaultCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "remove (ID | --all)",
		Short: "End a fault and let the calls that it holds go on",
		Args:  cobra.MaximumNArgs(1),

		DisableFlagsInUseLine: true,
	}
	all := c.Flags().Bool("all", false, "end all faults")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *all == (len(args) == 1) {
			return errors.New("remove needs one id, or --all")
		}
		var id uint64
		if !*all {
			var err error
			if id, err = strconv.ParseUint(args[0], 10, 64); err != nil || id == 0 {
				return fmt.Errorf("%q is not the id of a fault", args[0])
			}
		}
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			_, err := client.RemoveFault(ctx, &admin.RemoveFaultRequest{Id: id})
			return err
		})
	}
	return c
}
