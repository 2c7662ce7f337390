// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The places on the attacked node.
const (
	kubelet = `C:\var\lib\kubelet`
	pods    = kubelet + `\pods`
	mount   = pods + `\victim\mount` // of the volume on disk 1
	canary  = `C:\canary`            // outside every working directory
)

// target is an agent under attack: a volume is mounted and holds a file, disk 2 is offline and raw, and outside
// the working directories lie files that must survive.
type target struct {
	*testnode.Node
	*wire
	t            *testing.T
	volume       string // the id of the mounted volume
	system       string // the id of the volume that Windows runs from
	efi          string // the id of the system disk's EFI volume
	unrelatedDir string // a host directory that is not part of the node
	admin        *adminclient.Client
}

func attack(t *testing.T, o testnode.Options) *target {
	t.Helper()
	n := testnode.Start(t, o)
	g := &target{Node: n, wire: dialAll(t, n), t: t, unrelatedDir: t.TempDir()}
	g.admin = n.Admin(t)

	_, err := n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
	noError(t, err)
	g.volume = g.volumes(1)[0]
	for { // a busy machine may need longer than the calls' deadline that the test has chosen
		_, err = n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: g.volume})
		if codeOf(err) != codes.DeadlineExceeded {
			break
		}
	}
	noError(t, err)
	_, err = n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: g.volume, TargetPath: mount})
	noError(t, err)
	g.system, g.efi = g.volumes(0)[0], g.volumes(0)[1]
	n.WriteFile(mount+`\data`, "precious")

	g.hostDir(canary + `\victim\inner`)
	n.WriteFile(canary+`\victim\inner\file`, "canary")
	g.hostDir(pods + `\peer\victim\inner`)
	n.WriteFile(pods+`\peer\victim\inner\file`, "canary")
	noError(t, os.MkdirAll(filepath.Join(g.unrelatedDir, "victim", "inner"), 0o755))
	noError(t, os.WriteFile(filepath.Join(g.unrelatedDir, "victim", "inner", "file"), []byte("canary"), 0o600))
	return g
}

func (g *target) volumes(number uint32) []string {
	g.t.Helper()
	reply, err := g.Volume.ListVolumesOnDisk(g.t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(g.t, err)
	return reply.GetVolumeIds()
}

// hostDir makes a directory and its parents on the node, past the agent.
func (g *target) hostDir(path string) {
	g.t.Helper()
	at := `C:`
	for _, name := range strings.Split(path, `\`)[1:] {
		at += `\` + name
		if err := os.Mkdir(g.HostPath(at), 0o755); err != nil && !os.IsExist(err) {
			g.t.Fatal(err)
		}
	}
}

// plant makes a directory and turns it into a reparse point, as a process in a Windows container may do where it can
// write: through the file system, past the agent.
func (g *target) plant(path string, point win32.ReparsePoint) {
	g.t.Helper()
	h, err := g.Emulated.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access:      win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES,
		Share:       win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if err != nil {
		g.t.Fatalf("planting %s: %v", path, err)
	}
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	if err != nil {
		g.t.Fatalf("planting %s: %v", path, err)
	}
	noError(g.t, h.Close())
}

func symlink(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: to, PrintName: to}
}

func relative(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: to, PrintName: to, Relative: true}
}

func mountPoint(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: to}
}

// ntName returns a volume id as reparse points spell it.
func ntName(volumeID string) string { return `\??\` + strings.TrimPrefix(volumeID, `\\?\`) }

// alive reports whether the agent still serves.
func (g *target) alive() {
	g.t.Helper()
	reply, err := g.Filesystem.PathExists(g.t.Context(), &filesystem.PathExistsRequest{Path: mount})
	if err != nil || !reply.GetExists() {
		g.t.Fatalf("afterwards the agent answers PathExists(%s) with %v, %v", mount, reply.GetExists(), err)
	}
}

// snapshot is everything that a call could have changed.
type snapshot map[string]string

// snapshot looks at the node's files, at the bytes of its disks, at the tree that the agent shows, and at the host
// directory outside the node.
func (g *target) snapshot() snapshot {
	g.t.Helper()
	s := snapshot{}
	for prefix, dir := range map[string]string{"node": g.StateDir, "spare": g.unrelatedDir} {
		noError(g.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			if name == "run" {
				return fs.SkipDir
			}
			s[prefix+"/"+filepath.ToSlash(name)], err = describe(path, d)
			return err
		}))
	}
	tree, err := g.admin.GetTree(g.t.Context(), &admin.GetTreeRequest{})
	noError(g.t, err)
	for _, d := range tree.GetDisks() {
		// prototext varies its spaces on purpose.
		s[fmt.Sprintf("tree of disk %d", d.GetNumber())] = strings.Join(strings.Fields(prototext.Format(d)), " ")
	}
	return s
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	what := info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return what + " " + to, err
	case info.Mode().IsRegular():
		sum, err := hash(path)
		return fmt.Sprintf("%s %d %s", what, info.Size(), sum), err
	}
	return what, nil
}

// hash covers the parts of a file that are not holes, and their places.
func hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	zeros := make([]byte, 4096)
	err = eachExtent(f, func(offset int64, data []byte) {
		for at := 0; at < len(data); at += len(zeros) { // where a hole ends within zeros is up to the host
			block := data[at:min(at+len(zeros), len(data))]
			if !bytes.Equal(block, zeros[:len(block)]) {
				var place [8]byte
				binary.BigEndian.PutUint64(place[:], uint64(offset+int64(at)))
				sum.Write(place[:])
				sum.Write(block)
			}
		}
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// unchanged compares with an earlier snapshot and goes on from the new one, so that one fault is reported once.
func (g *target) unchanged(what any, before snapshot) snapshot {
	g.t.Helper()
	after := g.snapshot()
	if diff := cmp.Diff(before, after); diff != "" {
		g.t.Errorf("%v changed something (-before +after):\n%s", what, diff)
	}
	return after
}
