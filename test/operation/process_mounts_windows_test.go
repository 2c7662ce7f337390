// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// linkFile holds the reparse data of the directory that it is in: the test meets the fakes' files, because links are
// what the agent alone sees.
const linkFile = ".csi-proxy-reparse"

func (l *diskLife) staging() string {
	return fmt.Sprintf(`%s\plugins\staging-%d`, kubeletDir, l.number)
}

func (l *diskLife) published() string {
	return fmt.Sprintf(`%s\pods\published-%d`, kubeletDir, l.number)
}

// onVolume is where the fake keeps a file of the volume.
func (l *diskLife) onVolume(name string) string {
	guid := strings.TrimSuffix(strings.TrimPrefix(l.id, `\\?\Volume`), `\`)
	return filepath.Join(disksFolder, "files", guid, name)
}

// aboutMount returns a request that names the volume and where it is mounted.
func (l *diskLife) aboutMount(path string) string {
	field := "target_path"
	if l.volume.byText() {
		field = "path"
	}
	return fmt.Sprintf(`{"volume_id":%q,%q:%q}`, l.id, field, path)
}

// done is the answer of the filesystem group's methods that answer nothing, or nothing but the absence of an error.
func (l *diskLife) done(more string) string {
	if l.files.version == "v1beta1" || l.files.version == "v1alpha1" {
		return `{"error":""` + strings.Replace(more, `"`, `,"`, 1) + `}`
	}
	return "{" + more + "}"
}

// mountedAt reports whether the mount manager has recorded that the volume is mounted at a folder.
func (l *diskLife) mountedAt(path string) bool {
	return slices.ContainsFunc(l.disks.lines("mounts.txt", ""),
		func(line string) bool { return strings.EqualFold(line, l.id+" "+path+`\`) })
}

// wantVolumeAt checks which volume is mounted at a folder, as the agent and the mount manager say: the life's, or with
// a code none.
func (l *diskLife) wantVolumeAt(path string, code codes.Code) {
	l.t.Helper()
	if got := l.mountedAt(path); got != (code == codes.OK) {
		l.t.Errorf("the mount manager has recorded the folder %s: %t\n%s", path, got, l.disks.read("mounts.txt"))
	}
	for method, field := range map[string]string{"GetVolumeIDFromTargetPath": "target_path",
		"GetVolumeIDFromMount": "mount"} {
		if !l.volume.has(method) {
			continue
		}
		got := l.call(code, l.volume, method, fmt.Sprintf(`{%q:%q}`, field, path))
		if want := fmt.Sprintf(`{"volumeId":%q}`, l.id); code == codes.OK && got != want {
			l.t.Errorf("%s(%s): got %s, want %s", method, path, got, want)
		}
	}
}

// mount mounts the volume at a folder that is not there yet, twice, and at one that is in use.
func (l *diskLife) mount() {
	inUse := fmt.Sprintf(`%s\pods\used-%d`, kubeletDir, l.number)
	caller.OK(l.t, os.MkdirAll(inUse+`\by somebody`, 0o700))
	l.call(codes.FailedPrecondition, l.volume, "MountVolume", l.aboutMount(inUse))
	l.answers("{}", l.volume, "MountVolume", l.aboutMount(l.staging()))
	calls := len(l.disks.calls("SetVolumeMountPointW"))
	l.answers("{}", l.volume, "MountVolume", l.aboutMount(l.staging()))
	if len(l.disks.calls("SetVolumeMountPointW")) != calls {
		l.t.Error("a second MountVolume mounted the volume again")
	}
	l.wantVolumeAt(l.staging(), codes.OK)
	l.wantReparse(l.staging(), mountPoint, `\??\`+l.id[4:])

	// A file made in the folder is on the volume.
	l.answers(l.done(""), l.files, "Mkdir", fmt.Sprintf(`{"path":%q}`, l.staging()+`\data`))
	if info, err := os.Stat(l.onVolume("data")); err != nil || !info.IsDir() {
		l.t.Errorf("the directory is not on the volume: %v", err)
	}
	l.answers(fmt.Sprintf(`{"volumeId":%q}`, l.id), l.volume, "GetClosestVolumeIDFromTargetPath",
		fmt.Sprintf(`{"target_path":%q}`, l.staging()+`\data`))
}

// link publishes the folder to a pod by a link, which goes without what it leads to.
func (l *diskLife) link() {
	request := fmt.Sprintf(`{"source_path":%q,"target_path":%q}`, l.staging(), l.published())
	l.answers(l.done(""), l.files, "CreateSymlink", request)
	l.answers(l.done(""), l.files, "LinkPath", request)
	l.wantReparse(l.published(), symbolicLink, `\??\`+l.staging())
	about := func(path string) string { return fmt.Sprintf(`{"path":%q}`, path) }
	l.answers(l.done(`"isSymlink":true`), l.files, "IsSymlink", about(l.published()))
	l.answers(l.done(`"isMountPoint":true`), l.files, "IsMountPoint", about(l.published()))
	l.answers(l.done(`"exists":true`), l.files, "PathExists", about(l.published()+`\data`))

	l.answers(l.done(""), l.files, "Rmdir", about(l.published()))
	l.answers(l.done(`"exists":false`), l.files, "PathExists", about(l.published()))
	if _, err := os.Stat(l.published()); !os.IsNotExist(err) {
		l.t.Errorf("the link is still there: %v", err)
	}
	if _, err := os.Stat(l.onVolume("data")); err != nil {
		l.t.Errorf("what the link led to is gone with it: %v", err)
	}
}

// unmount unmounts the volume, twice. Its files stay.
func (l *diskLife) unmount() {
	for range 2 {
		for _, method := range []string{"UnmountVolume", "DismountVolume"} {
			l.answers("{}", l.volume, method, l.aboutMount(l.staging()))
		}
	}
	l.wantVolumeAt(l.staging(), codes.NotFound)
	if _, err := os.Stat(filepath.Join(l.staging(), linkFile)); err == nil {
		l.t.Error("the folder is still a mount point")
	}
	if _, err := os.Stat(l.onVolume("data")); err != nil {
		l.t.Errorf("a directory on the volume is gone: %v", err)
	}
}

// The reparse tags of links:
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
const (
	mountPoint   = 0xA0000003
	symbolicLink = 0xA000000C
)

// wantReparse checks the reparse data of a directory: its tag and the name that it leads to.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/b41f1cbf-10df-4a47-98d4-1c52a833d913, and for mount points ca069dad-ed16-42aa-b057-b6b207f447cc
func (l *diskLife) wantReparse(path string, tag uint32, want string) {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(path, linkFile))
	if err != nil || len(data) < 20 {
		l.t.Errorf("%s has %d bytes of reparse data: %v", path, len(data), err)
		return
	}
	names := data[16:]
	if tag == symbolicLink {
		names = data[20:]
	}
	offset, length := binary.LittleEndian.Uint16(data[8:]), binary.LittleEndian.Uint16(data[10:])
	var text []uint16
	for i := offset; i < offset+length; i += 2 {
		text = append(text, binary.LittleEndian.Uint16(names[i:]))
	}
	got := strings.TrimSuffix(string(utf16.Decode(text)), `\`)
	if found := binary.LittleEndian.Uint32(data); found != tag || !strings.EqualFold(got, strings.TrimSuffix(want, `\`)) {
		l.t.Errorf("%s leads to %s with tag %#x, want %s with %#x", path, got, found, want, tag)
	}
}
