// SPDX-License-Identifier: Apache-2.0

//go:build unix

package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

func TestJournalOfAPIAndKernel(t *testing.T) {
	a := start(t, emulation.Config{StateDir: shortDir(t)})
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

func TestFaultsOverTheAdminAPI(t *testing.T) {
	a := start(t, emulation.Config{StateDir: shortDir(t)})
	client, disks := dialAdmin(t, a), dialDisk(t, a)
	var want []*nodeapi.FaultStatus
	add := func(f *nodeapi.Fault) {
		t.Helper()
		r, err := client.AddFault(t.Context(), &nodeapi.AddFaultRequest{Fault: f})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, &nodeapi.FaultStatus{Id: r.GetId(), Fault: f})
	}
	add(&nodeapi.Fault{Function: "DiskInterfaces", Times: 2, Fail: "ERROR_ACCESS_DENIED"})
	add(&nodeapi.Fault{Function: "Flush", Object: "x", Skip: 7, Hang: true, AfterEffect: true})
	add(&nodeapi.Fault{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_GET_LENGTH_INFO", Delay: "1s-1m0s"})
	add(&nodeapi.Fault{Method: "volume", Status: "DEADLINE_EXCEEDED", Message: "m", Reason: "R"})
	add(&nodeapi.Fault{Method: "volume", Cut: true, AfterEffect: true})
	add(&nodeapi.Fault{Function: "Flush", Fail: "4242"})
	for fault, want := range map[*nodeapi.Fault]codes.Code{nil: codes.InvalidArgument,
		{Function: "Flush", Fail: "ERROR_FOO"}: codes.InvalidArgument,
		{Function: "Flush", Crash: true}:       codes.FailedPrecondition} { // of the test
		if _, err := client.AddFault(t.Context(), &nodeapi.AddFaultRequest{Fault: fault}); status.Code(err) != want {
			t.Errorf("%v: got %v, want %v", fault, err, want)
		}
	}
	if _, err := disks.Rescan(t.Context(), &diskapi.RescanRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the disturbed call: got %v, want PermissionDenied", err)
	}
	want[0].Disturbed = 1
	list, err := client.ListFaults(t.Context(), &nodeapi.ListFaultsRequest{})
	if d := cmp.Diff(want, list.GetFaults(), protocmp.Transform()); err != nil || d != "" {
		t.Errorf("%v, %s", err, d)
	}
	if _, err := client.RemoveFault(t.Context(), &nodeapi.RemoveFaultRequest{Id: 1}); err != nil {
		t.Error(err)
	}
	if _, err := client.RemoveFault(t.Context(), &nodeapi.RemoveFaultRequest{Id: 1}); status.Code(err) != codes.NotFound {
		t.Errorf("removed twice: got %v, want NotFound", err)
	}
	if _, err := disks.Rescan(t.Context(), &diskapi.RescanRequest{}); err != nil {
		t.Errorf("undisturbed: %v", err)
	}
	if _, err := client.RemoveFault(t.Context(), &nodeapi.RemoveFaultRequest{}); err != nil {
		t.Error(err)
	}
	list, err = client.ListFaults(t.Context(), &nodeapi.ListFaultsRequest{})
	if err != nil || len(list.GetFaults()) != 0 {
		t.Errorf("got %v, %v, want none", list, err)
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
	a := start(t, emulation.Config{StateDir: shortDir(t)})
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
	n, err := emulated.Open(shortDir(t), emulated.Options{})
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
