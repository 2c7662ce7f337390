// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	proxyclient "github.com/kubernetes-csi/csi-proxy/client"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

func doctorCommand(a *connection) *cobra.Command {
	c := a.command("doctor", "Say what is wrong with this node, and what to do")
	c.Long = c.Short + `.

It looks at the agent's endpoints and their versions, services, the agent's privileges and directories, disks, volumes,
mount points and links, SMB mappings, iSCSI sessions, and operations that hang. It asks each disk, enters each share to
which a link leads, and changes nothing. If the agent has no admin endpoint, it uses what the storage API shows, which
brings the volumes online that it lists, and says what is missing. Commands are for PowerShell, or a POSIX shell beside
an emulated node. Of many objects with one cause, -o wide and json show all. The exit code is 0 if nothing is worse
than a note, else 1.

-o npd prints the worst finding in one line, for a custom plugin of node-problem-detector. A note is no problem there,
and the exit code is 2 if something could not be looked at.`
	c.Example = `  csi-proxyctl doctor
  csi-proxyctl doctor -o npd --reason DanglingMountPoint,DiskOffline`
	reasons := c.Flags().StringSlice("reason", nil,
		"with -o npd, look only for findings with this `reason`; may be repeated")
	all, notes := doctor.Reasons()
	complete(c, "reason", all...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*reasons) > 0 && a.output != outputNPD {
			return errors.New("--reason needs -o npd")
		}
		for _, reason := range *reasons {
			if slices.Contains(notes, reason) {
				return fmt.Errorf("%s is always a note, and notes set no node condition: leave it out", reason)
			}
			if !slices.Contains(all, reason) {
				return fmt.Errorf("no finding has the reason %q%s", reason, didYouMean(reason, all))
			}
		}
		if err := adminclient.CheckPlace(a.socketDir); err != nil {
			return err
		}
		ctx, cancel := a.limited(c.Context())
		defer cancel()
		facts := a.facts(ctx)
		if a.output == outputNPD {
			line, code := doctor.NPD(facts, *reasons)
			_, err := fmt.Fprintln(c.OutOrStdout(), line)
			return errors.Join(err, map[int]error{doctor.NPDProblem: failure{errPrinted}, doctor.NPDUnknown: errPrinted}[code])
		}
		findings := doctor.Examine(facts)
		if err := a.printFindings(c, findings, facts.Missing); err != nil {
			return err
		}
		if doctor.Bad(findings) {
			return failure{errPrinted}
		}
		return nil
	}
	return c
}

func (a *connection) printFindings(c *cobra.Command, findings []doctor.Finding, missing []string) error {
	names := namesOf(findings, func(f doctor.Finding) string { return f.Check })
	return a.printAnswer(c, answer{value: struct {
		Findings []doctor.Finding `json:"findings"`
		Missing  []string         `json:"missing"`
	}{append([]doctor.Finding{}, findings...), append([]string{}, missing...)}, names: names,
		rows: findingsRows(findings, brief(findings, missing), doctor.Finding.Brief),
		wide: findingsRows(findings, missing, func(f doctor.Finding) ([]doctor.Evidence, []string) {
			return f.Evidence, f.Do
		})})
}

// brief returns the first of what is missing that no finding says.
func brief(findings []doctor.Finding, missing []string) []string {
	const most = 5
	missing = slices.DeleteFunc(slices.Clone(missing), func(line string) bool {
		return slices.ContainsFunc(findings, func(f doctor.Finding) bool {
			return slices.Contains(f.Evidence, doctor.Evidence{Line: line})
		})
	})
	if more := len(missing) - most; more > 0 {
		missing = append(missing[:most], fmt.Sprintf("and %d more: csi-proxyctl doctor -o wide", more))
	}
	return missing
}

