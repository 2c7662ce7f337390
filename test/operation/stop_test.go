// SPDX-License-Identifier: Apache-2.0

//go:build unix

package operation

import (
	"path/filepath"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// SIGTERM ends a call that waits for its disk with an answer, not by closing its connection some seconds later.
func TestTerminatedWhileADriverWaits(t *testing.T) {
	dir := testnode.ShortDir(t)
	sockets := filepath.Join(dir, "run")
	agent := testnode.LaunchEmulated(t, "-state-dir="+dir, "-socket-dir="+sockets)
	driver := csiproxy.New(csiproxy.Options{SocketDir: sockets})
	defer driver.Close() //nolint:errcheck // over
	c := caller.By(t, driver)
	waits := make(chan error, 1)
	go func() {
		_, err := driver.NodeSteps.StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: caller.Staging,
			Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: "late"}})
		waits <- err
	}()
	admin, err := adminclient.Dial(t.Context(), sockets)
	caller.OK(t, err)
	for looks := &(nodeapi.ListJournalRequest{Function: "ReenumerateDevices", Wait: true}); looks.GetAfter() == 0; {
		found, err := admin.ListJournal(t.Context(), looks)
		caller.OK(t, err)
		for _, e := range found.GetEntries() {
			looks.After = e.GetSequence()
		}
	}
	caller.OK(t, admin.Close())
	caller.OK(t, agent.Command.Process.Signal(syscall.SIGTERM))
	c.Refused(<-waits, codes.Unavailable, reason.NodeNotServed, "the agent is stopping")
	<-agent.Ended
	if code := agent.Command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the agent ends with %d:\n%s", code, agent.Logged())
	}
}
