// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"context"
	"os"
	"testing"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// TestMkdirInterrupted is small: an operation of one call.
func TestMkdirInterrupted(t *testing.T) {
	t.Parallel()
	csiproxytest.Interrupt(t, func(t testing.TB) *csiproxytest.Node {
		return csiproxytest.Start(t, csiproxytest.Options{})
	}, func(ctx context.Context, n *csiproxytest.Node) error {
		_, err := n.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: csiproxytest.KubeletDir + `\pods\p`})
		return err
	})
}

func TestUnstageInterrupted(t *testing.T) {
	if os.Getenv("CSI_PROXY_LONG") == "" {
		t.Skip("it takes seconds: CSI_PROXY_LONG=1 runs it")
	}
	t.Parallel()
	var plugin *nodePlugin
	csiproxytest.Interrupt(t, func(t testing.TB) *csiproxytest.Node {
		node := csiproxytest.Start(t, csiproxytest.Options{})
		node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})
		plugin = newPlugin(t, node)
		if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
			t.Fatal(err)
		}
		return node
	}, func(ctx context.Context, _ *csiproxytest.Node) error { return plugin.Unstage(ctx, staging) })
}
