// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/treeview"
)

const (
	gib = 1 << 30
	id  = `\\?\Volume{6e0b9e60-5d2f-4f43-9a5e-7a8d5f2b6c11}\`
)

// verdict is the part of a finding that a test compares.
type verdict struct {
	severity doctor.Severity
	check    string
	first    string // the first step that helps
}

func verdicts(t *testing.T, f doctor.Facts) []verdict {
	t.Helper()
	fits(t, f)
	var all []verdict
	for _, finding := range doctor.Examine(f) {
		v := verdict{severity: finding.Severity, check: finding.Check}
		if len(finding.Do) > 0 {
			v.first = finding.Do[0]
		}
		all = append(all, v)
	}
	return all
}

// staged returns the path at which kubelet has a driver stage a volume.
func staged(driver string) string {
	return `C:\var\lib\kubelet\plugins\kubernetes.io\csi\` + driver + `\5f1c\globalmount\`
}

// used fills the volume of a disk.
func used(d *treeview.Disk, percent int64) {
	v := d.Partitions[1].Volume
	v.UsedBytes = (v.TotalBytes*percent + 99) / 100
}

// mounted returns a healthy disk with one mounted volume.
func mounted() treeview.Disk {
	yes, no := true, false
	return treeview.Disk{
		Number: 3, SizeBytes: 10 * gib, Style: "GPT", Online: &yes, ReadOnly: &no, System: &no, BusType: "SCSI",
		Partitions: []treeview.Partition{
			{Number: 1, OffsetBytes: 1 << 20, SizeBytes: 16 << 20, Kind: "Microsoft Reserved"},
			{Number: 2, OffsetBytes: 17 << 20, SizeBytes: 10*gib - 18<<20, Kind: "basic data", Volume: &treeview.Volume{
				ID: id, FileSystem: "NTFS", Formatted: true, TotalBytes: 10*gib - 19<<20,
				MountPoints: []string{staged("ebs.csi.aws.com")},
			}},
		},
	}
}

func TestDisksAndVolumes(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		change func(*treeview.Disk)
		want   []verdict
	}{
		"as it should be": {func(*treeview.Disk) {}, nil},
		"offline": {func(d *treeview.Disk) { d.Online = &no },
			[]verdict{{doctor.Warning, "disk-offline", "csi-proxyctl disk online 3"}}},
		"offline and raw": {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3, Style: "RAW", Online: &no} }, nil},
		"offline, API alone": {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3, Online: &no} },
			[]verdict{{doctor.Warning, "disk-offline", "csi-proxyctl disk online 3"}}},
		"state not known": {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3} }, nil},
		"read-only": {func(d *treeview.Disk) { d.ReadOnly = &yes },
			[]verdict{{doctor.Warning, "disk-read-only", "csi-proxyctl disk online 3"}}},
		"not mounted": {func(d *treeview.Disk) { d.Partitions[1].Volume.MountPoints = []string{} }, nil},
		"94 % full":   {func(d *treeview.Disk) { used(d, 94) }, nil},
		"95 % full": {func(d *treeview.Disk) { used(d, 95) },
			[]verdict{{doctor.Warning, "volume-full", "have its PersistentVolumeClaim grown, or files removed"}}},
		"full": {func(d *treeview.Disk) { used(d, 100) },
			[]verdict{{doctor.Problem, "volume-full", "have its PersistentVolumeClaim grown, or files removed"}}},
		"the node's own, full": {func(d *treeview.Disk) { used(d, 96); d.System = &yes },
			[]verdict{{doctor.Warning, "volume-full", "see what fills it: images, logs, or what pods wrote to their own layer"}}},
		"mount points not known": {func(d *treeview.Disk) { d.Partitions[1].Volume.MountPoints = nil }, nil},
		"hidden": {func(d *treeview.Disk) { d.Partitions[1].Attributes = []string{"hidden", "no drive letter"} },
			[]verdict{{doctor.Warning, "partition-attribute", "if pods are to write to it, in diskpart: select disk 3, " +
				"select partition 2, gpt attributes=0x8000000000000000"}}},
		"grown disk": {func(d *treeview.Disk) { d.SizeBytes = 20 * gib },
			[]verdict{{doctor.Warning, "partition-smaller", "csi-proxyctl volume resize '" + id + "'"}}},
		"grown system disk": {func(d *treeview.Disk) { d.SizeBytes, d.System = 20*gib, &yes }, nil},
		"grown disk with two volumes": {func(d *treeview.Disk) {
			d.SizeBytes = 30 * gib
			second := d.Partitions[1]
			second.Number, second.OffsetBytes = 3, 10*gib
			d.Partitions = append(d.Partitions, second)
		}, nil},
		"small file system": {func(d *treeview.Disk) { d.Partitions[1].Volume.TotalBytes = 5 * gib },
			[]verdict{{doctor.Warning, "file-system-smaller", "csi-proxyctl volume resize '" + id + "'"}}},
		"no file system": {func(d *treeview.Disk) {
			*d.Partitions[1].Volume = treeview.Volume{ID: id,
				MountPoints: []string{}}
		}, nil},
		"no file system, and mounted": {func(d *treeview.Disk) { *d.Partitions[1].Volume = treeview.Volume{MountPoints: []string{`D:\`}} },
			[]verdict{{doctor.Problem, "volume-unreadable", "do not format it: the data may still be whole"},
				{doctor.Note, "disk-not-of-kubernetes", ""}}},
		"no answer": {func(d *treeview.Disk) { *d.Partitions[1].Volume = treeview.Volume{Unknown: "it has not answered"} },
			[]verdict{{doctor.Problem, "volume-not-answering", "look at its disk, and in Event Viewer, log System, sources disk and Ntfs"}}},
		"no answer of Windows' own": {func(d *treeview.Disk) {
			d.Partitions[1].Kind, d.Partitions[1].Volume.Unknown = "EFI system", "it has not answered"
		}, nil},
		"of two drivers": {func(d *treeview.Disk) {
			d.Partitions[1].Volume.MountPoints = []string{staged("ebs.csi.aws.com"), staged("disk.csi.azure.com")}
		}, []verdict{{doctor.Warning, "disk-of-two-drivers",
			"find out which of them the disk belongs to: one of them has taken another's, or did not unstage it"}}},
		"of no driver": {func(d *treeview.Disk) { d.Partitions[1].Volume.MountPoints = []string{`D:\`} },
			[]verdict{{doctor.Note, "disk-not-of-kubernetes", ""}}},
		"of no driver, but a pod's": {func(d *treeview.Disk) {
			d.Partitions[1].Volume.MountPoints = []string{`C:\var\lib\kubelet\pods\u\mount\`}
		}, nil},
		"of no driver, and Windows'": {func(d *treeview.Disk) {
			d.System, d.Partitions[1].Volume.MountPoints = &yes,
				[]string{`C:\`}
		}, nil},
		"partition size not known": {func(d *treeview.Disk) {
			d.Partitions = d.Partitions[1:]
			d.Partitions[0].SizeBytes, d.Partitions[0].OffsetBytes = 0, 0
		}, nil},
	} {
		d := mounted()
		test.change(&d)
		got := verdicts(t, doctor.Facts{Tree: &treeview.Tree{Disks: []treeview.Disk{d}}})
		if diff := cmp.Diff(got, test.want, cmp.AllowUnexported(verdict{})); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

// TestDriversOfGlobalmounts: kubelet's file has a driver's name, which the older form of the path lacks.
func TestDriversOfGlobalmounts(t *testing.T) {
	const old = `D:\k\plugins\kubernetes.io\csi\pv\pvc-1\globalmount\`
	d := mounted()
	d.Partitions[1].Volume.MountPoints = []string{old, `D:\k\plugins\kubernetes.io\csi\a.example\5f1c\globalmount\`}
	facts := doctor.Facts{Tree: &treeview.Tree{Disks: []treeview.Disk{d}},
		Inspected: &admin.InspectResponse{WorkingDirectories: []string{`D:\k`}}}
	for driver, want := range map[string]int{"": 0, "a.example": 0, "b.example": 1} {
		facts.Staged = map[string]doctor.Staged{doctor.GlobalmountKey(old): {Driver: driver}}
		if got := doctor.Examine(facts); len(got) != want || want > 0 && got[0].Check != "disk-of-two-drivers" {
			t.Errorf("the driver %q: got %+v, want %d findings", driver, got, want)
		}
	}
	facts.Inspected.WorkingDirectories = []string{`C:\var\lib\kubelet`}
	facts.Staged = nil
	d.Partitions[1].Volume.MountPoints[1] = `D:\data\`
	if got := doctor.Examine(facts); len(got) != 1 || got[0].Check != "disk-not-of-kubernetes" {
		t.Errorf("outside the working directories: got %+v, want a note", got)
	}
}

// TestYoungStages: between stage and publish a volume is as it should be.
func TestYoungStages(t *testing.T) {
	at := strings.TrimSuffix(staged("a"), `\`)
	facts := doctor.Facts{Inspected: &admin.InspectResponse{Unpublished: []*admin.Unpublished{{Path: at, Target: id}}}}
	for age, want := range map[time.Duration]int{time.Minute: 0, time.Hour: 1} {
		facts.Staged = map[string]doctor.Staged{doctor.GlobalmountKey(at): {Age: age}}
		if got := doctor.Examine(facts); len(got) != want {
			t.Errorf("after %v: got %+v, want %d findings", age, got, want)
		}
	}
}

// TestCausesComeFirst: a mounted volume that is missing is not called gone while it may be behind something that is
// there, and each cause has its own remedy.
func TestCausesComeFirst(t *testing.T) {
	missing := &admin.Dangling{Path: `C:\m`, Target: id, Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT}
	d, hidden, no := mounted(), mounted(), false
	d.Online = &no
	hidden.Partitions[1].Volume, hidden.Partitions[1].Attributes = nil, []string{"hidden"}
	for check, facts := range map[string]doctor.Facts{
		"dangling-mount-point": {Inspected: &admin.InspectResponse{}, Tree: &treeview.Tree{}},
		"disk-offline":         {Inspected: &admin.InspectResponse{}, Tree: &treeview.Tree{Disks: []treeview.Disk{d}}},
		"partition-attribute":  {Inspected: &admin.InspectResponse{}, Tree: &treeview.Tree{Disks: []treeview.Disk{hidden}}},
		"iscsi-disconnected":   {Inspected: &admin.InspectResponse{IscsiSessions: []*admin.ISCSISession{{Target: "iqn"}}}},
		"disk-not-answering": {Inspected: &admin.InspectResponse{DiskTroubles: []*admin.DiskTrouble{{Disk: "disk 1",
			Error: "it has not answered"}}}},
		"disk-unreadable": {Inspected: &admin.InspectResponse{DiskTroubles: []*admin.DiskTrouble{{Disk: "disk 1",
			Error: "data of an unknown kind", Unreadable: true}}}},
	} {
		facts.Inspected.Dangling = []*admin.Dangling{missing}
		got := doctor.Examine(facts)
		if len(got) != 1 || got[0].Check != check || got[0].Severity != doctor.Problem ||
			!strings.Contains(strings.Join(got[0].Evidence, "\n"), `C:\m`) {
			t.Errorf("got %+v, want %s alone", got, check)
		}
		fits(t, facts)
	}
}

// TestMappings: what counts is whether the server lets the node in, not Windows' word.
func TestMappings(t *testing.T) {
	link := `C:\var\lib\kubelet\pods\s`
	for name, test := range map[string]struct {
		mapping *admin.SMBMapping
		want    string
	}{
		"works":           {&admin.SMBMapping{Status: "OK", Link: link}, ""},
		"idle":            {&admin.SMBMapping{Status: "disconnected", Link: link}, ""},
		"not entered":     {&admin.SMBMapping{Status: "unavailable", Link: link}, "a file server does not answer for a mapped share"},
		"no such share":   {&admin.SMBMapping{Status: "OK", Link: link, Error: "e", Win32Code: 67}, "a file server has no such share any more"},
		"denied":          {&admin.SMBMapping{Status: "OK", Link: link, Error: "e", Win32Code: 5}, "a file server denies access to a mapped share"},
		"password":        {&admin.SMBMapping{Status: "OK", Link: link, Error: "e", Win32Code: 1326, Refused: true}, "a file server refuses the credentials of a mapped share"},
		"does not answer": {&admin.SMBMapping{Status: "OK", Link: link, Error: "e"}, "a file server does not answer for a mapped share"},
	} {
		test.mapping.RemotePath = `\\fs\s`
		facts := doctor.Facts{Inspected: &admin.InspectResponse{SmbMappings: []*admin.SMBMapping{test.mapping}, Complete: true}}
		fits(t, facts)
		got := doctor.Examine(facts)
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0].What != test.want+`: \\fs\s`) {
			t.Errorf("%s: got %+v, want %q", name, got, test.want)
		}
	}
	unused := []*admin.SMBMapping{{RemotePath: `\\a\1`, Status: "OK"}, {RemotePath: `\\b\1`, Status: "OK"}}
	facts := doctor.Facts{Inspected: &admin.InspectResponse{SmbMappings: unused, Complete: true}}
	if got := doctor.Examine(facts); len(got) != 1 || got[0].Check != "unused-smb-mappings" || doctor.Bad(got) {
		t.Errorf("one unused mapping for each server: got %+v, want a note", got)
	}
	unused[1].RemotePath = `\\a\2`
	if got := doctor.Examine(facts); len(got) != 1 || !doctor.Bad(got) {
		t.Errorf("two unused mappings of a server: got %+v, want a warning", got)
	}
	facts.Inspected.Complete = false
	if got := doctor.Examine(facts); len(got) != 0 {
		t.Errorf("links not seen: got %+v, want nothing", got)
	}
}

func TestAutomount(t *testing.T) {
	got := verdicts(t, doctor.Facts{AutomountOff: true})
	if diff := cmp.Diff(got, []verdict{{doctor.Warning, "automount-off", "mountvol /E"}},
		cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestBitLockerRequired(t *testing.T) {
	got := verdicts(t, doctor.Facts{BitLockerRequired: true})
	want := []verdict{{doctor.Problem, "bitlocker-required",
		`disable the policy "Deny write access to fixed drives not protected by BitLocker" for this node`}}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestManyMappings(t *testing.T) {
	for count, want := range map[int]doctor.Severity{499: "", 500: doctor.Warning,
		699: doctor.Warning, 700: doctor.Problem} {
		r := &admin.InspectResponse{}
		for i := range count {
			r.SmbMappings = append(r.SmbMappings, &admin.SMBMapping{RemotePath: fmt.Sprintf(`\\FS%d\s%d`, i%2, i), Status: "OK"})
		}
		var got doctor.Severity
		for _, f := range doctor.Examine(doctor.Facts{Inspected: r}) {
			if got = f.Severity; f.Check != "many-smb-mappings" || len(f.Evidence) != 3 ||
				!strings.HasPrefix(f.Evidence[1], "fs0: ") {
				t.Errorf("%d mappings: got %+v", count, f)
			}
		}
		if got != want {
			t.Errorf("%d mappings: got %q, want %q", count, got, want)
		}
	}
}

func TestConnectionsAndLinks(t *testing.T) {
	got := verdicts(t, doctor.Facts{Inspected: &admin.InspectResponse{
		Dangling: []*admin.Dangling{
			{Path: `C:\a`, Target: `C:\b`, Kind: admin.DanglingKind_DANGLING_KIND_LINK},
			{Path: `C:\m`, Target: id, Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT},
			{Path: `C:\s`, Target: `\\fs\share`, Kind: admin.DanglingKind_DANGLING_KIND_SHARE},
			{Path: strings.TrimSuffix(staged("ebs.csi.aws.com"), `\`), Target: id,
				Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT},
		},
		Unpublished: []*admin.Unpublished{{Path: staged("ebs.csi.aws.com"), Target: id},
			{Path: staged("smb.csi.k8s.io"), Target: `\\fs\good`}},
		SmbMappings: []*admin.SMBMapping{{RemotePath: `\\fs\good`, Status: "OK"},
			{RemotePath: `\\fs\bad`, Status: "unavailable"}},
		IscsiSessions: []*admin.ISCSISession{{Target: "iqn.2026-01.example:good", Connected: true}},
		Operations: []*admin.Operation{
			{Name: "Rescan", Age: durationpb.New(time.Second * 9)}, {Name: "MountVolume(x)", Age: durationpb.New(time.Hour)},
			{Name: "Rmdir(x)", Age: durationpb.New(time.Hour), Waiting: true},
		},
	}})
	const again = "look for pods of this node that have the volume: kubectl get pods -A -o wide"
	want := []verdict{
		{doctor.Problem, "hung-operation",
			"look in Event Viewer, log System, sources disk, Ntfs and iScsiPrt, for a device that does not answer"},
		{doctor.Problem, "dangling-mount-point", "if pods still use the volume: attach the disk again"},
		{doctor.Problem, "left-over-globalmount", "if pods still use the volume: attach the disk again"},
		{doctor.Problem, "stale-smb-mapping",
			"check that the file server answers from this node: Test-NetConnection fs -Port 445"},
		{doctor.Warning, "dangling-link", `csi-proxyctl fs rmdir 'C:\a'`},
		{doctor.Warning, "dangling-share-link", "if pods use it: restart them, so that kubelet has the driver map it again"},
		{doctor.Note, "slow-operation", "csi-proxyctl doctor, in half a minute: what has not ended by then hangs"},
		{doctor.Note, "staged-not-published", again},
		{doctor.Note, "staged-not-published", again},
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestDisksOfOneIdentity(t *testing.T) {
	a, b, c := mounted(), mounted(), mounted()
	a.SerialNumber, b.SerialNumber, c.SerialNumber, c.Page83 = "1", "1", "2", "naa"
	b.Number, c.Number = 4, 5
	findings := doctor.Examine(doctor.Facts{Tree: &treeview.Tree{Disks: []treeview.Disk{a, b, c}}})
	if len(findings) != 1 || findings[0].Check != "same-identity" || len(findings[0].Evidence) != 4 {
		t.Errorf("got %+v, want one finding about disks 3 and 4", findings)
	}
}

func TestHungOperationsNameThoseThatWait(t *testing.T) {
	findings := doctor.Examine(doctor.Facts{Inspected: &admin.InspectResponse{Operations: []*admin.Operation{
		{Name: "Rmdir(x)", Age: durationpb.New(time.Hour), Waiting: true},
		{Name: "MountVolume(x)", Age: durationpb.New(61 * time.Minute)},
		{Name: "Rescan", Age: durationpb.New(100 * time.Second)}, {Name: "Mkdir(x)", Age: durationpb.New(5 * time.Second)},
		{Name: "Flush(x)", Age: durationpb.New(4 * time.Second)},
	}}})
	hung := []string{"MountVolume(x), for 1h1m0s", "Rescan, for 1m40s", "Rmdir(x), for 1h0m0s, waiting for others"}
	slow := []string{"Mkdir(x), for 5s"}
	if len(findings) != 2 || !slices.Equal(findings[0].Evidence, hung) || !slices.Equal(findings[1].Evidence, slow) {
		t.Errorf("got %+v, want one finding with %q and one with %q", findings, hung, slow)
	}
}

func TestEmulatedNodes(t *testing.T) {
	fault := doctor.EmulatedNode{Faults: []string{"fault 1: Flush hang"}, Path: "/state", FreeBytes: 10 * gib, SizeBytes: 20 * gib}
	for name, test := range map[string]struct {
		node doctor.EmulatedNode
		want []verdict
	}{
		"faults": {fault, []verdict{{doctor.Note, "active-fault", "csi-proxyctl node fault remove --all"}}},
		"full host": {doctor.EmulatedNode{Path: "/state", FreeBytes: 1 << 20, SizeBytes: 24 << 20},
			[]verdict{{doctor.Problem, "host-disk-full", "make room there, or start the node with another -state-dir"}}},
		"small host":     {doctor.EmulatedNode{Path: "/state", FreeBytes: 23 << 20, SizeBytes: 24 << 20}, nil},
		"large host":     {doctor.EmulatedNode{Path: "/state", FreeBytes: 10 * gib, SizeBytes: 1000 * gib}, nil},
		"unknown":        {doctor.EmulatedNode{Path: "/state", FreeBytes: -1}, nil},
		"a node of iron": {doctor.EmulatedNode{}, nil},
	} {
		if diff := cmp.Diff(verdicts(t, doctor.Facts{Emulated: test.node}), test.want,
			cmp.AllowUnexported(verdict{})); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

// TestOfflineDisks distinguishes a disk that a driver has let go from one that a mount point misses.
func TestOfflineDisks(t *testing.T) {
	d, hidden, no := mounted(), mounted(), false
	d.Online = &no
	hidden.Partitions[1].Volume, hidden.Partitions[1].Attributes = nil, []string{"hidden"}
	facts := doctor.Facts{Tree: &treeview.Tree{Disks: []treeview.Disk{d}}, Inspected: &admin.InspectResponse{}}
	if got := doctor.Examine(facts); len(got) != 0 {
		t.Errorf("after an unstage: got %+v, want nothing", got)
	}
	facts.Inspected.Dangling = []*admin.Dangling{{Path: `C:\m`, Target: id,
		Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT}}
	if got := doctor.Examine(facts); len(got) != 1 || got[0].Check != "disk-offline" || got[0].Severity != doctor.Problem {
		t.Errorf("under a mount point: got %+v, want a problem, and no disk that is gone", got)
	}
}

func TestServices(t *testing.T) {
	iscsiDisk := mounted()
	iscsiDisk.BusType = "iSCSI"
	for name, test := range map[string]struct {
		facts doctor.Facts
		want  []verdict
	}{
		"all run": {doctor.Facts{Services: []doctor.Service{
			{Name: "LanmanWorkstation", Installed: true, Status: "running", Start: "automatic"},
			{Name: "MSiSCSI", Installed: true, Status: "running", Start: "automatic"},
			{Name: "csiproxy", Installed: true, Status: "running", Start: "automatic", Agent: true},
		}}, nil},
		"no SMB client": {doctor.Facts{Services: []doctor.Service{{Name: "LanmanWorkstation", Installed: true,
			Status: "stopped", Start: "automatic"}}},
			[]verdict{{doctor.Problem, "service-stopped", "csi-proxyctl system service start LanmanWorkstation"}}},
		"no iSCSI initiator, as by default": {doctor.Facts{Services: []doctor.Service{{Name: "MSiSCSI", Installed: true,
			Status: "stopped", Start: "manual"}}}, nil},
		"no iSCSI initiator, though it " +
			"should run": {doctor.Facts{Services: []doctor.Service{{Name: "MSiSCSI", Installed: true,
			Status: "stopped", Start: "automatic"}}},
			[]verdict{{doctor.Warning, "service-stopped", "csi-proxyctl system service start MSiSCSI"}}},
		"no iSCSI initiator, and iSCSI disks": {doctor.Facts{
			Services: []doctor.Service{{Name: "MSiSCSI", Installed: true, Status: "stopped", Start: "manual"}},
			Tree:     &treeview.Tree{Disks: []treeview.Disk{iscsiDisk}},
		}, []verdict{{doctor.Problem, "service-stopped", "csi-proxyctl system service start MSiSCSI"}}},
		"not installed": {doctor.Facts{Services: []doctor.Service{{Name: "LanmanWorkstation"}}},
			[]verdict{{doctor.Problem, "service-stopped", "install the Windows feature that has the service " +
				"LanmanWorkstation"}}},
		"disabled": {doctor.Facts{Services: []doctor.Service{{Name: "LanmanWorkstation", Installed: true,
			Status: "stopped", Start: "disabled"}}},
			[]verdict{{doctor.Problem, "service-stopped", "sc.exe config LanmanWorkstation start= auto"}}},
		"agent in a container": {doctor.Facts{Services: []doctor.Service{{Name: "csiproxy", Agent: true}}}, nil},
		"agent's service stopped": {doctor.Facts{Services: []doctor.Service{{Name: "csiproxy", Installed: true,
			Status: "stopped", Start: "automatic",
			Agent: true}}}, []verdict{{doctor.Warning, "service-stopped", "sc.exe start csiproxy"}}},
		"agent's service on its way": {doctor.Facts{Services: []doctor.Service{{Name: "csiproxy", Installed: true,
			Status: "start-pending", Start: "automatic", Agent: true}}}, nil},
		"agent's service of another name": {doctor.Facts{Services: []doctor.Service{{Name: "csi-proxy", Installed: true,
			Status: "stopped", Start: "automatic",
			Agent: true}}}, []verdict{{doctor.Warning, "service-stopped", "sc.exe start csi-proxy"}}},
		"agent under nssm": {doctor.Facts{Services: []doctor.Service{{Name: "csi-proxy", Installed: true, Status: "running",
			Start: "automatic", Agent: true,
			Wrapper: `C:\k\nssm.exe`}}}, []verdict{{doctor.Note, "service-wrapped", "csi-proxy service install -name " +
			"csi-proxy -start"}}},
		"agent's service starts by demand": {doctor.Facts{Services: []doctor.Service{{Name: "csiproxy", Installed: true,
			Status: "running", Start: "manual",
			Agent: true}}}, []verdict{{doctor.Warning, "service-not-automatic", "sc.exe config csiproxy start= auto"}}},
	} {
		if diff := cmp.Diff(verdicts(t, test.facts), test.want, cmp.AllowUnexported(verdict{})); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestEndpoints(t *testing.T) {
	newest := map[string]string{"disk": "v1", "smb": "v1"}
	endpoint := func(group, version string, state doctor.State) doctor.Endpoint {
		return doctor.Endpoint{Group: group, Version: version, Address: `\\.\pipe\csi-proxy-` + group +
			"-" + version, State: state}
	}
	for name, test := range map[string]struct {
		endpoints []doctor.Endpoint
		want      []string
	}{
		"all answer": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Answers), endpoint("smb", "v1", doctor.Answers)},
			nil},
		"nobody there": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Absent), endpoint("smb", "v1", doctor.Absent)},
			[]string{"no-agent"}},
		"old and off": {
			[]doctor.Endpoint{endpoint("disk", "v1beta1", doctor.Answers), endpoint("disk", "v1", doctor.Absent),
				endpoint("smb", "v1", doctor.Absent)},
			[]string{"group-off", "old-version"},
		},
		"refused": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Denied), endpoint("smb", "v1", doctor.Answers)},
			[]string{"access-denied"}},
		"hangs": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Silent), endpoint("smb", "v1", doctor.Answers)},
			[]string{"silent-endpoint"}},
		"no agent's": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Broken), endpoint("smb", "v1", doctor.Answers)},
			[]string{"broken-endpoint"}},
	} {
		var got []string
		fits(t, doctor.Facts{Endpoints: test.endpoints, Newest: newest})
		for _, f := range doctor.Examine(doctor.Facts{Endpoints: test.endpoints, Newest: newest}) {
			got = append(got, f.Check)
		}
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestUnanswered(t *testing.T) {
	findings := doctor.Examine(doctor.Facts{Unanswered: []string{"services"}})
	if len(findings) != 1 || findings[0].Check != "no-answer" || !doctor.Bad(findings) {
		t.Errorf("got %+v, want one problem", findings)
	}
}

func TestBad(t *testing.T) {
	for _, test := range []struct {
		severity doctor.Severity
		want     bool
	}{{doctor.Problem, true}, {doctor.Warning, true}, {doctor.Note, false}} {
		if got := doctor.Bad([]doctor.Finding{{Severity: doctor.Note}, {Severity: test.severity}}); got != test.want {
			t.Errorf("with a %s: %v", test.severity, got)
		}
	}
}
