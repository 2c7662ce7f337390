// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

// factsTime is how long each part of the facts may take. On a node where something hangs, the other parts must not wait
// for it.
const factsTime = 25 * time.Second

// examination collects facts. Its parts run at the same time.
type examination struct {
	a       *connection
	mu      sync.Mutex // guards the rest
	facts   doctor.Facts
	missing []string
}

// facts returns what can be found out about the node, and what cannot.
func (a *connection) facts(ctx context.Context) (doctor.Facts, []string) {
	x := &examination{a: a, facts: doctor.Facts{Newest: map[string]string{}}}
	for _, group := range versions.Groups() {
		x.facts.Newest[group.Name] = group.Hub
	}
	x.facts.Endpoints = a.tryEndpoints(ctx)
	if !slices.ContainsFunc(x.facts.Endpoints, func(e doctor.Endpoint) bool { return e.State != doctor.Absent }) {
		return x.facts, []string{"everything else: there is no agent to ask"}
	}
	answers := map[string]bool{}
	for _, e := range x.facts.Endpoints {
		answers[e.Group] = answers[e.Group] || e.State == doctor.Answers
	}
	var missing [4][]string // in a fixed order
	var parts sync.WaitGroup
	parts.Go(func() { missing[0] = x.inspect(ctx) })
	parts.Go(func() { missing[3] = x.settings(ctx) })
	if answers["disk"] {
		parts.Go(func() { missing[1] = x.tree(ctx) })
	} else {
		missing[1] = []string{"disks and volumes: the group disk does not answer"}
	}
	if answers["system"] {
		parts.Go(func() { missing[2] = x.services(ctx) })
	} else {
		missing[2] = []string{"services: the group system does not answer"}
	}
	parts.Wait()
	for _, some := range missing {
		x.missing = append(x.missing, some...)
	}
	return x.facts, x.missing
}

// inspect asks the admin endpoint what only it knows.
func (x *examination) inspect(ctx context.Context) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	var r *admin.InspectResponse
	err := x.a.call(ctx, func(ctx context.Context, client *adminclient.Client) (err error) {
		r, err = client.Inspect(ctx, &admin.InspectRequest{})
		return err
	})
	const what = "mount points and links that lead nowhere, SMB mappings, iSCSI sessions, privileges, operations that hang"
	if withoutAdmin(err) {
		return []string{what + ": " + noAdmin(err)}
	}
	if err != nil {
		return x.lacks(what, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.facts.Inspected = r
	return r.GetMissing()
}

// settings finds out what Windows does with new disks and volumes, from an emulated node's switches or from this
// machine's registry, and who may change the agent's directories.
func (x *examination) settings(ctx context.Context) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	off, denied, policy, emulated := false, false, "", false
	_ = x.a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		list, err := client.ListSwitches(ctx, &admin.ListSwitchesRequest{})
		for _, s := range list.GetSwitches() {
			switch s.GetName() {
			case "automountOff":
				off, emulated = s.GetValue() == "true", true
			case "sanPolicy":
				policy = s.GetValue()
			}
		}
		return err
	})
	if !emulated {
		var err error
		if off, err = automountOff(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			missing = append(missing, "automount: "+err.Error())
		}
		if policy, err = sanPolicy(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			missing = append(missing, "SAN policy: "+err.Error())
		}
		if denied, err = bitLockerRequired(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			missing = append(missing, "BitLocker's policy: "+err.Error())
		}
	}
	directories, err := x.a.directories()
	if err != nil {
		missing = append(missing, "who may change the agent's directories: "+err.Error())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.facts.AutomountOff, x.facts.BitLockerRequired, x.facts.SANPolicy, x.facts.Directories = off,
		denied, policy, directories
	return missing
}

// tree reads disks and volumes.
func (x *examination) tree(ctx context.Context) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	tree, _, err := x.a.tree(ctx)
	if err != nil {
		return x.lacks("disks and volumes", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.facts.Tree = tree
	return tree.Missing
}

// services asks the API for the services that matter.
func (x *examination) services(ctx context.Context) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	client := x.a.client()
	defer func() { _ = client.Close() }()
	var found []doctor.Service
	for _, name := range storageServices() {
		s, err := getService(ctx, client, name)
		switch {
		case err == nil:
			found = append(found, doctor.Service{Name: name, Installed: true, Status: s.Status, Start: s.StartType})
		case status.Code(err) == codes.NotFound:
			found = append(found, doctor.Service{Name: name})
		default:
			missing = append(missing, x.lacks("service "+name, err)...)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.facts.Services = found
	return missing
}

// lacks returns the text for a part that is missing because of an error. If the part did not come in time, that itself
// is a fact.
func (x *examination) lacks(what string, err error) []string {
	if status.Code(err) == codes.DeadlineExceeded {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.facts.Unanswered = append(x.facts.Unanswered, what)
	}
	return []string{what + ": " + x.a.reason(err)}
}