func findingsRows(findings []doctor.Finding, missing []string,
	lines func(doctor.Finding) (evidence []doctor.Evidence, do []string)) (rows []string) {
	counts, pods := map[doctor.Severity]int{}, false
	for _, f := range findings {
		counts[f.Severity]++
		rows = append(rows, fmt.Sprintf("%-8s %s", strings.ToUpper(string(f.Severity)), f.Title()))
		evidence, do := lines(f)
		for _, e := range evidence {
			rows, pods = append(rows, "         "+e.Line), pods || e.Pod != ""
		}
		if len(do) > 0 {
			rows = append(rows, "         Do: "+strings.Join(do, "\n             "))
		}
		rows = append(rows, "")
	}
	if len(missing) > 0 {
		rows = append(rows, "Not looked at:\n  "+strings.Join(missing, "\n  ")+"\n")
	}
	if len(findings) == 0 {
		return append(rows, "Nothing is wrong"+choose(len(missing) > 0, " with what was looked at.", "."))
	}
	if pods {
		rows = append(rows, "Pods are named by UID: kubectl get pods -A -o "+
			"custom-columns=NS:.metadata.namespace,POD:.metadata.name,UID:.metadata.uid")
	}
	var totals []string
	for _, severity := range []doctor.Severity{doctor.Problem, doctor.Warning, doctor.Note} {
		totals = append(totals, fmt.Sprintf("%d %s%s", counts[severity], severity, choose(counts[severity] == 1, "", "s")))
	}
	return append(rows, strings.Join(totals, ", ")+".")
}

// factsTime limits each query, so that a part of the node that hangs does not delay the others.
const factsTime = 15 * time.Second

// facts reads the facts about the node once. All queries run at the same time.
func (a *connection) facts(ctx context.Context) doctor.Facts {
	f := doctor.Facts{Newest: map[string]string{}, Endpoints: a.tryEndpoints(ctx)}
	for _, group := range versions.Groups() {
		f.Newest[group.Name] = group.Hub
	}
	if !slices.ContainsFunc(f.Endpoints, doctor.Endpoint.Exists) {
		f.Missing = []string{"everything else: no agent is running"}
		return f
	}
	answers := map[string]bool{}
	for _, e := range f.Endpoints {
		answers[e.Group] = answers[e.Group] || e.State == doctor.Answers
	}
	var missing, unanswered [5][]string // by query
	var late []string                   // parts of the first one
	var running sync.WaitGroup
	query := func(i int, group, name string, do func(ctx context.Context) (missing []string, err error)) {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, factsTime)
			defer cancel()
			err := fmt.Errorf("the group %s does not answer", group)
			if group == "" || answers[group] {
				missing[i], err = do(ctx)
			}
			if err != nil {
				missing[i] = append(missing[i], name+": "+a.reason(err))
			}
			if status.Code(err) == codes.DeadlineExceeded {
				unanswered[i] = []string{name}
			}
		})
	}
	query(0, "", "directories, mount points, links, SMB mappings, iSCSI sessions, privileges, operations that hang",
		func(ctx context.Context) (missing []string, err error) {
			f.Seen, err = a.seen(ctx, admin.Part_PART_LINKS, admin.Part_PART_MAPPINGS, admin.Part_PART_SESSIONS,
				admin.Part_PART_SHARES)
			if adminMissing(err) {
				err = errors.New(adminMissingText(err))
			}
			for _, gap := range f.Seen.GetGaps() {
				missing = append(missing, gap.GetPart()+": "+gap.GetError())
				if gap.GetUnanswered() {
					late = append(late, gap.GetPart())
				}
			}
			return missing, err
		})
	query(1, "disk", "disks and volumes", func(ctx context.Context) ([]string, error) {
		tree, err := a.tree(ctx, admin.Part_PART_CONTENTS)
		if err != nil {
			return nil, err
		}
		f.Tree = tree
		return append(tree.Missing, tree.Unknown...), nil
	})
	query(2, "system", "services", func(ctx context.Context) (missing []string, err error) {
		f.Services, err = a.services(ctx)
		return nil, err
	})
	if answers["iscsi"] { // else the node has none, or its group is off
		query(4, "iscsi", "iSCSI portals", func(ctx context.Context) ([]string, error) {
			r, err := invoke(ctx, a, csiproxy.ISCSIClient.ListTargetPortals, &csiproxy.ListTargetPortalsRequest{})
			for _, p := range r.GetTargetPortals() {
				f.Portals = append(f.Portals, net.JoinHostPort(p.GetTargetAddress(), fmt.Sprint(p.GetTargetPort())))
			}
			if status.Code(err) == codes.FailedPrecondition { // while MSiSCSI does not run
				err = nil
			}
			return nil, err
		})
	}
	query(3, "", "settings", func(ctx context.Context) ([]string, error) { return a.settings(ctx, &f), nil })
	running.Wait()
	f.Unanswered = append(slices.Concat(unanswered[:]...), late...)
	f.Staged, f.Missing = a.staged(ctx, &f), slices.Concat(missing[:]...)
	return f
}

