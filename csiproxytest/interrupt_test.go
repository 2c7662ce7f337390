// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"context"
	"testing"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// small is a node that is saved quickly everywhere.
const small = "testdata/small.yaml"

// TestMkdirInterrupted is small: an operation of one call.
func TestMkdirInterrupted(t *testing.T) {
	t.Parallel()
	csiproxytest.Interrupt(t, func(t testing.TB) *csiproxytest.Node {
		return csiproxytest.Start(t, csiproxytest.Options{Scenario: small})
	}, func(ctx context.Context, n *csiproxytest.Node) error {
		_, err := n.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: n.KubeletDir() + `\pods\p`})
		return err
	})
}
