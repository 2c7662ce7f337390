// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// onWindows is the machine that the tests run on.
type onWindows struct{ node *csiproxytest.Node }

func windowsSite(t testing.TB) site {
	t.Helper()
	// below which all paths of the lives are
	for _, dir := range []string{pods + `\1`, kubelet + `\plugins\kubernetes.io\csi\driver\1`} {
		caller.OK(t, machine.MakeDirectory(t, dir))
	}
	o := csiproxytest.Options{}
	if os.Getenv(machine.NodeVariable) == "windows" { // a running agent works there anyhow
		o.WorkingDirs = []string{kubelet}
	}
	return onWindows{csiproxytest.Start(t, o)}
}

func (s onWindows) endpoint(group, version string) string { return s.node.Socket(group, version) }

func (s onWindows) admin(t testing.TB) *adminclient.Client {
	t.Helper()
	pipe := strings.Replace(s.node.Socket("disk", "v1"), "csi-proxy-disk-v1", adminserver.EndpointName, 1)
	c, err := adminclient.DialPath(t.Context(), pipe)
	caller.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (onWindows) emulated() *testnode.Node { return nil }

func (s onWindows) hostPath(windowsPath string) (string, error) {
	return s.node.HostPath(windowsPath), nil
}

// disk returns a new VHDX.
func (s onWindows) disk(testing.TB) offeredDisk {
	const size = 20 * gib
	return offeredDisk{number: s.node.AttachDisk(csiproxytest.Disk{SizeBytes: size}), size: size}
}

func (s onWindows) grow(_ testing.TB, number uint32, size int64) { s.node.GrowDisk(number, size) }

func (s onWindows) share(testing.TB) offeredShare {
	server, name := s.node.FileServer(), machine.RandomName()
	s.node.AddSMBShare(server.Name, name)
	return offeredShare{`\\` + server.Name + `\` + name, server.User, server.Password}
}

func (onWindows) target(t testing.TB) offeredTarget {
	t.Helper()
	made := windows.NewTarget(t)
	return offeredTarget{address{made.Address, made.Port}, made.IQN, made.User, made.Secret}
}

// service returns a service of the test's own.
func (onWindows) service(t testing.TB) string {
	t.Helper()
	name, _ := windows.NewServices(t)
	return name
}

func (onWindows) maySetSecret() error { return windows.MaySetCHAP() }

func (onWindows) biosSerial(t testing.TB) string {
	t.Helper()
	serial, err := windows.BIOSSerial()
	caller.OK(t, err)
	return serial
}
