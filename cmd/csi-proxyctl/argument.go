// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// An argument is one that a command's use names, in capitals: for "volume list [DISK]", DISK, which is optional.
type argument struct {
	name     string
	optional bool
}

// arguments returns the arguments that a command's use names.
func arguments(use string) (list []argument) {
	for _, word := range strings.Fields(use)[1:] {
		name := strings.Trim(word, "[]")
		if name == "" || !unicode.IsUpper(rune(name[0])) {
			break // a flag
		}
		list = append(list, argument{name, name != word})
	}
	return list
}

// meanings say what to write for an argument, and the command that lists what there is.
var meanings = map[string]string{
	"DISK":    "the number or serial number of a disk; csi-proxyctl disk list lists them",
	"VOLUME":  "the id of a volume; csi-proxyctl volume list lists them",
	"PATH":    `a Windows path below a working directory of the agent, such as 'C:\var\lib\kubelet\pods'`,
	"SOURCE":  "the path or share that the link leads to",
	"WINPATH": `a path of the node, such as 'C:\var\lib\kubelet'`,
	"SHARE":   `a share, such as '\\server\share'; csi-proxyctl smb list lists those that are mapped`,
	"PORTAL": "the address of an iSCSI portal, such as 192.0.2.10 or 192.0.2.10:3260; csi-proxyctl iscsi portal list " +
		"lists them",
	"TARGET": "an iSCSI qualified name; csi-proxyctl iscsi portal discover PORTAL lists those of a portal, " +
		"csi-proxyctl iscsi sessions those that are connected",
	"SERVICE": "the name of a Windows service, such as MSiSCSI; csi-proxyctl system service list lists those that " +
		"storage needs",
	"SWITCH":   "the name of a switch; csi-proxyctl node switch list lists them",
	"ANSWER":   "one of the answers that csi-proxyctl node switch list shows",
	"SERVER":   "the name of a file server; csi-proxyctl node smb list lists them",
	"USER":     "the name of an account of the file servers",
	"ID":       "the id of a fault; csi-proxyctl node fault list lists them",
	"DIR":      "a directory of this host",
	"FILE":     "a file of this host",
	"OTHER":    "another file of this host",
	"AUDITLOG": "a file that csi-proxy -audit-log wrote",
	"TIME":     "a time, such as 2026-01-31T12:00:00Z",
	"DURATION": "a duration, such as 90s",
	"OBJECT":   "what to wait for: ready, disk, volume or mapping",
	"NAME":     "the name of the object",
}

// checkArguments checks a command's arguments by its use, before anything is called. Its errors name what is missing.
func checkArguments(c *cobra.Command, args []string) error {
	want := arguments(c.Use)
	if len(args) > len(want) {
		takes := "no arguments"
		if len(want) > 0 {
			takes = "only " + named(want)
		}
		return fmt.Errorf("%s takes %s; %q is one too many", c.CommandPath(), takes, args[len(want)])
	}
	var missing []argument
	for _, w := range want[len(args):] {
		if !w.optional {
			missing = append(missing, w)
		}
	}
	if len(missing) > 0 {
		text := c.CommandPath() + " needs " + named(missing)
		for _, m := range missing {
			if means := meanings[m.name]; means != "" {
				text += "\n  " + m.name + ": " + means
			}
		}
		return errors.New(text)
	}
	for i, text := range args {
		if want[i].name == "PORTAL" {
			if _, err := parsePortal(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// named joins the names of arguments.
func named(list []argument) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.name
	}
	return strings.Join(names, " and ")
}

// isNumber reports whether a text is the number of a disk.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

// resolved returns a command's arguments with the numbers of the disks that they name by serial number.
func (a *connection) resolved(c *cobra.Command, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, want := range arguments(c.Use) {
		if i >= len(args) || want.name != "DISK" || isNumber(args[i]) {
			continue
		}
		err := a.api(c, "", func(ctx context.Context, client *csiproxy.Client) error {
			number, err := diskBySerial(ctx, client, args[i])
			args[i] = strconv.FormatUint(uint64(number), 10)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

// diskBySerial returns the number of the disk with a serial number.
func diskBySerial(ctx context.Context, client *csiproxy.Client, serial string) (uint32, error) {
	r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	return diskIn(r.GetDiskIDs(), serial)
}

// diskIn returns the number of the disk with a serial number in a list.
func diskIn(list map[uint32]*diskapi.DiskIDs, serial string) (uint32, error) {
	var found []uint32
	var serials []string
	for _, number := range slices.Sorted(maps.Keys(list)) {
		of := list[number].GetSerialNumber()
		if of == serial {
			found = append(found, number)
		}
		if of != "" {
			serials = append(serials, of)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		text := fmt.Sprintf("no disk has the number or serial number %q", serial)
		return 0, &adminclient.Error{Text: text + didYouMean(serial, serials), Err: status.Error(codes.NotFound, text)}
	default:
		text := fmt.Sprintf("the disks %v have the serial number %q; give a number", found, serial)
		return 0, &adminclient.Error{Text: text, Err: status.Error(codes.FailedPrecondition, text)}
	}
}

// diskOf returns the number of a disk in the first argument, which has been resolved.
func diskOf(args []string) uint32 {
	number, _ := strconv.ParseUint(args[0], 10, 32)
	return uint32(number)
}

// parsePortal reads a host, or a host and a port. An IPv6 address with a port is in brackets.
func parsePortal(text string) (*iscsiapi.TargetPortal, error) {
	if strings.Count(text, ":") != 1 && !strings.HasPrefix(text, "[") {
		return &iscsiapi.TargetPortal{TargetAddress: text}, nil
	}
	host, number, err := net.SplitHostPort(text)
	port := uint64(0)
	if err == nil {
		port, err = strconv.ParseUint(number, 10, 16)
	}
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q is not a portal such as 192.0.2.10 or 192.0.2.10:3260", text)
	}
	return &iscsiapi.TargetPortal{TargetAddress: host, TargetPort: uint32(port)}, nil
}

// iscsiPort is the port of a portal that is written without one.
const iscsiPort = 3260

// portalText returns a portal as a user may write it.
func portalText(p *iscsiapi.TargetPortal) string {
	return net.JoinHostPort(p.GetTargetAddress(), strconv.FormatUint(uint64(p.GetTargetPort()), 10))
}

// portalOf returns the portal in the first argument, which has been checked.
func portalOf(args []string) *iscsiapi.TargetPortal {
	portal, _ := parsePortal(args[0])
	return portal
}

// parseTime reads a point in time: in the format of RFC 3339, or as a duration before now.
func parseTime(text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a time such as 2026-01-31T12:00:00Z nor a duration such as 30s", text)
	}
	return at, nil
}

// size is a flag that takes bytes, or a unit such as 20Gi.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *size) Type() string   { return "bytes" }

func (s *size) Set(text string) error {
	n, err := treeview.ParseSize(text)
	*s = size(n)
	return err
}
