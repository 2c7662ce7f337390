// SPDX-License-Identifier: Apache-2.0

package published

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

const (
	kubelet = `C:\var\lib\kubelet`
	share   = `\\fs.emulated\share`
)

// offWindows returns the agent that hack/off-windows.sh started, whose node's files are this program's own.
func offWindows(t *testing.T) (*calls.Calls, testnode.Controlled) {
	t.Helper()
	if os.Getenv("CSI_PROXY_NODE_FILES") == "" {
		t.Skip("needs the agent and the files of hack/off-windows.sh")
	}
	client := csiproxy.New(csiproxy.Options{})
	t.Cleanup(func() { _ = client.Close() })
	return calls.By(t.Context(), func() *csiproxy.Client { return client }), testnode.Control(t, "")
}

// mounted attaches a formatted disk and mounts its volume.
func mounted(t *testing.T, on *calls.Calls, control testnode.Controlled, at string) (disk uint32, volume string) {
	t.Helper()
	disk = control.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true})
	volumes, err := on.ListVolumesOnDisk(disk)
	check(t, "listing volumes", err)
	check(t, "mounting", on.MountVolume(volumes[0], at))
	return disk, volumes[0]
}

// The links and mount points that the agent makes are those of the program, and what it does with them is what the
// agent sees.
func TestOffWindowsLinks(t *testing.T) {
	on, control := offWindows(t)
	dir := kubelet + `\plugins\links`
	link := func(from, to string) { check(t, "linking "+from, on.CreateSymlink(to, from)) }
	check(t, "making a directory", on.Mkdir(dir+`\real`))
	write(t, dir+`\real\data`, "precious")

	link(dir+`\link`, dir+`\real`)
	wantLink(t, dir+`\link`, dir+`\real`)
	wantFile(t, dir+`\link\data`, "precious")
	link(dir+`\second`, dir+`\link`)
	wantFile(t, dir+`\second\data`, "precious")
	write(t, dir+`\second\more`, "through two links")
	wantFile(t, dir+`\real\more`, "through two links")
	check(t, "renaming behind a link", os.Rename(dir+`\link\more`, dir+`\second\other`))
	wantFile(t, dir+`\real\other`, "through two links")
	check(t, "removing behind a link", os.Remove(dir+`\link\other`))
	if _, err := os.Stat(dir + `\real\other`); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file behind a link is still there: %v", err)
	}

	entries, err := os.ReadDir(dir)
	check(t, "listing", err)
	for _, e := range entries {
		if isLink := e.Type()&fs.ModeSymlink != 0; isLink != (e.Name() != "real") {
			t.Errorf("the listing shows %s as %v", e.Name(), e.Type())
		}
	}
	check(t, "removing a link", os.Remove(dir+`\link`))
	wantFile(t, dir+`\real\data`, "precious")
	if _, err := os.ReadFile(dir + `\second\data`); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading through a link that leads nowhere: %v", err)
	}
	wantLink(t, dir+`\second`, dir+`\link`)
	if there, err := on.PathExists(dir + `\link`); err != nil || there {
		t.Errorf("the agent still sees the link: %t, %v", there, err)
	}

	// A volume is written at its mount point and read through a link to that, as pods do.
	mounted(t, on, control, dir+`\mount`)
	if info, err := os.Lstat(dir + `\mount`); err != nil || info.IsDir() {
		t.Errorf("Lstat of a mount point = %v, %v, want something that is not a plain directory", info, err)
	}
	write(t, dir+`\mount\data`, "on the volume")
	link(dir+`\pod`, dir+`\mount`)
	wantFile(t, dir+`\pod\data`, "on the volume")
}

