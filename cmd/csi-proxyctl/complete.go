// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/methods"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/similar"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// completionTime limits the calls of a completion: the user waits.
const completionTime = 2 * time.Second

// completeArguments completes a command's arguments.
func (a *connection) completeArguments(c *cobra.Command, args []string, _ string) ([]string,
	cobra.ShellCompDirective) {
	takes := a.takes[c]
	if len(args) >= len(takes) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeKind(c, takes[len(args)].kind, args)
}

// completeKind completes an object of a kind, from the arguments before it.
func (a *connection) completeKind(c *cobra.Command, next kind, args []string) ([]string, cobra.ShellCompDirective) {
	switch {
	case next.file:
		return nil, cobra.ShellCompDirectiveDefault
	case next.complete == nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	list := next.complete(ctx, a, args)
	if c.Name() == "unmap" {
		list = slices.DeleteFunc(list, func(share string) bool { return strings.HasSuffix(share, notMapped) })
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// complete completes a flag with fixed values. It panics if there is no such flag.
func complete(c *cobra.Command, flag string, values ...string) {
	completeWith(c, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeWith(c *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err)
	}
}

// completeCalls completes the flags that select calls by their function or their method.
func completeCalls(c *cobra.Command) {
	complete(c, "function", faults.Functions()...)
	complete(c, "method", faults.Masks(policy.Methods())...)
}

// The completers below ignore errors, which a shell cannot show. A description follows a tab.

// completeServices returns the services that storage needs, or all of an emulated node, where the agent is none.
func completeServices(ctx context.Context, a *connection, _ []string) []string {
	list := []string{"LanmanWorkstation\tSMB client", "MSiSCSI\tiSCSI initiator", "csiproxy\tthe agent"}
	r, err := invoke(ctx, a, nodeClient.ListServices, &nodeapi.ListServicesRequest{})
	if err == nil {
		list = slices.DeleteFunc(list, func(known string) bool { return strings.HasPrefix(known, "csiproxy\t") })
	}
	for _, s := range r.GetServices() {
		if !slices.ContainsFunc(list, func(known string) bool { return strings.HasPrefix(known, s.GetName()+"\t") }) {
			list = append(list, s.GetName())
		}
	}
	return list
}

// plainUsages takes the backquotes, which mark a value's name in the help, out of the usages of all flags. Cobra
// completes flags with their usages as they are.
func plainUsages(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainUsages(sub)
	}
}

func completeDisks(ctx context.Context, a *connection, _ []string) (list []string) {
	disks, _ := a.diskIDs(ctx)
	for number, id := range disks {
		text := fmt.Sprint(number)
		if serial := id.GetSerialNumber(); serial != "" {
			text += "\tserial " + serial
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// completeVolumes returns the volumes' ids in the short form, which needs no quotes.
func completeVolumes(ctx context.Context, a *connection, _ []string) (list []string) {
	tree, err := a.tree(ctx)
	if err != nil {
		return nil
	}
	for d, p := range tree.Volumes() {
		list = append(list, fmt.Sprintf("%s\tdisk %d", shortID(p.Volume.ID), d.Number))
	}
	return list
}

// namesOf returns the names, or another property, of objects.
func namesOf[T, N any](objects []T, name func(T) N) []N {
	list := []N{}
	for _, object := range objects {
		list = append(list, name(object))
	}
	return list
}

// network returns the file servers and portals of an emulated node.
func network(ctx context.Context, a *connection) *nodeapi.ListNetworkResponse {
	r, _ := invoke(ctx, a, nodeClient.ListNetwork, &nodeapi.ListNetworkRequest{})
	return r
}

// completePortals returns the registered portals, and all portals of an emulated node.
func completePortals(ctx context.Context, a *connection, _ []string) []string {
	r, _ := invoke(ctx, a, csiproxy.IscsiClient.ListTargetPortals, &csiproxy.ListTargetPortalsRequest{})
	list := append(namesOf(network(ctx, a).GetPortals(),
		func(p *nodeapi.ISCSIPortal) string { return portalText(p.GetAddress(), p.GetPort()) }),
		namesOf(r.GetTargetPortals(),
			func(p *csiproxy.TargetPortal) string { return portalText(p.GetTargetAddress(), p.GetTargetPort()) })...)
	slices.Sort(list)
	return slices.Compact(list)
}

// completeTargets returns the targets of the portal argument, or without one the connected targets.
func completeTargets(ctx context.Context, a *connection, before []string) []string {
	if len(before) > 0 {
		r, _ := invoke(ctx, a, csiproxy.IscsiClient.DiscoverTargetPortal,
			&csiproxy.DiscoverTargetPortalRequest{TargetPortal: portalOf(before)})
		return r.GetIqns()
	}
	r, _ := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	return namesOf(r.GetIscsiSessions(), (*admin.ISCSISession).GetTarget)
}

// notMapped describes a share that could be mapped.
const notMapped = "\tnot mapped"

// completeShares returns the shares of the server argument, or without one the mapped shares and all of an emulated
// node.
func completeShares(ctx context.Context, a *connection, before []string) (list []string) {
	servers := network(ctx, a).GetServers()
	if len(before) > 0 {
		for _, s := range servers {
			if strings.EqualFold(s.GetName(), before[0]) {
				list = append(list, s.GetShares()...)
			}
		}
		return list
	}
	r, _ := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	mapped := map[string]bool{}
	for _, m := range r.GetSmbMappings() {
		mapped[strings.ToLower(m.GetRemotePath())] = true
		list = append(list, m.GetRemotePath()+"\t"+m.GetStatus())
	}
	for _, s := range servers {
		for _, share := range s.GetShares() {
			if path := `\\` + s.GetName() + `\` + share; !mapped[strings.ToLower(path)] {
				list = append(list, path+notMapped)
			}
		}
	}
	return list
}

func completeServers(ctx context.Context, a *connection, _ []string) []string {
	return namesOf(network(ctx, a).GetServers(), (*nodeapi.FileServer).GetName)
}

func completeFaults(ctx context.Context, a *connection, _ []string) []string {
	r, _ := invoke(ctx, a, nodeClient.ListFaults, &nodeapi.ListFaultsRequest{})
	return namesOf(r.GetFaults(), func(s *nodeapi.FaultStatus) string {
		return fmt.Sprintf("%d\t%s %s", s.GetId(), faults.Calls(s.GetFault()), faults.Effect(s.GetFault()))
	})
}

// didYouMean returns the end of an error's text: similar names, or all names if they are at most six. It is empty if
// text is one of the names.
func didYouMean(text string, names []string) string {
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, text) }) {
		return ""
	}
	if meant := similar.Meant(text, names); meant != "" || len(names) > 6 {
		return meant
	}
	return "; there are: " + strings.Join(names, ", ")
}

// subcommand checks the arguments of a command that only groups others, and suggests what was meant.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names, lists, meant []string
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "completion" {
			continue
		}
		names = append(names, sub.Name())
		if list, _, err := sub.Find([]string{"list"}); err == nil && list.Name() == "list" {
			lists = append(lists, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, args[0]) {
			meant = append(meant, sub.Name())
		}
	}
	list := func(nouns []string) []string {
		return namesOf(nouns, func(noun string) string { return noun + " list" })
	}
	switch nouns := similar.Names(strings.Join(args[1:min(2, len(args))], ""), lists); {
	case args[0] == "list" || args[0] == "ls":
		meant = list(lists)
	case args[0] == "get" && len(nouns) > 0: // as kubectl has it: get disks
		meant = list(nouns)
	case len(meant) == 0:
		meant = similar.Names(args[0], names)
	}
	text, to := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath()), c.CommandPath()+" "
	if len(meant) > 0 {
		return fmt.Errorf("%s; did you mean %s%s?", text, to, strings.Join(meant, " or "+to))
	}
	return fmt.Errorf("%s; there are: %s", text, strings.Join(names, ", "))
}

// flagError adds similar flags to the error of an unknown flag, and examples to that of a duration.
func flagError(c *cobra.Command, err error) error {
	unknown, invalid := (*pflag.NotExistError)(nil), (*pflag.InvalidValueError)(nil)
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration" {
		return fmt.Errorf("--%s %q is not a duration such as 30s or 5m", invalid.GetFlag().Name, invalid.GetValue())
	}
	if errors.As(err, &invalid) && strings.Contains(invalid.GetFlag().Value.Type(), "int") {
		return fmt.Errorf("--%s %q is not a number, or too large a one", invalid.GetFlag().Name, invalid.GetValue())
	}
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, similar.Meant("--"+unknown.GetSpecifiedName(), names))
}

// suggestion returns the end of the text of a call that failed because it names an unknown object: similar names, from
// the completions of the command's arguments.
func (a *connection) suggestion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completionTime)
	defer cancel()
	for i, of := range a.takes[a.running] {
		// diskIn and advice have their own texts. A wrong path is not a misspelt volume.
		if i >= len(a.args) || of.name == "DISK" || of.name == "VOLUME" && isPath(a.args[i]) {
			continue
		}
		typed, names := of.names(ctx, a, a.args[:i+1])
		if meant := didYouMean(typed, names); meant != "" || of.name == "PORTAL" && !slices.Contains(names, typed) {
			return meant // the targets of a portal that is not there would be one more failed call
		}
	}
	return ""
}

// unknownCalls returns the text of a warning if no kernel function or no method has the name, and otherwise nothing.
func unknownCalls(function, method string) string {
	if function != "" && faults.FunctionNamed(function) == "" {
		return fmt.Sprintf("there is no kernel function %q%s", function, didYouMean(function, faults.Functions()))
	}
	mask, err := methods.Parse(method)
	if method == "" || err != nil || slices.ContainsFunc(policy.Methods(), mask.Match) {
		return ""
	}
	return fmt.Sprintf("no method is called %q%s", method, didYouMean(method, faults.Masks(policy.Methods())))
}
