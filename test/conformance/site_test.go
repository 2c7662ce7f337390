// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A site is a node with an agent, and what the tests do to it behind the agent's back.
type site interface {
	// endpoint returns where a version of an API answers; admin connects to the admin endpoint.
	endpoint(group, version string) string
	admin(t testing.TB) *adminclient.Client

	// emulated is the emulated node, nil where there is none.
	emulated() *testnode.Node

	// hostPath returns where this process finds a path of the node.
	hostPath(windowsPath string) (string, error)

	// disk offers a raw disk. grow gives a disk that disk offered a new total size in bytes.
	disk(t testing.TB) offeredDisk
	grow(t testing.TB, number uint32, size int64)

	share(t testing.TB) offeredShare
	target(t testing.TB) offeredTarget
	service(t testing.TB) (name string)
	biosSerial(t testing.TB) string

	// maySetSecret returns why the initiator's secret for mutual CHAP must not be set.
	maySetSecret() error
}

// An offeredDisk is a raw disk and what is known about it without asking the agent.
type offeredDisk struct {
	number uint32
	size   int64
	at     *location // nil: wherever the agent says
	ids    *diskIDs  // nil: whatever the agent says
}

// An offeredShare is a share that the node can map.
type offeredShare struct{ remote, user, password string }

// An offeredTarget is an iSCSI target with one LUN.
type offeredTarget struct {
	portal            address
	name              string
	chapUser, chapKey string
}

// siteFor returns a node for one life: an emulated one of its own, or the machine that all lives share.
func siteFor(t testing.TB) site {
	t.Helper()
	if onWindowsNode() {
		return windowsSite(t)
	}
	return emulatedSite(t)
}

func onWindowsNode() bool { return os.Getenv(machine.NodeVariable) != "" }

// eachVersion runs a test for each version of a group that is served, on a site of its own, or, on the shared machine,
// one after the other.
func eachVersion(t *testing.T, group string, live func(t *testing.T, at site, all []served, version served)) {
	t.Helper()
	all := listed(t, siteFor(t))
	for _, version := range sampled(t, all) {
		if version.group != group {
			continue
		}
		t.Run(version.version, func(t *testing.T) {
			if !onWindowsNode() {
				t.Parallel()
			}
			live(t, siteFor(t), all, version)
		})
	}
}

// onEmulated is an emulated node with the default scenario.
type onEmulated struct{ node *testnode.Node }

func emulatedSite(t testing.TB) onEmulated {
	t.Helper()
	return onEmulated{node: testnode.Start(t, testnode.Options{})}
}

func (s onEmulated) endpoint(group, version string) string { return s.node.Socket(group, version) }

func (s onEmulated) admin(t testing.TB) *adminclient.Client {
	t.Helper()
	return s.node.Admin(t)
}

func (s onEmulated) emulated() *testnode.Node { return s.node }

func (s onEmulated) hostPath(windowsPath string) (string, error) {
	return s.node.Emulated.HostPath(windowsPath)
}

// disk returns disk 2 of the default scenario, which is raw and offline.
func (onEmulated) disk(testing.TB) offeredDisk {
	return offeredDisk{number: 2, size: 20 * gib, at: &location{"0", "0", "0", "2"},
		ids: &diskIDs{"EMULATED  disk-2", "vol0123456789abcdef2"}}
}

func (s onEmulated) grow(t testing.TB, number uint32, size int64) {
	t.Helper()
	caller.OK(t, s.node.Emulated.GrowDisk(number, size))
}

func (onEmulated) share(testing.TB) offeredShare {
	return offeredShare{share, "csi", "csi-password"}
}

func (onEmulated) target(testing.TB) offeredTarget {
	return offeredTarget{array(), chapTarget, "csi-user", "chap-secret-123"}
}

func (onEmulated) service(testing.TB) string { return "Spooler" }

func (onEmulated) maySetSecret() error { return nil }

func (onEmulated) biosSerial(testing.TB) string { return "EMU-0000-0001" }
