// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// BenchmarkTransport shows the cost of the way to the node: the same call of the same node in process, through a
// socket, and through a socket to an agent of an older version, which needs translation.
func BenchmarkTransport(b *testing.B) {
	n := csiproxytest.Start(b, csiproxytest.Options{})
	old := newAgentHome(b)
	old.start("disk=v1beta2")
	for _, way := range []struct {
		name   string
		client *csiproxy.Client
	}{
		{"in process", n.InProcess()},
		{"socket", n.Client()},
		{"socket, old version", old.client(csiproxy.Options{})},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := way.client.Disk.GetDiskStats(b.Context(), &diskapi.GetDiskStatsRequest{DiskNumber: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
