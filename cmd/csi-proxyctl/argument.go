// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// An argument is one that a command takes. The functions get it as the last of the arguments so far.
type argument struct {
	name     string // DISK
	optional bool
	kind
}

// A kind of arguments. The words of a kind mean the same in all commands.
type kind struct {
	means  string // what to write
	lists  string // the command that lists what there is
	file   bool   // of this host
	onNode string // what an emulated node, which knows all that there are, calls it
	// offer returns the names that there are, each with or without a description after a tab. It ignores errors.
	offer func(ctx context.Context, a *connection, before []string) []string
	// describe describes the object. It fails if there is none. Facts that an older agent cannot give are left out.
	describe func(ctx context.Context, a *connection, client *csiproxy.Client, args []string) ([]string, error)
}

func kinds() map[string]kind {
	return map[string]kind{
		"DISK": {means: "the number or serial number of a disk", lists: "disk list", onNode: "disk", offer: offerDisks,
			describe: describeDisk},
		"VOLUME": {means: "the id of a volume, or a path at which it is mounted", lists: "volume list", offer: offerVolumes,
			describe: describeVolume},
		"PATH": {means: `a Windows path below a working directory of the agent, such as 'C:\var\lib\kubelet\pods'`,
			describe: describePath},
		"SOURCE":  {means: "the path or share that the link leads to"},
		"WINPATH": {means: `a path of the node, such as 'C:\var\lib\kubelet'`},
		"SHARE": {means: `a share, such as '\\server\share'`, lists: "smb list", onNode: "share", offer: offerShares,
			describe: describeMapping},
		"PORTAL": {means: "the address of an iSCSI portal, such as 192.0.2.10 or 192.0.2.10:3260", lists: "iscsi portal list",
			onNode: "portal", offer: offerPortals},
		"TARGET": {means: "an iSCSI qualified name", lists: "iscsi portal discover PORTAL", onNode: "session with",
			offer: offerTargets, describe: describeTarget},
		"SERVICE": {means: "the name of a Windows service, such as MSiSCSI", lists: "system service list", onNode: "service",
			offer: offerServices, describe: describeService},
		"SERVER": {means: "the name of a file server", lists: "node smb list", onNode: "file server", offer: offerServers},
		"USER":   {means: "the name of an account of the file servers"},
		"ID":     {means: "the id of a fault", lists: "node fault list", onNode: "fault", offer: offerFaults},
		"DIR":    {means: "a directory of this host", file: true}, "FILE": {means: "a file of this host", file: true},
		"AUDITLOG": {means: "a file that csi-proxy -audit-log wrote", file: true},
	}
}

// command makes a command that takes arguments; those in brackets are optional, and come last.
func (a *connection) command(name, short string, takes ...string) *cobra.Command {
	c := &cobra.Command{Use: strings.Join(append([]string{name}, takes...), " "), Short: short, Args: a.checkArguments,
		ValidArgsFunction: a.completeArguments}
	if name == "list" {
		c.Aliases = []string{"ls"} // as gh, docker and helm have it
	}
	for _, take := range takes {
		word := strings.Trim(take, "[]")
		a.takes[c] = append(a.takes[c], argument{word, word != take, kinds()[word]})
	}
	return c
}

// checkArguments checks a command's arguments before anything is called. Its errors name what is missing.
func (a *connection) checkArguments(c *cobra.Command, args []string) error {
	takes := a.takes[c]
	if len(args) > len(takes) {
		return fmt.Errorf("%s takes %d arguments; %q is one too many", c.CommandPath(), len(takes), args[len(takes)])
	}
	var missing, what []string
	for _, of := range takes[len(args):] {
		if !of.optional {
			missing = append(missing, of.name)
			what = append(what, "\n  "+of.name+": "+of.means+of.listing())
		}
	}
	if len(missing) > 0 {
		return errors.New(c.CommandPath() + " needs " + strings.Join(missing, " and ") + strings.Join(what, ""))
	}
	for i, text := range args {
		if takes[i].name == "PORTAL" {
			if _, err := parsePortal(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// listing returns the end of a text: the command that lists what there is.
func (k kind) listing() string {
	if k.lists == "" {
		return ""
	}
	return "; csi-proxyctl " + k.lists + " lists them"
}

// names returns the last argument in the form in which names are offered, and those.
func (k kind) names(ctx context.Context, a *connection, args []string) (typed string, names []string) {
	before, typed := args[:len(args)-1], args[len(args)-1]
	if k.offer == nil {
		return typed, nil
	}
	typed = shortID(typed)
	if portal, err := parsePortal(typed); k.onNode == "portal" && err == nil {
		typed = portalText(portal.GetTargetAddress(), portal.GetTargetPort())
	}
	for _, offer := range k.offer(ctx, a, before) {
		name, _, _ := strings.Cut(offer, "\t")
		names = append(names, name)
	}
	return typed, names
}

// isNumber reports whether a text is the number of a disk.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

// isPath reports whether a text for a volume is a path, and not an id.
func isPath(text string) bool { return len(text) > 1 && text[1] == ':' }

// resolved returns a command's arguments with the numbers of the disks that they name by serial number, and the ids of
// the volumes that they name by the path of a mount.
func (a *connection) resolved(c *cobra.Command, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, of := range a.takes[c][:len(args)] {
		var look func(context.Context, *csiproxy.Client) error
		switch {
		case of.name == "DISK" && !isNumber(args[i]):
			look = func(ctx context.Context, client *csiproxy.Client) error {
				r, err := client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
				if err == nil {
					var number uint32
					number, err = diskIn(r.GetDiskIDs(), args[i])
					args[i] = fmt.Sprint(number)
				}
				return err
			}
		case of.name == "VOLUME" && isPath(args[i]):
			look = func(ctx context.Context, client *csiproxy.Client) error {
				r, err := client.Volume.GetVolumeIDFromTargetPath(ctx,
					&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: args[i]})
				args[i] = r.GetVolumeId()
				return err
			}
		default:
			continue
		}
		if err := a.api(c, look); err != nil {
			return nil, err
		}
	}
	return args, nil
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
	text, code := fmt.Sprintf("the disks %v have the serial number %q; give a number", found, serial),
		codes.FailedPrecondition
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		text, code = fmt.Sprintf("no disk has the number or serial number %q", serial)+didYouMean(serial, serials),
			codes.NotFound
	}
	return 0, &adminclient.Error{Text: text, Err: status.Error(code, text)}
}

// diskOf returns the number of a disk in the first argument, which has been resolved.
func diskOf(args []string) uint32 {
	number, _ := strconv.ParseUint(args[0], 10, 32)
	return uint32(number)
}
