// SPDX-License-Identifier: Apache-2.0

// Package caller calls an agent as a CSI driver does, for tests: a line for each call, for the usual states of a node,
// and for what a call must have come to.
package caller

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// The paths of most tests, as kubelet makes them: staging paths without a drive, publish paths with one.
const (
	Staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\abc\globalmount`
	Publish = `c:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pvc-1\mount`
	Pods    = `C:\var\lib\kubelet\pods`
)

// The shares of an emulated node, and the account that may use them.
const (
	Share      = `\\fs.emulated\share`
	OtherShare = `\\fs.emulated\other`
	User       = calls.User
	Password   = calls.Password
)

// Node is an emulated node with an agent, and the calls of a test.
type Node struct {
	*testnode.Node
	*Calls
}

// Start starts a node, which stops when the test ends.
func Start(t testing.TB, o testnode.Options) *Node { t.Helper(); return On(t, testnode.Start(t, o)) }

// Scenario starts the default node with changes.
func Scenario(t testing.TB, change func(*scenario.Scenario)) *Node {
	t.Helper()
	s := scenario.Default()
	change(&s)
	return Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
}

// Switched starts a node whose Windows gives other answers to open questions.
func Switched(t testing.TB, set func(*scenario.Switches)) *Node {
	t.Helper()
	return Scenario(t, func(s *scenario.Scenario) { set(&s.Switches) })
}

// On returns a running node with the calls of a test or of a part of it.
func On(t testing.TB, n *testnode.Node) *Node { t.Helper(); return &Node{n, Of(t, n.Node)} }

// Attach attaches a disk, of 1 GiB if the description has neither size nor image.
func (n *Node) Attach(spec bundle.Spec) (number uint32) {
	n.t.Helper()
	if spec.SizeBytes == 0 && spec.ImagePath == "" {
		spec.SizeBytes = 1 << 30
	}
	spec.LUNAuto = true
	number, err := n.Emulated.AttachDisk(spec)
	n.OK(err)
	return number
}

// WriteBelow writes a file below a directory of the node as a workload would, with the directories above it.
func (n *Node) WriteBelow(dir, below string) {
	n.t.Helper()
	path := filepath.Join(n.HostPath(dir), filepath.FromSlash(below))
	n.OK(os.MkdirAll(filepath.Dir(path), 0o755))
	n.OK(os.WriteFile(path, []byte("content"), 0o600))
}

// Holds asserts a file's content.
func (n *Node) Holds(path, want string) {
	n.t.Helper()
	if got := n.ReadFile(path); got != want {
		n.t.Errorf("%s holds %q, want %q", path, got, want)
	}
}

// Mapped asserts which shares are mapped.
func (n *Node) Mapped(shares ...string) {
	n.t.Helper()
	mappings, err := n.Emulated.SMBGlobalMappings()
	n.OK(err)
	var got []string
	for _, m := range mappings {
		got = append(got, m.RemotePath)
	}
	slices.Sort(got)
	if !slices.Equal(got, shares) {
		n.t.Errorf("mapped: got %q, want %q", got, shares)
	}
}

// Called returns the functions and objects of the kernel calls since the last time; of the given functions, or of all.
func (n *Node) Called(functions ...string) (called []string) {
	for _, c := range n.Faults.Calls() {
		if len(functions) == 0 || slices.Contains(functions, c.Function) {
			called = append(called, strings.TrimSpace(c.Function+" "+c.Object))
		}
	}
	return called
}

// Once makes the next call of a kernel function fail.
func (n *Node) Once(function string, err win32.Errno) {
	n.Faults.Add(testnode.Fault{Function: function, Times: 1, Error: err})
}

// OK ends the test at an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OK ends the test at an error.
func (c *Calls) OK(err error) { c.t.Helper(); OK(c.t, err) }

// Code asserts the code of an error, and words of its message.
func (c *Calls) Code(err error, want codes.Code, words ...string) {
	c.t.Helper()
	if got := status.Code(err); got != want {
		c.t.Errorf("code %v, want %v (%v)", got, want, err)
	}
	for _, word := range words {
		if !strings.Contains(status.Convert(err).Message(), word) {
			c.t.Errorf("message %q lacks %q", status.Convert(err).Message(), word)
		}
	}
}

// Refused asserts the code and the reason of an error, and words of its message.
func (c *Calls) Refused(err error, code codes.Code, reason string, words ...string) {
	c.t.Helper()
	c.Code(err, code, words...)
	if got := Reason(err); got != reason {
		c.t.Errorf("reason %q, want %q (%v)", got, reason, err)
	}
}

// Reason returns the reason of an error, "" if it has none.
func Reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// Volumes returns the volumes of a disk.
func (c *Calls) Volumes(number uint32) []string {
	c.t.Helper()
	ids, err := c.ListVolumesOnDisk(number)
	c.OK(err)
	return ids
}

// Raw makes a volume without a file system on a raw disk, and returns its id.
func (c *Calls) Raw(number uint32) (id string) {
	c.t.Helper()
	c.OK(c.PartitionDisk(number))
	return c.Volumes(number)[0]
}

// Formatted makes a formatted volume on a raw disk, and returns its id.
func (c *Calls) Formatted(number uint32) (id string) {
	c.t.Helper()
	id = c.Raw(number)
	c.OK(c.FormatVolume(id))
	return id
}

// Mounted makes a formatted volume on a raw disk, mounted at Staging, and returns its id.
func (c *Calls) Mounted(number uint32) (id string) {
	c.t.Helper()
	id = c.Formatted(number)
	c.OK(c.MountVolume(id, Staging))
	return id
}

// Published makes the link to Staging at Publish, with the directory above it.
func (c *Calls) Published() {
	c.t.Helper()
	c.OK(c.Mkdir(Publish[:strings.LastIndex(Publish, `\`)]))
	c.OK(c.CreateSymlink(Staging, Publish))
}

// Size returns the total size of a volume's file system in bytes.
func (c *Calls) Size(id string) int64 {
	c.t.Helper()
	total, _, err := c.GetVolumeStats(id)
	c.OK(err)
	return total
}

// Exists reports whether a path exists.
func (c *Calls) Exists(path string) bool {
	c.t.Helper()
	is, err := c.PathExists(path)
	c.OK(err)
	return is
}

// IsLink reports whether a path is a link that leads somewhere, or a mount point.
func (c *Calls) IsLink(path string) bool {
	c.t.Helper()
	is, err := c.IsSymlink(path)
	c.OK(err)
	return is
}

// Map maps a share with the account that every emulated node has.
func (c *Calls) Map(remote, local string) error {
	return c.NewSmbGlobalMapping(remote, local, User, Password)
}
