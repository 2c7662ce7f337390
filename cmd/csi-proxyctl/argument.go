// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// An argument is an argument of a command.
type argument struct {
	name     string // DISK
	optional bool
	kind
}

// A kind is the meaning that an argument's name has in all commands. Its functions get the arguments up to this one.
type kind struct {
	means  string // for the user
	lists  string // the command that lists the objects
	file   bool   // a file of this host
	onNode string // the word for the object in errors of an emulated node, all of whose objects complete returns
	// complete returns the objects' names, with a description after a tab, from the arguments before this one.
	complete func(ctx context.Context, a *connection, before []string) []string
	// describe describes the object, as far as the agent's version allows. It fails if there is no such object.
	describe func(ctx context.Context, a *connection, args []string) ([]string, error)
}

func kinds() map[string]kind {
	return map[string]kind{
		"DISK": {means: "the number or serial number of a disk", lists: "disk list", onNode: "disk",
			complete: completeDisks, describe: describeDisk},
		"VOLUME": {means: "the id of a volume, or a path at which it is mounted", lists: "volume list",
			complete: completeVolumes, describe: describeVolume},
		"PATH": {means: `a Windows path below a working directory of the agent, such as 'C:\var\lib\kubelet\pods'`,
			describe: describePath},
		"SOURCE":  {means: "the path or share that the link leads to"},
		"WINPATH": {means: `a path of the node, such as 'C:\var\lib\kubelet'`},
		"SHARE": {means: `a share, such as '\\server\share'`, lists: "smb list", onNode: "share", complete: completeShares,
			describe: describeMapping},
		"PORTAL": {means: "the address of an iSCSI portal, such as 192.0.2.10 or 192.0.2.10:3260", lists: "iscsi portal list",
			onNode: "portal", complete: completePortals},
		"TARGET": {means: "an iSCSI qualified name", lists: "iscsi portal discover PORTAL", onNode: "session with",
			complete: completeTargets, describe: describeTarget},
		"SERVICE": {means: "the name of a Windows service, such as MSiSCSI", lists: "system service list", onNode: "service",
			complete: completeServices, describe: describeService},
		"SERVER": {means: "the name of a file server", lists: "node smb list", onNode: "file server",
			complete: completeServers},
		"USER": {means: "the name of an account of the file servers"},
		"ID":   {means: "the id of a fault", lists: "node fault list", onNode: "fault", complete: completeFaults},
		"DIR":  {means: "a directory of this host", file: true}, "FILE": {means: "a file of this host", file: true},
		"AUDITLOG": {means: "a file that csi-proxy -audit-log wrote", file: true},
	}
}

// command returns a command that takes arguments. Optional ones are in brackets and come last.
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

// checkArguments checks the number of a command's arguments. Its errors explain the missing ones.
func (a *connection) checkArguments(c *cobra.Command, args []string) error {
	takes := a.takes[c]
	if len(args) > len(takes) {
		return fmt.Errorf("%s takes %d arguments; %q is one too many", c.CommandPath(), len(takes), args[len(takes)])
	}
	var missing, meanings []string
	for _, of := range takes[len(args):] {
		if !of.optional {
			missing = append(missing, of.name)
			meanings = append(meanings, "\n  "+of.name+": "+of.means+of.listing())
		}
	}
	if len(missing) > 0 {
		return errors.New(c.CommandPath() + " needs " + strings.Join(missing, " and ") + strings.Join(meanings, ""))
	}
	return nil
}

// listing returns the end of an error's text: the command that lists the objects.
func (k kind) listing() string {
	if k.lists == "" {
		return ""
	}
	return "; csi-proxyctl " + k.lists + " lists them"
}

// names returns the last argument in the form of the completions, and the completions without descriptions.
func (k kind) names(ctx context.Context, a *connection, args []string) (typed string, names []string) {
	before, typed := args[:len(args)-1], args[len(args)-1]
	if k.complete == nil {
		return typed, nil
	}
	typed = shortID(typed)
	if portal, err := parsePortal(typed); k.onNode == "portal" && err == nil {
		typed = portalText(portal.GetTargetAddress(), portal.GetTargetPort())
	}
	for _, completion := range k.complete(ctx, a, before) {
		name, _, _ := strings.Cut(completion, "\t")
		names = append(names, name)
	}
	return typed, names
}

// isNumber reports whether a text is a disk's number, and not its serial number.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil
}

// isPath reports whether a text for a volume is a path, and not the volume's id.
func isPath(text string) bool { return len(text) > 1 && text[1] == ':' }

// resolved replaces serial numbers by disk numbers, mount paths by volume ids, and relative directories by absolute
// ones, because the agent has another current directory.
func (a *connection) resolved(c *cobra.Command, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, of := range a.takes[c][:len(args)] {
		var err error
		switch {
		case of.name == "DISK" && !isNumber(args[i]):
			var number uint32
			number, err = a.diskWith(c.Context(), args[i])
			args[i] = fmt.Sprint(number)
		case of.name == "VOLUME" && isPath(args[i]):
			args[i], err = a.volumeAt(c.Context(), args[i])
		case of.name == "DIR":
			args[i], err = filepath.Abs(args[i])
		case of.name == "PORTAL":
			_, err = parsePortal(args[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

// volumeAt returns the id of the volume that is mounted at a path.
func (a *connection) volumeAt(ctx context.Context, path string) (string, error) {
	r, err := invoke(ctx, a, csiproxy.VolumeClient.GetVolumeIDFromTargetPath,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func (a *connection) diskNumbers(ctx context.Context) ([]uint32, error) {
	r, err := invoke(ctx, a, csiproxy.DiskClient.ListDiskIDs, &csiproxy.ListDiskIDsRequest{})
	return slices.Sorted(maps.Keys(r.GetDiskIDs())), err
}

// diskWith returns the number of the disk with a serial number.
func (a *connection) diskWith(ctx context.Context, serial string) (uint32, error) {
	r, err := invoke(ctx, a, csiproxy.DiskClient.ListDiskIDs, &csiproxy.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	return diskIn(r.GetDiskIDs(), serial)
}

// diskIn returns the number of the disk in a list that has a serial number.
func diskIn(list map[uint32]*csiproxy.DiskIDs, serial string) (uint32, error) {
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
		return 0, failedWith(codes.NotFound,
			fmt.Sprintf("no disk has the number or serial number %q", serial)+didYouMean(serial, serials))
	}
	return 0, failedWith(codes.FailedPrecondition,
		fmt.Sprintf("the disks %v have the serial number %q; give a number", found, serial))
}

// diskOf returns the disk number in the first argument, which is resolved.
func diskOf(args []string) uint32 {
	number, _ := strconv.ParseUint(args[0], 10, 32)
	return uint32(number)
}
