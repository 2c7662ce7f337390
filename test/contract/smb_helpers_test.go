// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func mountVolume(t *testing.T, n *testnode.Node, id, path string) error {
	t.Helper()
	_, err := n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func closest(t *testing.T, n *testnode.Node, path string) error {
	t.Helper()
	_, err := n.Volume.GetClosestVolumeIDFromTargetPath(t.Context(),
		&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return err
}

func volumeAt(t *testing.T, n *testnode.Node, path string) error {
	t.Helper()
	_, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return err
}
