// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// calls are a driver's means: the calls of its clients, and its own file operations, each as a step.
type calls struct {
	*steps
	*caller.Calls
	t    testing.TB
	node *testnode.Node
}

func newCalls(t testing.TB, n *testnode.Node, i *interruption) *calls {
	t.Helper()
	s := &steps{interruption: i}
	connection := stepped{steps: s, services: map[string]service{}}
	for _, group := range versions.Groups() {
		version := "v1" // of drivers in the field
		if !slices.Contains(append(group.Versions(), group.Hub), version) {
			version = group.Hub
		}
		c, err := dial.Open(t.Context(), n.Socket(group.Name, version), dial.Options{})
		caller.OK(t, err)
		t.Cleanup(func() { _ = c.Close() })
		connection.services[group.ServiceName(group.Hub)] = service{c, "/" + group.ServiceName(version) + "/"}
	}
	return &calls{steps: s, Calls: caller.By(t, csiproxy.Over(connection)), t: t, node: n}
}

// stepped is a connection to all groups that makes each call a step. It calls v1, whose methods have the same bytes.
type stepped struct {
	grpc.ClientConnInterface // its streams, which the API does not have
	steps                    *steps
	services                 map[string]service // by the newest one's name
}

type service struct {
	connection *grpc.ClientConn
	path       string
}

func (s stepped) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	newest, name := path.Split(method)
	return s.steps.step(name, func() error {
		to := s.services[strings.Trim(newest, "/")]
		return to.connection.Invoke(ctx, to.path+name, request, reply, options...)
	})
}

// withDrive normalises a path as drivers do, where they do.
func withDrive(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) {
		path = "c:" + path
	}
	return path
}

func parent(path string) string { return path[:strings.LastIndex(path, `\`)] }

// statsAt returns the size of the volume at a path, and what is used of it.
func (c *calls) statsAt(path string) (total, used int64, err error) {
	id, err := c.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return 0, 0, err
	}
	return c.GetVolumeStats(id)
}

func (c *calls) resizeAt(path string) error {
	id, err := c.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	return c.resize(id)
}

func (c *calls) removeIfThere(path string) error {
	exists, err := c.PathExists(path)
	if err != nil || !exists {
		return err
	}
	return c.rmdir(path)
}

// rmdir removes with force, as every driver does.
func (c *calls) rmdir(path string) error { return c.Rmdir(path, true) }

// resize grows a volume as far as its disk allows.
func (c *calls) resize(id string) error { return c.ResizeVolume(id, 0) }

// dialDisk opens one more connection to the disk API, which is not closed before the driver ends.
func (c *calls) dialDisk() error {
	return c.step("dial", func() error {
		client, err := disk.NewClientWithPipePath(c.node.Socket("disk", "v1"))
		if err == nil {
			c.t.Cleanup(func() { _ = client.Close() })
		}
		return err
	})
}

// The following happens in the driver's container, which sees kubelet's directory.

func (c *calls) osMkdirAll(path string) error {
	return c.step("mkdirall", func() error { return mkdirAll(c.node, path) })
}

// onHost does something with a path of the node where the driver's container has it.
func (c *calls) onHost(name, path string, do func(host string) error) error {
	return c.step(name, func() error {
		host, err := c.node.Emulated.HostPath(withDrive(path))
		if err == nil {
			err = do(host)
		}
		return err
	})
}

func (c *calls) osReadDir(path string) error {
	return c.onHost("readdir", path, func(host string) error { _, err := os.ReadDir(host); return err })
}

// osLstat looks at a path without following a link at its end.
func (c *calls) osLstat(path string) error {
	return c.onHost("lstat", parent(withDrive(path)), func(dir string) error {
		_, err := os.Lstat(filepath.Join(dir, name(path)))
		return err
	})
}

// osRemove removes a directory or a link that is not followed.
func (c *calls) osRemove(path string) error {
	return c.onHost("remove", parent(withDrive(path)),
		func(dir string) error { return os.Remove(filepath.Join(dir, name(path))) })
}

// osStatfs asks for the size of the volume that a path leads to; on an emulated node it can only check that the path
// leads to a directory.
func (c *calls) osStatfs(path string) error {
	return c.onHost("statfs", path, func(host string) error { _, err := os.Stat(host); return err })
}

func name(path string) string { return path[strings.LastIndex(path, `\`)+1:] }

// mkdirAll makes a directory and its parents on the node, as a process there would.
func mkdirAll(n *testnode.Node, path string) error {
	components := strings.Split(withDrive(path), `\`)
	for i := 2; i <= len(components); i++ {
		host, err := n.Emulated.HostPath(strings.Join(components[:i], `\`))
		if err != nil {
			return err
		}
		if err := os.Mkdir(host, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
