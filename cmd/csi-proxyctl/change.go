// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

const (
	dryRunFlag = "dry-run"
	yesFlag    = "yes"
	effect     = "effect" // annotation of a destructive command: what the user loses
)

// withDryRun adds the flags of all changes. A script need not know which of them ask.
func withDryRun(c *cobra.Command) *cobra.Command {
	c.Flags().Bool(dryRunFlag, false, "print the planned change, and change nothing")
	c.Flags().BoolP(yesFlag, "y", false, "do not ask for confirmation, which destructive changes do")
	c.MarkFlagsMutuallyExclusive(dryRunFlag, yesFlag)
	return c
}

// destructive makes a change describe its object and its effect, and ask for confirmation.
func destructive(c *cobra.Command, means string) *cobra.Command {
	c.Annotations = map[string]string{effect: means}
	return c
}

// confirmed reports whether a command may make its change. With --dry-run it prints the plan and returns false.
func (a *connection) confirmed(c *cobra.Command, args []string) (bool, error) {
	is := func(flag string) bool { f := c.Flags().Lookup(flag); return f != nil && f.Value.String() == "true" }
	if !is(dryRunFlag) && (c.Annotations[effect] == "" || is(yesFlag)) {
		return true, nil
	}
	found, err := a.describe(c, args)
	if err != nil {
		return false, err
	}
	what, means := a.plannedChange(c), c.Annotations[effect]
	if is(dryRunFlag) {
		rows := append([]string{"Would " + what + "."}, found...)
		if means != "" {
			rows = append(rows, means)
		}
		return false, a.printAnswer(c, answer{value: map[string]any{"wouldDo": what, "found": found, effect: means},
			rows: rows})
	}
	in := c.InOrStdin()
	if f, is := in.(*os.File); !is || !term.IsTerminal(int(f.Fd())) {
		return false, failure{errNotConfirmed}
	}
	for _, line := range append(found, means) {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), terminal.Text(line))
	}
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s? [y/N] ", terminal.Text(strings.ToUpper(what[:1])+what[1:]))
	answer, _ := bufio.NewReader(in).ReadString('\n') // end of file: no answer
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return false, failure{errNotConfirmed}
	}
	return true, nil
}

// describe describes the objects of a change, of a destructive one only the last. It fails if there is no agent or no
// such object.
func (a *connection) describe(c *cobra.Command, args []string) (lines []string, err error) {
	lines = []string{}
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return nil, err
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	if _, err := a.client().Connect(ctx); err != nil {
		return nil, a.explain(ctx, err)
	}
	for i, of := range a.takes[c][:len(args)] {
		if of.describe == nil || c.Annotations[effect] != "" && i < len(args)-1 {
			continue
		}
		more, err := of.describe(ctx, a, args[:i+1])
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

func describeDisk(ctx context.Context, a *connection, args []string) ([]string, error) {
	number := diskOf(args[len(args)-1:])
	_, err := invoke(ctx, a, csiproxy.DiskClient.GetDiskStats, &csiproxy.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return nil, err
	}
	return a.disksTree(ctx, fmt.Sprint(number))
}

func describeVolume(ctx context.Context, a *connection, args []string) ([]string, error) {
	r, err := invoke(ctx, a, csiproxy.VolumeClient.GetDiskNumberFromVolumeID,
		&csiproxy.GetDiskNumberFromVolumeIDRequest{VolumeId: args[len(args)-1]})
	if err != nil {
		return nil, err
	}
	return a.disksTree(ctx, fmt.Sprint(r.GetDiskNumber()))
}

// disksTree shows disks, by their numbers, and their users.
func (a *connection) disksTree(ctx context.Context, numbers ...string) ([]string, error) {
	tree, err := a.tree(ctx)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	disk := &treeview.Tree{Disks: slices.DeleteFunc(tree.Disks,
		func(d treeview.Disk) bool { return !slices.Contains(numbers, fmt.Sprint(d.Number)) })}
	err = treeview.Write(&text, disk)
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	seen, _ := a.seen(ctx, admin.Part_PART_LINKS) // without an admin endpoint, the users are not known
	for _, p := range disk.Volumes() {
		lines = append(lines, doctor.Users(seen, p.Volume.ID)...)
	}
	return lines, err
}

func describePath(ctx context.Context, a *connection, args []string) ([]string, error) {
	path := args[len(args)-1]
	exists, err := invoke(ctx, a, csiproxy.FilesystemClient.PathExists, &csiproxy.PathExistsRequest{Path: path})
	if err != nil {
		return nil, err
	}
	if !exists.GetExists() {
		return []string{path + ": not there"}, nil
	}
	seen, _ := a.seen(ctx, admin.Part_PART_LINKS) // without an admin endpoint, the users are not known
	users := doctor.UsersThrough(seen, path)
	if id, err := a.volumeAt(ctx, path); err == nil {
		return append([]string{path + ": the volume " + id + " is mounted there; its content is not touched"}, users...), nil
	}
	link, err := invoke(ctx, a, csiproxy.FilesystemClient.IsSymlink, &csiproxy.IsSymlinkRequest{Path: path})
	if err == nil && link.GetIsSymlink() {
		return append([]string{path + ": a link; what it leads to is not touched"}, users...), nil
	}
	return append([]string{path + ": a directory, or a link that leads nowhere"}, users...), nil
}

func describeTarget(ctx context.Context, a *connection, args []string) ([]string, error) {
	r, err := invoke(ctx, a, csiproxy.ISCSIClient.GetTargetDisks,
		&csiproxy.GetTargetDisksRequest{TargetPortal: portalOf(args), Iqn: args[1]})
	if len(r.GetDiskIDs()) == 0 {
		return []string{"The target has given this node no disks."}, err
	}
	lines := []string{"Disks of the target: " + strings.Join(r.GetDiskIDs(), ", ")}
	disks, _ := a.disksTree(ctx, r.GetDiskIDs()...) // without them, the plan names the disks alone
	return append(lines, disks...), nil
}

func describeService(ctx context.Context, a *connection, args []string) ([]string, error) {
	name := args[len(args)-1]
	r, err := invoke(ctx, a, csiproxy.SystemClient.GetService, &csiproxy.GetServiceRequest{Name: name})
	return []string{"Service " + name + " (" + r.GetDisplayName() + "): " + word(r.GetStatus()) + ", starts " +
		word(r.GetStartType())}, err
}

// onEmulatedNode reports whether a command changes an emulated node.
func (a *connection) onEmulatedNode(c *cobra.Command) bool {
	return strings.HasPrefix(c.CommandPath(), c.Root().Name()+" node ")
}

// plannedChange returns the description of a command with its arguments and flags. Secrets are in files, not in flags.
func (a *connection) plannedChange(c *cobra.Command) string {
	what, _, _ := strings.Cut(strings.ToLower(c.Short[:1])+c.Short[1:], ";")
	var parts []string
	for i, arg := range c.Flags().Args() {
		parts = append(parts, a.takes[c][i].name+" "+arg)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != dryRunFlag && f.Name != yesFlag && c.InheritedFlags().Lookup(f.Name) == nil {
			values := []string{f.Value.String()}
			if list, is := f.Value.(pflag.SliceValue); is {
				values = list.GetSlice()
			}
			for _, value := range values {
				parts = append(parts, "--"+f.Name+" "+value)
			}
		}
	})
	if len(parts) == 0 {
		return what
	}
	return what + ": " + strings.Join(parts, ", ")
}