// settings collects the settings for new disks and volumes, from an emulated node's switches or this machine's
// registry, the state of an emulated node, and the accounts that may change the agent's directories.
func (a *connection) settings(ctx context.Context, f *doctor.Facts) (missing []string) {
	emulated := false
	if switches, err := part[struct{ AutomountOff string }](ctx, a, "switches"); err == nil {
		f.AutomountOff, emulated = switches.AutomountOff == "true", true
	}
	active, _ := invoke(ctx, a, nodeClient.ListFaults, &nodeapi.ListFaultsRequest{})
	for _, s := range active.GetFaults() {
		f.Emulated.Faults = append(f.Emulated.Faults, fmt.Sprintf("fault %d: %s %s, has disturbed %d calls and holds %d",
			s.GetId(), faults.Calls(s.GetFault()), faults.Effect(s.GetFault()), s.GetDisturbed(), s.GetHolding()))
	}
	if at, err := partAt[string](ctx, a, "hostPath", `C:\`); err == nil {
		f.Emulated.Path = at
		f.Emulated.FreeBytes, f.Emulated.SizeBytes = space(at)
	}
	addMissing := func(what string, err error) {
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			missing = append(missing, what+": "+err.Error())
		}
	}
	if !emulated {
		registry := func(what, key, value string) uint64 {
			number, err := registryNumber(key, value)
			addMissing(what, err)
			return number
		}
		// mountvol /N sets this value of the mount manager, as in ReactOS (MountmgrWriteNoAutoMount).
		f.AutomountOff = registry("automount", `SYSTEM\CurrentControlSet\Services\MountMgr`, "NoAutoMount") != 0
		f.SANPolicy = doctor.SANPolicyOf(
			registry("SAN policy", `SYSTEM\CurrentControlSet\Services\partmgr\Parameters`, "SanPolicy"))
		f.BitLockerRequired = registry("BitLocker's policy", doctor.BitLockerKey, doctor.BitLockerValue) == 1
	}
	directories, err := a.directories()
	f.Directories = directories
	addMissing("the accounts that may change the agent's directories", err)
	return missing
}

const answerTime = 3 * time.Second

// tryEndpoints tries all endpoints that an agent may serve, in parallel. The results are ordered by group and version.
func (a *connection) tryEndpoints(ctx context.Context) []doctor.Endpoint {
	var all []doctor.Endpoint
	for _, group := range versions.Groups() {
		for _, version := range append(group.Versions(), group.Hub) {
			all = append(all, doctor.Endpoint{Group: group.Name, Version: version})
		}
	}
	var tries sync.WaitGroup
	for i := range all {
		tries.Go(func() { a.try(ctx, &all[i]) })
	}
	tries.Wait()
	return all
}

// try opens an endpoint, checks its health, and sets the result. An agent without a health service counts as answering.
func (a *connection) try(ctx context.Context, e *doctor.Endpoint) {
	pipe := proxyclient.PipePath(e.Group, apiversion.NewVersionOrPanic(e.Version))
	e.Address = a.address(e.Group, e.Version)
	limit := answerTime
	if a.timeout > 0 {
		limit = min(limit, a.timeout)
	}
	late := "no answer within " + limit.String()
	connection, err := dial.Open(ctx, pipe, dial.Options{SocketDir: a.socketDir})
	if err != nil {
		e.State, e.Detail = endpointState(err)
		if e.State == doctor.Silent {
			e.Detail = late
		}
		return
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		e.State, e.Detail = doctor.Silent, late
	case codes.Unavailable:
		e.State, e.Detail = doctor.Broken, status.Convert(err).Message()
	default:
		e.State = doctor.Answers
		if server, err := transport.ServerOf(ctx, e.Address); err == nil && server.Known() {
			e.Server = server.String()
		}
	}
}

// address returns the pipe or socket of a version.
func (a *connection) address(group, version string) string {
	name := "csi-proxy-" + group + "-" + version
	if runtime.GOOS == "windows" {
		return `\\.\pipe\` + name
	}
	return filepath.Join(cmp.Or(a.socketDir, os.Getenv(dial.SocketDirVariable)), name+".sock")
}

// endpointState returns the state and the detail of an endpoint that cannot be opened.
func endpointState(err error) (doctor.State, string) {
	cause := err
	if at := (*dial.Error)(nil); errors.As(err, &at) {
		cause = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doctor.Absent, cause.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return doctor.Abandoned, ""
	case errors.Is(err, fs.ErrPermission):
		return doctor.Denied, cause.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return doctor.Silent, cause.Error()
	default:
		return doctor.Broken, cause.Error()
	}
}
