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

func start(t testing.TB) *csiproxytest.Node {
	return csiproxytest.Start(t, csiproxytest.Options{Scenario: small})
}

// mkdir is an operation of one call.
func mkdir(ctx context.Context, n *csiproxytest.Node) error {
	_, err := n.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: n.KubeletDir() + `\pods\p`})
	return err
}

func TestMkdirInterrupted(t *testing.T) {
	t.Parallel()
	csiproxytest.Interrupt(t, start, mkdir)
}

func TestMkdirInterruptedEverywhere(t *testing.T) {
	t.Parallel()
	csiproxytest.InterruptEverywhere(t, start, mkdir)
}
