// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/faulttext"
)

// factsTime is how long each part of the facts may take. On a node where something hangs, the other parts must not wait
// for it.
const factsTime = 25 * time.Second

// A part of the facts.
type part struct {
	what string // "disks and volumes"
	ask  func(ctx context.Context) (missing []string, err error)
}

// facts returns what can be found out about the node, and what cannot. All questions are asked at the same time.
func (a *connection) facts(ctx context.Context) (doctor.Facts, []string) {
	f := doctor.Facts{Newest: map[string]string{}, Endpoints: a.tryEndpoints(ctx)}
	for _, group := range versions.Groups() {
		f.Newest[group.Name] = group.Hub
	}
	answers, there := map[string]bool{}, false
	for _, e := range f.Endpoints {
		there = there || e.State != doctor.Absent && e.State != doctor.Abandoned
		answers[e.Group] = answers[e.Group] || e.State == doctor.Answers
	}
	if !there {
		return f, []string{"everything else: there is no agent to ask"}
	}
	questions := []part{
		{"mount points and links that lead nowhere, SMB mappings, iSCSI sessions, privileges, operations that hang",
			func(ctx context.Context) ([]string, error) { return a.inspect(ctx, &f) }},
		{"disks and volumes", func(ctx context.Context) ([]string, error) {
			if !answers["disk"] {
				return nil, errors.New("the group disk does not answer")
			}
			tree, _, err := a.tree(ctx)
			if err != nil {
				return nil, err
			}
			f.Tree = tree
			return tree.Missing, nil
		}},
		{"services", func(ctx context.Context) ([]string, error) {
			if !answers["system"] {
				return nil, errors.New("the group system does not answer")
			}
			return nil, a.services(ctx, &f)
		}},
		{"settings", func(ctx context.Context) ([]string, error) { return a.settings(ctx, &f), nil }},
	}
	missing, failed := make([][]string, len(questions)), make([]error, len(questions))
	var asked sync.WaitGroup
	for i, q := range questions {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, factsTime)
			defer cancel()
			missing[i], failed[i] = q.ask(ctx)
		})
	}
	asked.Wait()
	for i, q := range questions {
		if err := failed[i]; err != nil {
			missing[i] = append(missing[i], q.what+": "+a.reason(err))
			if status.Code(err) == codes.DeadlineExceeded { // which is a fact as well
				f.Unanswered = append(f.Unanswered, q.what)
			}
		}
	}
	return f, slices.Concat(missing...)
}

// inspect asks the admin endpoint what only it knows.
func (a *connection) inspect(ctx context.Context, f *doctor.Facts) (missing []string, err error) {
	f.Inspected, err = invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	if withoutAdmin(err) {
		err = errors.New(noAdmin(err))
	}
	return f.Inspected.GetMissing(), err
}

// settings finds out what Windows does with new disks and volumes, from an emulated node's switches or from this
// machine's registry, what else is to know about an emulated node, and who may change the agent's directories.
func (a *connection) settings(ctx context.Context, f *doctor.Facts) (missing []string) {
	emulated := false
	switches, _ := invoke(ctx, a, nodeClient.ListSwitches, &admin.ListSwitchesRequest{})
	for _, s := range switches.GetSwitches() {
		switch s.GetName() {
		case "automountOff":
			f.AutomountOff, emulated = s.GetValue() == "true", true
		case "sanPolicy":
			f.SANPolicy = s.GetValue()
		}
	}
	faults, _ := invoke(ctx, a, nodeClient.ListFaults, &admin.ListFaultsRequest{})
	for _, s := range faults.GetFaults() {
		f.Emulated.Faults = append(f.Emulated.Faults, fmt.Sprintf("fault %d: %s %s, has disturbed %d calls and holds %d",
			s.GetId(), faulttext.Calls(s.GetFault()), faulttext.EffectOf(s.GetFault()), s.GetDisturbed(), s.GetHolding()))
	}
	if at, err := invoke(ctx, a, nodeClient.GetPath, &admin.GetPathRequest{WindowsPath: `C:\`}); err == nil {
		f.Emulated.Path, f.Emulated.FreeBytes = at.GetHostPath(), freeBytes(at.GetHostPath())
	}
	lacks := func(what string, err error) {
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			missing = append(missing, what+": "+err.Error())
		}
	}
	var err error
	if !emulated {
		f.AutomountOff, err = automountOff()
		lacks("automount", err)
		f.SANPolicy, err = sanPolicy()
		lacks("SAN policy", err)
		f.BitLockerRequired, err = bitLockerRequired()
		lacks("BitLocker's policy", err)
	}
	f.Directories, err = a.directories()
	lacks("who may change the agent's directories", err)
	return missing
}

// services asks the API for the services that matter.
func (a *connection) services(ctx context.Context, f *doctor.Facts) (failed error) {
	for _, one := range storageServices() {
		s, err := a.service(ctx, one.Name)
		switch {
		case err == nil:
			one.Installed, one.Status, one.Start = true, s.Status, s.StartType
			f.Services = append(f.Services, one)
		case status.Code(err) == codes.NotFound:
			f.Services = append(f.Services, one)
		default:
			failed = cmp.Or(failed, fmt.Errorf("service %s: %w", one.Name, err))
		}
	}
	return failed
}
