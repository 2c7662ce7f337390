// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestDisksOnThisMachine lives the life of disks with the Windows kernel on the fake disks, with versions of the groups
// disk, volume and filesystem and each time another reading of what Microsoft's pages leave open. The disks that it
// partitions are judged by sgdisk afterwards.
func TestDisksOnThisMachine(t *testing.T) {
	disks := installDisks(t)
	disks.installLinks()
	fakeWMI(t)
	disks.world("disk 0 64G system", "raw unrecognized")
	testnode.Launch(t, "-v=2")
	for i, run := range []struct{ disk, volume, files, reading string }{
		{"v1", "v2alpha1", "v2alpha1", ""}, {"v1beta3", "v1", "v1", "msr none"},
		{"v1beta2", "v1beta2", "v1beta2", "attributes-version 16"},
		{"v1beta1", "v1beta1", "v1beta1", "volumes-late 2"}, {"v1alpha1", "v1alpha1", "v1alpha1", "volume-guid own"},
		{"v1", "v1beta3", "v1", "layout-small mismatch"},
	} {
		t.Run("disk "+run.disk+" volume "+run.volume, func(t *testing.T) {
			l := &diskLife{t: t, disks: disksOf(t), wmi: wmiOf(t), number: uint32(i + 1), reading: run.reading,
				used: map[string]bool{}}
			l.disk, l.volume, l.files = l.dial("disk", run.disk), l.dial("volume", run.volume), l.dial("filesystem", run.files)
			l.attach()
			l.identify()
			l.state()
			l.partition()
			l.volumes()
			l.fileSystem()
			l.mount()
			l.link()
			l.unmount()
			l.grow()
			if t.Failed() {
				return
			}
			for name := range l.used {
				t.Logf("faked: %s", name)
			}
		})
	}
}

// A diskLife is the life of one disk, by one version of each group. The versions' messages differ, so requests are
// JSON.
type diskLife struct {
	t                   *testing.T
	disks               *fakeDisks
	wmi                 *wmiFake
	disk, volume, files diskAPI
	number              uint32
	reading             string
	id                  string // of the volume
	used                map[string]bool
}

// A diskAPI is one version of a group.
type diskAPI struct {
	group, version string
	conn           *grpc.ClientConn
	service        protoreflect.ServiceDescriptor
}

func (l *diskLife) dial(group, version string) diskAPI {
	l.t.Helper()
	conn, err := dial.Open(l.t.Context(), `\\.\pipe\csi-proxy-`+group+"-"+version, dial.Options{})
	caller.OK(l.t, err)
	l.t.Cleanup(func() { _ = conn.Close() })
	return diskAPI{group, version, conn, caller.Service(l.t, group, version)}
}

// has reports whether the version has a method.
func (a diskAPI) has(method string) bool {
	return a.service.Methods().ByName(protoreflect.Name(method)) != nil
}

// byText reports whether disks are named by text in a version, as in the older ones.
func (a diskAPI) byText() bool {
	return a.version == "v1beta2" || a.version == "v1beta1" || a.version == "v1alpha1"
}