// A program starts on drive C, and sees the agent's working directories there, also those of which Wine has the first
// names.
func TestOffWindowsDirectories(t *testing.T) {
	on, _ := offWindows(t)
	if dir, err := os.Getwd(); err != nil || dir != `C:\` {
		t.Errorf("the program starts in %s, %v", dir, err)
	}
	for _, dir := range []string{kubelet, `C:\csi`, `C:\ProgramData\Amazon\ECS`} {
		check(t, "making a directory", on.Mkdir(dir+`\made`))
		write(t, dir[len(`C:`):]+`\made\data`, dir)
		wantFile(t, dir+`\made\data`, dir)
	}
}

// A program finds a volume and a share as large and as full as the agent finds them, also in a folder below. The agent
// is asked once, and not at all about a directory at which nothing is mounted.
func TestOffWindowsSizes(t *testing.T) {
	on, control := offWindows(t)
	const mount, link = kubelet + `\plugins\sized\mount`, kubelet + `\plugins\sized\share`
	const below = mount + `\a b`
	disk, volume := mounted(t, on, control, mount)
	check(t, "making a directory", os.Mkdir(below, 0o700))
	asked := func() int {
		made, err := control.Admin.ListJournal(t.Context(), &nodeapi.ListJournalRequest{Method: "nodesteps/GetVolume"})
		check(t, "reading the journal", err)
		return len(slices.DeleteFunc(made.GetEntries(), func(e *nodeapi.JournalEntry) bool { return e.GetApi() == nil }))
	}
	const deep = kubelet + `\plugins\unmounted\a\b\c`
	check(t, "making directories", os.MkdirAll(deep, 0o700))
	_, _, _ = space(t, deep)
	if n := asked(); n != 0 {
		t.Errorf("the agent was asked %d times about a directory at which nothing is mounted", n)
	}
	_, _, _ = space(t, below)
	if n := asked(); n != 1 {
		t.Errorf("the agent was asked %d times about a folder of a volume", n)
	}
	for range 2 {
		write(t, below+`\data`, strings.Repeat("x", 1<<20))
		total, used, err := on.GetVolumeStats(volume)
		check(t, "measuring the volume", err)
		wantSpace(t, mount, total, used)
		wantSpace(t, below, total, used)
		control.GrowDisk(disk, 2<<30)
		check(t, "resizing the volume", on.ResizeVolume(volume, 0))
	}

	check(t, "mapping", on.NewSmbGlobalMapping(share, link, `AZURE\csi`, calls.Password))
	for _, size := range []int64{3 << 30, 5 << 30} {
		_, err := control.Admin.Add(t.Context(), &nodeapi.AddRequest{Document: nodeapi.Document("smbServers",
			map[string]any{"name": "fs.emulated", "shares": []map[string]any{{"name": "share", "size": size}}})})
		check(t, "resizing the share", err)
		_, used, err := on.GetVolume(link)
		check(t, "measuring the share", err)
		wantSpace(t, link, size, used)
	}
}

// space asks Windows for the sizes of the file system that has a directory.
func space(t *testing.T, path string) (available, total, free uint64) {
	t.Helper()
	name, err := windows.UTF16PtrFromString(path)
	check(t, "naming "+path, err)
	check(t, "measuring "+path, windows.GetDiskFreeSpaceEx(name, &available, &total, &free))
	return available, total, free
}

// wantSpace checks what Windows says of the file system that has a directory.
func wantSpace(t *testing.T, path string, total, used int64) {
	t.Helper()
	gotAvailable, gotTotal, gotFree := space(t, path)
	if gotTotal != uint64(total) || gotAvailable != uint64(total-used) || gotFree != gotAvailable {
		t.Errorf("%s has %d bytes available and %d free of %d, want %d of %d", path, gotAvailable, gotFree, gotTotal,
			total-used, total)
	}
}

// A plugin listens at a Unix socket, as vSphere's must.
func TestOffWindowsUnixSockets(t *testing.T) {
	offWindows(t)
	const path = `C:\csi\csi.sock`
	listener, err := net.Listen("unix", path)
	check(t, "listening", err)
	if listener.Addr().String() != path {
		t.Errorf("the listener is at %s", listener.Addr())
	}
	if second, err := net.Listen("unix", path); err == nil {
		_ = second.Close()
		t.Error("a second listener is at the path of the first")
	}
	echoed := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(connection, connection)
			err = errors.Join(err, connection.Close())
		}
		echoed <- err
	}()
	connection, err := net.Dial("unix", "/csi/csi.sock") // as gRPC has it of unix:///csi/csi.sock
	check(t, "connecting", err)
	_, err = io.WriteString(connection, "sent")
	check(t, "sending", err)
	check(t, "ending", connection.(*net.UnixConn).CloseWrite())
	if got, err := io.ReadAll(connection); string(got) != "sent" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
	check(t, "answering", <-echoed)
	check(t, "closing", errors.Join(connection.Close(), listener.Close()))
	if _, err := net.Dial("unix", path); err == nil {
		t.Error("connected without a listener")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	check(t, "writing "+path, os.WriteFile(path, []byte(content), 0o600))
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

func wantLink(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.Readlink(path)
	if err != nil || strings.TrimSuffix(got, `\`) != want {
		t.Errorf("Readlink(%s) = %q, %v, want %q", path, got, err, want)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat(%s) = %v, %v, want a symbolic link", path, info, err)
	}
}
