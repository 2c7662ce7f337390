// SPDX-License-Identifier: Apache-2.0

//go:build unix

package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestJournalOfAPIAndKernel(t *testing.T) {
	a := start(t, emulation.Config{StateDir: testnode.ShortDir(t)})
	client, disks := dialAdmin(t, a), dialDisk(t, a)
	first, err := client.ListJournal(t.Context(), &nodeapi.ListJournalRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range first.GetEntries() {
		if e.GetKernel() == nil || e.GetRequestId() != "" { // the agent's own calls, when it starts
			t.Errorf("before anything happened: got %v", e)
		}
	}
	start := first.GetNewest()
	followed := make(chan *nodeapi.ListJournalResponse, 1)
	go func() {
		r, _ := client.ListJournal(t.Context(), &nodeapi.ListJournalRequest{Wait: true, Limit: 1, After: start})
		followed <- r
	}()
	if _, err := disks.Rescan(t.Context(), &diskapi.RescanRequest{}); err != nil {
		t.Fatal(err)
	}
	if r := <-followed; len(r.GetEntries()) != 1 || r.GetEntries()[0].GetSequence() != start+1 {
		t.Errorf("the waiting call got %v", r)
	}
	r, err := client.ListJournal(t.Context(), &nodeapi.ListJournalRequest{After: start})
	if err != nil {
		t.Fatal(err)
	}
	var functions []string
	for i, e := range r.GetEntries() {
		last := r.GetEntries()[len(r.GetEntries())-1]
		if e.GetSequence() != start+uint64(i+1) || e.GetRequestId() == "" || e.GetRequestId() != last.GetRequestId() {
			t.Errorf("entry %d: got %v", i, e)
		}
		functions = append(functions, e.GetKernel().GetFunction()+e.GetApi().GetMethod())
	}
	if slices.Index(functions, "ReenumerateDevices") < 0 || functions[len(functions)-1] != "/v1.Disk/Rescan" ||
		r.GetNewest() != start+uint64(len(functions)) {
		t.Errorf("got %v, newest %d", functions, r.GetNewest())
	}
}

// hanging returns the result of a call that hangs in the kernel of an agent, and is there by now.
func hanging(t *testing.T, a *emulation.Agent) <-chan error {
	t.Helper()
	client, disks := dialAdmin(t, a), dialDisk(t, a)
	_, err := client.AddFault(t.Context(), &nodeapi.AddFaultRequest{Fault: &nodeapi.Fault{
		Function: "DiskInterfaces", Hang: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := disks.ListDiskLocations(t.Context(), &diskapi.ListDiskLocationsRequest{})
		done <- err
	}()
	for holding := uint64(0); holding == 0; {
		list, err := client.ListFaults(t.Context(), &nodeapi.ListFaultsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		holding = list.GetFaults()[0].GetHolding()
	}
	return done
}

// A call that hangs, and one that follows the journal, do not keep the agent from stopping.
func TestStopEndsHangsAndWaits(t *testing.T) {
	a := start(t, emulation.Config{StateDir: testnode.ShortDir(t)})
	client := dialAdmin(t, a)
	called, followed := hanging(t, a), make(chan struct{})
	go func() {
		defer close(followed)
		_, _ = client.ListJournal(t.Context(), &nodeapi.ListJournalRequest{After: 1 << 60, Wait: true})
	}()
	noPatience, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Stop(noPatience); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-called; status.Code(err) != codes.Unavailable {
		t.Errorf("the call that hangs: %v", err)
	}
	<-followed
	a.Journal.Wait(t.Context(), 1<<60) // returns now, too
}

func TestRealNodeHasNoEmulatedNode(t *testing.T) {
	n, err := emulated.Open(testnode.ShortDir(t), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	a := startReal(t, n)
	client := dialAdmin(t, a)
	facts, err := client.GetFacts(t.Context(), &admin.GetFactsRequest{Parts: []admin.Part{admin.Part_PART_DISKS}})
	if err != nil || len(facts.GetDisks()) != 3 {
		t.Errorf("facts: got %v, %v", facts, err)
	}
	_, journal := client.ListJournal(t.Context(), &nodeapi.ListJournalRequest{})
	_, fault := client.AddFault(t.Context(), &nodeapi.AddFaultRequest{})
	_, reboot := client.Reboot(t.Context(), &nodeapi.RebootRequest{})
	for _, err := range []error{journal, fault, reboot} {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v, want Unimplemented", err)
		}
	}
}