// call makes a call, which must end with a code, and returns the answer as JSON without blanks.
func (l *diskLife) call(want codes.Code, api diskAPI, method, request string) string {
	l.t.Helper()
	m := api.service.Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	caller.OK(l.t, protojson.Unmarshal([]byte(request), in))
	err := api.conn.Invoke(l.t.Context(), fmt.Sprintf("/%s/%s", api.service.FullName(), method), in, out)
	if got := status.Code(err); got != want {
		l.t.Fatalf("%s %s(%s): got %v (%v), want %v", api.version, method, request, got, err, want)
	}
	if err == nil {
		l.used[fmt.Sprintf("%s %s %s: OK, fake %s", api.group, api.version, method, fakesOf(api.group, method))] = true
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(out)
	caller.OK(l.t, err)
	return strings.ReplaceAll(string(text), " ", "")
}

// fakesOf names the fakes that a method needs.
func fakesOf(group, method string) string {
	switch {
	case group == "filesystem":
		return "links"
	case method == "StageShare":
		return "links and WMI"
	case group == "nodesteps":
		return "disks and links"
	case method == "FormatVolume":
		return "disks and WMI"
	case strings.Contains(method, "MountVolume"), strings.HasPrefix(method, "GetVolumeIDFrom"):
		return "disks and links"
	}
	return "disks"
}

// answers makes a call that goes well, if the version has the method, and compares the answer.
func (l *diskLife) answers(want string, api diskAPI, method, request string) {
	l.t.Helper()
	if !api.has(method) {
		return
	}
	if got := l.call(codes.OK, api, method, request); got != want {
		l.t.Errorf("%s %s(%s): got %s, want %s", api.version, method, request, got, want)
	}
}

// aboutDisk returns a request that names the disk, with another field or none.
func (l *diskLife) aboutDisk(more string) string {
	if l.disk.byText() {
		return fmt.Sprintf(`{"diskID":"%d"%s}`, l.number, more)
	}
	return fmt.Sprintf(`{"disk_number":%d%s}`, l.number, more)
}

func (l *diskLife) aboutVolume() string { return fmt.Sprintf(`{"volume_id":%q}`, l.id) }

// path is the file of the disk.
func (l *diskLife) path() string {
	return filepath.Join(judgedFolder, fmt.Sprintf("disk-%d.img", l.number))
}

func (l *diskLife) world(more ...string) {
	l.disks.world(append([]string{
		"images " + judgedFolder, "disk 0 64G system", "raw unrecognized", l.reading,
		fmt.Sprintf("disk %d 10G late offline readonly port 2 path 1 target 3 lun %d serial ser-%d id port:0001 id "+
			"naa:6002248000000000000000000000a%03d", l.number, l.number+10, l.number, l.number),
	}, more...)...)
}

// attach attaches the disk, which is seen after a rescan alone.
func (l *diskLife) attach() {
	l.world()
	locations := l.call(codes.OK, l.disk, "ListDiskLocations", "{}")
	if strings.Contains(locations, fmt.Sprintf(`"%d":`, l.number)) {
		l.t.Errorf("the disk is there before it was looked for: %s", locations)
	}
	l.answers("{}", l.disk, "Rescan", "{}")
	locations = l.call(codes.OK, l.disk, "ListDiskLocations", "{}")
	want := fmt.Sprintf(`"%d":{"Adapter":"2","Bus":"1","Target":"3","LUNID":"%d"}`, l.number, l.number+10)
	if !strings.Contains(locations, want) || !strings.Contains(locations, `"0":{"Adapter":"0"`) {
		l.t.Errorf("ListDiskLocations: got %s, want disk 0 and %s", locations, want)
	}
}

func (l *diskLife) identify() {
	page83 := fmt.Sprintf("6002248000000000000000000000a%03d", l.number)
	if l.disk.has("ListDiskIDs") {
		ids := l.call(codes.OK, l.disk, "ListDiskIDs", "{}")
		for _, want := range []string{page83, fmt.Sprintf("ser-%d", l.number)} {
			if !strings.Contains(ids, want) && (want == page83 || !l.disk.byText()) {
				l.t.Errorf("ListDiskIDs: got %s, want %s", ids, want)
			}
		}
	}
	l.answers(fmt.Sprintf(`{"diskNumber":"%d"}`, l.number), l.disk, "GetDiskNumberByName",
		fmt.Sprintf(`{"disk_name":%q}`, page83))
	l.answers(fmt.Sprintf(`{"totalBytes":"%d"}`, 10<<30), l.disk, "GetDiskStats", l.aboutDisk(""))
	l.answers(fmt.Sprintf(`{"diskSize":"%d"}`, 10<<30), l.disk, "DiskStats", l.aboutDisk(""))
}

// state brings the disk online, which makes it writable, and takes it offline.
func (l *diskLife) state() {
	for _, online := range []bool{false, true, true, false, false} {
		if l.disk.byText() {
			l.answers("{}", l.disk, "SetAttachState", l.aboutDisk(fmt.Sprintf(`,"isOnline":%t`, online)))
			l.answers(fmt.Sprintf(`{"isOnline":%t}`, online), l.disk, "GetAttachState", l.aboutDisk(""))
		} else {
			l.answers("{}", l.disk, "SetDiskState", l.aboutDisk(fmt.Sprintf(`,"is_online":%t`, online)))
			l.answers(fmt.Sprintf(`{"isOnline":%t}`, online), l.disk, "GetDiskState", l.aboutDisk(""))
		}
	}
	if l.disk.has("SetDiskState") { // the disk of Windows itself
		l.call(codes.FailedPrecondition, l.disk, "SetDiskState", `{"disk_number":0,"is_online":false}`)
	}
}

func (l *diskLife) partition() {
	if first := l.disks.image(l.path(), 0, 1<<20); slices.ContainsFunc(first, func(b byte) bool { return b != 0 }) {
		l.t.Error("the disk is not blank before it is partitioned")
	}
	l.answers("{}", l.disk, "PartitionDisk", l.aboutDisk(""))
	table := l.disks.image(l.path(), 0, 34*512)
	l.answers("{}", l.disk, "PartitionDisk", l.aboutDisk(""))
	if !slices.Equal(table, l.disks.image(l.path(), 0, 34*512)) {
		l.t.Error("a second PartitionDisk wrote the table again")
	}
	l.call(codes.FailedPrecondition, l.disk, "PartitionDisk",
		strings.Replace(l.aboutDisk(""), fmt.Sprint(l.number), "0", 1))
}

func (l *diskLife) volumes() {
	request := fmt.Sprintf(`{"disk_number":%d}`, l.number)
	if l.volume.byText() {
		request = fmt.Sprintf(`{"disk_id":"%d"}`, l.number)
	}
	listed := l.call(codes.OK, l.volume, "ListVolumesOnDisk", request)
	id, found := strings.CutPrefix(listed, `{"volumeIds":["\\\\?\\Volume{`)
	id, found2 := strings.CutSuffix(id, `}\\"]}`)
	if !found || !found2 || len(id) != 36 {
		l.t.Fatalf("ListVolumesOnDisk: got %s", listed)
	}
	l.id = `\\?\Volume{` + id + `}\`
	l.answers(fmt.Sprintf(`{"diskNumber":%d}`, l.number), l.volume, "GetDiskNumberFromVolumeID", l.aboutVolume())
	l.answers(fmt.Sprintf(`{"diskNumber":"%d"}`, l.number), l.volume, "GetVolumeDiskNumber", l.aboutVolume())
	l.answers(`{"formatted":false}`, l.volume, "IsVolumeFormatted", l.aboutVolume())
}

// fileSystem formats the volume, through the fake WMI, which tells the fake disks nothing: the test does.
func (l *diskLife) fileSystem() {
	l.wmi.world("volume " + l.id)
	l.answers("{}", l.volume, "FormatVolume", l.aboutVolume())
	want := "Format " + l.id + " FileSystem='NTFS' FileSystemLabel='' Force=true Full=false"
	if len(l.wmi.takeCalls(want)) != 1 {
		l.t.Errorf("FormatVolume did not call %s", want)
	}
	l.world(l.formatted())
	l.answers(`{"formatted":true}`, l.volume, "IsVolumeFormatted", l.aboutVolume())
	l.answers("{}", l.volume, "FormatVolume", l.aboutVolume()) // it is empty, and stays as it is
	if len(l.wmi.takeCalls("Format ")) != 0 {
		l.t.Error("a second FormatVolume formatted the volume")
	}
	if l.volume.has("WriteVolumeCache") {
		before := len(l.disks.calls("flush volume-"))
		l.answers("{}", l.volume, "WriteVolumeCache", l.aboutVolume())
		if len(l.disks.calls("flush volume-")) != before+1 {
			l.t.Error("WriteVolumeCache did not flush the volume")
		}
	}
}

// formatted is the line that gives the data partition, the second, a file system.
func (l *diskLife) formatted() string { return fmt.Sprintf("filesystem %d 2 NTFS", l.number) }

// grow makes the disk larger by two GiB and the volume by one, and then by what is left.
func (l *diskLife) grow() {
	size := "size_bytes"
	if l.volume.byText() {
		size = "size"
	}
	l.world(l.formatted(), fmt.Sprintf("grown %d 12G", l.number))
	for _, bytes := range []int64{11 << 30, 11 << 30, 0} {
		l.answers("{}", l.volume, "ResizeVolume", fmt.Sprintf(`{"volume_id":%q,%q:%d}`, l.id, size, bytes))
	}
	l.answers(fmt.Sprintf(`{"totalBytes":"%d"}`, 12<<30), l.disk, "GetDiskStats", l.aboutDisk(""))
	if info, err := os.Stat(l.path()); err != nil || info.Size() != 12<<30 {
		l.t.Errorf("the disk has %v bytes, %v", info, err)
	}
}
