// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// The directories of a volume, as kubelet makes them. csi-sanity publishes at the entry "target" of the first.
const (
	podDir     = `C:\var\lib\kubelet\pods\csisanity\volumes\kubernetes.io~csi\pv`
	stagingDir = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\csisanity\globalmount`
)

// kubelet makes and removes the directories of volumes on an emulated node.
type kubelet struct {
	files csiproxy.FilesystemClient
}

func (k kubelet) configure(c *sanity.TestConfig) {
	c.TargetPath, c.StagingPath = podDir, stagingDir
	c.CreateTargetDir, c.CreateStagingDir = k.makeDir, k.makeDir
	c.RemoveTargetPath, c.RemoveStagingPath = k.removeDir, k.removeDir
	c.CheckPath = k.kind
}

func (k kubelet) makeDir(path string) (string, error) {
	_, err := k.files.Mkdir(context.Background(), &csiproxy.MkdirRequest{Path: path})
	return path, err
}

// removeDir removes a directory in which nothing may be left. csi-sanity ignores its error, so it fails the spec
// itself.
func (k kubelet) removeDir(path string) error {
	_, err := k.files.Rmdir(context.Background(), &csiproxy.RmdirRequest{Path: path})
	if err != nil && !errors.Is(err, csiproxy.ErrPathNotFound) {
		ginkgo.Fail(fmt.Sprintf("the plugin left something at %s: %v", path, err))
	}
	return nil
}

func (k kubelet) kind(path string) (sanity.PathKind, error) {
	answer, err := k.files.PathExists(context.Background(),
		&csiproxy.PathExistsRequest{Path: strings.ReplaceAll(path, "/", `\`)})
	if err != nil || !answer.GetExists() {
		return sanity.PathIsNotFound, err
	}
	return sanity.PathIsDir, nil // what drivers publish on Windows are links to directories
}
