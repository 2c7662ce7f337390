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
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

const (
	gib     = 1 << 30
	kubelet = `C:\var\lib\kubelet`
	other   = `\\?\Volume{00000000-5d2f-4f43-9a5e-7a8d5f2b6c11}\`
	id      = `\\?\Volume{6e0b9e60-5d2f-4f43-9a5e-7a8d5f2b6c11}\`
)

// verdicts returns the severity, the check and the first step of each finding: "problem no-agent: sc.exe query".
func verdicts(t *testing.T, f doctor.Facts) (all []string) {
	t.Helper()
	fits(t, f)
	for _, finding := range doctor.Examine(f) {
		all = append(all, fmt.Sprintf("%s %s: %s", finding.Severity, finding.Check, append(finding.Do, "")[0]))
	}
	return all
}

// evidence returns the lines of a finding's evidence.
func evidence(f doctor.Finding) (lines []string) {
	for _, e := range f.Evidence {
		lines = append(lines, e.Line)
	}
	return lines
}

// wantVerdicts checks the verdicts on facts.
func wantVerdicts(t *testing.T, name string, f doctor.Facts, want ...string) {
	t.Helper()
	if diff := cmp.Diff(verdicts(t, f), want); diff != "" {
		t.Errorf("%s (-got +want):\n%s", name, diff)
	}
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

// with returns facts about disks.
func with(disks ...treeview.Disk) doctor.Facts {
	return doctor.Facts{Tree: &treeview.Tree{Disks: disks}}
}

// at mounts the volume of a disk at these paths alone.
func at(paths ...string) func(*treeview.Disk) {
	return func(d *treeview.Disk) { d.Partitions[1].Volume.MountPoints = paths }
}

func TestDisksAndVolumes(t *testing.T) {
	yes, no := true, false
	const (
		systemLog = "errors of devices: Get-WinEvent System -MaxEvents 500 | ? ProviderName -Match 'disk|stor|ntfs|iscsi'"
		offline   = "warning disk-offline: csi-proxyctl disk online 3"
		attached  = "kubectl get volumeattachment: which volumes Kubernetes has attached to this node"
		files     = "have files removed, or its PersistentVolumeClaim grown"
		resize    = "csi-proxyctl volume resize '" + id + "'"
	)
	for name, test := range map[string]struct {
		change func(*treeview.Disk)
		want   []string
	}{
		"as it should be":    {func(*treeview.Disk) {}, nil},
		"offline":            {func(d *treeview.Disk) { d.Online = &no }, []string{offline}},
		"offline and raw":    {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3, Style: "RAW", Online: &no} }, nil},
		"offline, API alone": {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3, Online: &no} }, []string{offline}},
		"state not known":    {func(d *treeview.Disk) { *d = treeview.Disk{Number: 3} }, nil},
		"read-only": {func(d *treeview.Disk) { d.ReadOnly = &yes },
			[]string{"warning disk-read-only: csi-proxyctl disk online 3: clears the attribute that Windows keeps"}},
		"not mounted": {at([]string{}...), nil},
		"94 % full":   {func(d *treeview.Disk) { used(d, 94) }, nil},
		"95 % full":   {func(d *treeview.Disk) { used(d, 95) }, []string{"warning volume-full: " + files}},
		"full":        {func(d *treeview.Disk) { used(d, 100) }, []string{"problem volume-full: " + files}},
		"the node's own, full": {func(d *treeview.Disk) { used(d, 96); d.System = &yes },
			[]string{"warning volume-full: see what fills it: images, logs, or what pods wrote to their own layer"}},
		"mount points not known": {at(), nil},
		"hidden": {func(d *treeview.Disk) { d.Partitions[1].Attributes = []string{"hidden", "no drive letter"} },
			[]string{"warning partition-attribute: if pods are to write to it, in diskpart: select disk 3, " +
				"select partition 2, gpt attributes=0x8000000000000000"}},
		"partitions of Linux": {func(d *treeview.Disk) {
			d.Partitions = []treeview.Partition{{Number: 1, Kind: "Linux filesystem"}}
		}, []string{"warning disk-not-blank: " + attached}},
		"partitions of Linux, and one that gets a volume": {func(d *treeview.Disk) {
			d.Partitions = []treeview.Partition{{Number: 1, Kind: "Linux filesystem"},
				{Number: 2, Kind: "basic data", GetsVolume: true}}
		}, nil},
		"a partition that Windows may use elsewhere": {func(d *treeview.Disk) {
			d.Partitions = []treeview.Partition{{Number: 1, Kind: "hidden, MBR type 0x17"}}
		}, nil},
		"reserved partition alone": {func(d *treeview.Disk) { d.Partitions = d.Partitions[:1] }, nil},
		"grown disk":               {func(d *treeview.Disk) { d.SizeBytes = 20 * gib }, []string{"warning partition-smaller: " + resize}},
		"grown system disk":        {func(d *treeview.Disk) { d.SizeBytes, d.System = 20*gib, &yes }, nil},
		"grown disk with two volumes": {func(d *treeview.Disk) {
			d.SizeBytes = 30 * gib
			second := d.Partitions[1]
			second.Number, second.OffsetBytes = 3, 10*gib
			d.Partitions = append(d.Partitions, second)
		}, nil},
		"small file system": {func(d *treeview.Disk) { d.Partitions[1].Volume.TotalBytes = 5 * gib },
			[]string{"warning file-system-smaller: " + resize}},
		"no file system": {func(d *treeview.Disk) {
			*d.Partitions[1].Volume = treeview.Volume{ID: id, MountPoints: []string{}}
		}, nil},
		"no file system, and mounted": {func(d *treeview.Disk) {
			*d.Partitions[1].Volume = treeview.Volume{MountPoints: []string{`D:\`}}
		}, []string{"problem volume-unreadable: do not format it: the data may still be whole",
			"note disk-not-of-kubernetes: "}},
		"no answer": {func(d *treeview.Disk) { *d.Partitions[1].Volume = treeview.Volume{Unknown: "e", Unanswered: true} },
			[]string{"problem volume-not-answering: look at its disk"}},
		"no answer, and mounted": {func(d *treeview.Disk) {
			d.Partitions[1].Volume.Unknown, d.Partitions[1].Volume.Unanswered = "e", true
		}, []string{"problem volume-not-answering: look at its disk"}},
		"failed at once, and mounted": {func(d *treeview.Disk) { d.Partitions[1].Volume.Unknown = "e" },
			[]string{"problem volume-unreadable: " + systemLog}},
		"no answer of Windows' own": {func(d *treeview.Disk) {
			d.Partitions[1].Kind, d.Partitions[1].Volume.Unknown = "EFI system", "e"
		}, nil},
		"of two drivers": {at(staged("ebs.csi.aws.com"), staged("disk.csi.azure.com")),
			[]string{"warning disk-of-two-drivers: kubectl get volumeattachment: which volumes Kubernetes has attached " +
				"to this node"}},
		"of no driver":              {at(`D:\`), []string{"note disk-not-of-kubernetes: "}},
		"of no driver, but a pod's": {at(`C:\var\lib\kubelet\pods\u\mount\`), nil},
		"of no driver, and Windows'": {func(d *treeview.Disk) {
			d.System, d.Partitions[1].Volume.MountPoints = &yes, []string{`C:\`}
		}, nil},
		"partition size not known": {func(d *treeview.Disk) {
			d.Partitions = d.Partitions[1:]
			d.Partitions[0].SizeBytes, d.Partitions[0].OffsetBytes = 0, 0
		}, nil},
	} {
		d := mounted()
		test.change(&d)
		wantVerdicts(t, name, with(d), test.want...)
	}
	unstaged := mounted()
	unstaged.Online = &no
	facts := with(unstaged)
	facts.Seen = &admin.GetFactsResponse{}
	wantVerdicts(t, "offline, and no mount point misses it, as after an unstage", facts)
}

// TestDriversOfGlobalmounts: kubelet's file has a driver's name, which the older form of the path lacks.
func TestDriversOfGlobalmounts(t *testing.T) {
	const old = `D:\k\plugins\kubernetes.io\csi\pv\pvc-1\globalmount\`
	d := mounted()
	at(old, `D:\k\plugins\kubernetes.io\csi\a.example\5f1c\globalmount\`)(&d)
	facts := with(d)
	facts.Seen = &admin.GetFactsResponse{WorkingDirectories: []string{`D:\k`}}
	for driver, want := range map[string]int{"": 0, "a.example": 0, "b.example": 1} {
		facts.Staged = map[string]doctor.Staged{doctor.GlobalmountKey(old): {Driver: driver}}
		if got := doctor.Examine(facts); len(got) != want || want > 0 && got[0].Check != "disk-of-two-drivers" {
			t.Errorf("the driver %q: got %+v, want %d findings", driver, got, want)
		}
	}
	facts.Seen.WorkingDirectories = []string{`C:\var\lib\kubelet`}
	facts.Staged = nil
	d.Partitions[1].Volume.MountPoints[1] = `D:\data\`
	wantVerdicts(t, "outside the working directories", facts, "note disk-not-of-kubernetes: ")
}

// TestYoungStages: between stage and publish a volume is as it should be.
func TestYoungStages(t *testing.T) {
	at := strings.TrimSuffix(staged("a"), `\`)
	facts := doctor.Facts{Seen: &admin.GetFactsResponse{AllLinks: true, WorkingDirectories: []string{kubelet},
		Links: []*admin.Link{{Path: at, Target: id, Kind: admin.Target_TARGET_VOLUME}}}}
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
	missing := &admin.Link{Path: `C:\m`, Target: id, Kind: admin.Target_TARGET_VOLUME, Missing: true}
	d, hidden, no := mounted(), mounted(), false
	d.Online = &no
	hidden.Partitions[1].Volume, hidden.Partitions[1].Attributes = nil, []string{"hidden"}
	for check, facts := range map[string]doctor.Facts{
		"dangling-mount-point": {Seen: &admin.GetFactsResponse{}, Tree: &treeview.Tree{}},
		"disk-offline":         {Seen: &admin.GetFactsResponse{}, Tree: with(d).Tree},
		"partition-attribute":  {Seen: &admin.GetFactsResponse{}, Tree: with(hidden).Tree},
		"iscsi-disconnected":   {Seen: &admin.GetFactsResponse{Sessions: []*admin.ISCSISession{{Target: "iqn"}}}},
		"disk-not-answering": {Seen: &admin.GetFactsResponse{},
			Tree: &treeview.Tree{Unnumbered: []treeview.Disk{{Unknown: "e", Unanswered: true}}}},
		"disk-unreadable": {Seen: &admin.GetFactsResponse{},
			Tree: with(treeview.Disk{Content: "data of an unknown kind"}).Tree},
	} {
		facts.Seen.Links = []*admin.Link{missing}
		got := doctor.Examine(facts)
		if len(got) != 1 || got[0].Check != check || got[0].Severity != doctor.Problem ||
			!strings.Contains(strings.Join(evidence(got[0]), "\n"), `C:\m`) {
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
		"works":           {&admin.SMBMapping{Status: "OK"}, ""},
		"idle":            {&admin.SMBMapping{Status: "disconnected"}, ""},
		"not entered":     {&admin.SMBMapping{Status: "unavailable"}, "a file server does not answer for a mapped share"},
		"no such share":   {&admin.SMBMapping{Status: "OK", Error: "e", Win32Code: 67}, "a file server has no such share any more"},
		"denied":          {&admin.SMBMapping{Status: "OK", Error: "e", Win32Code: 5}, "a file server denies access to a mapped share"},
		"password":        {&admin.SMBMapping{Status: "OK", Error: "e", Win32Code: 1326}, "a file server refuses the credentials of a mapped share"},
		"does not answer": {&admin.SMBMapping{Status: "OK", Error: "e"}, "a file server does not answer for a mapped share"},
	} {
		test.mapping.RemotePath = `\\fs\s`
		facts := doctor.Facts{Seen: &admin.GetFactsResponse{Mappings: []*admin.SMBMapping{test.mapping}, AllLinks: true,
			Links: []*admin.Link{{Path: link, Target: `\\fs\s`, Kind: admin.Target_TARGET_SHARE}}}}
		fits(t, facts)
		got := doctor.Examine(facts)
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0].What != test.want+`: \\fs\s`) {
			t.Errorf("%s: got %+v, want %q", name, got, test.want)
		}
	}
	unused := []*admin.SMBMapping{{RemotePath: `\\a\1`, Status: "OK"}, {RemotePath: `\\b\1`, Status: "OK"}}
	facts := doctor.Facts{Seen: &admin.GetFactsResponse{Mappings: unused, AllLinks: true}}
	if got := doctor.Examine(facts); len(got) != 1 || got[0].Check != "unused-smb-mappings" || doctor.Bad(got) {
		t.Errorf("one unused mapping for each server: got %+v, want a note", got)
	}
	unused[1].RemotePath = `\\a\2`
	if got := doctor.Examine(facts); len(got) != 1 || !doctor.Bad(got) {
		t.Errorf("two unused mappings of a server: got %+v, want a warning", got)
	}
	facts.Seen.AllLinks = false
	if got := doctor.Examine(facts); len(got) != 0 {
		t.Errorf("links not seen: got %+v, want nothing", got)
	}
}

func TestManyMappings(t *testing.T) {
	for count, want := range map[int]doctor.Severity{499: "", 500: doctor.Warning,
		699: doctor.Warning, 700: doctor.Problem} {
		r := &admin.GetFactsResponse{}
		for i := range count {
			r.Mappings = append(r.Mappings, &admin.SMBMapping{RemotePath: fmt.Sprintf(`\\FS%d\s%d`, i%2, i), Status: "OK"})
		}
		var got doctor.Severity
		for _, f := range doctor.Examine(doctor.Facts{Seen: r}) {
			if got = f.Severity; f.Check != "many-smb-mappings" || len(f.Evidence) != 3 ||
				!strings.HasPrefix(f.Evidence[1].Line, "fs0: ") {
				t.Errorf("%d mappings: got %+v", count, f)
			}
		}
		if got != want {
			t.Errorf("%d mappings: got %q, want %q", count, got, want)
		}
	}
}

func TestConnectionsAndLinks(t *testing.T) {
	wantVerdicts(t, "all at once", doctor.Facts{Seen: &admin.GetFactsResponse{
		Links: []*admin.Link{
			{Path: `C:\a`, Target: `C:\b`, Kind: admin.Target_TARGET_PATH, Missing: true},
			{Path: `C:\m`, Target: id, Kind: admin.Target_TARGET_VOLUME, Missing: true},
			{Path: `C:\s`, Target: `\\fs\share`, Kind: admin.Target_TARGET_SHARE, Missing: true},
			{Path: strings.TrimSuffix(staged("ebs.csi.aws.com"), `\`), Target: id,
				Kind: admin.Target_TARGET_VOLUME, Missing: true},
			{Path: strings.TrimSuffix(staged("a"), `\`), Target: other, Kind: admin.Target_TARGET_VOLUME},
			{Path: strings.TrimSuffix(staged("smb.csi.k8s.io"), `\`), Target: `\\fs\good`, Kind: admin.Target_TARGET_SHARE},
		},
		AllLinks: true, WorkingDirectories: []string{kubelet},
		Mappings: []*admin.SMBMapping{{RemotePath: `\\fs\good`, Status: "OK"},
			{RemotePath: `\\fs\bad`, Status: "unavailable"}},
		Sessions: []*admin.ISCSISession{{Target: "iqn.2026-01.example:good", Connected: true}},
	}},
		"problem dangling-mount-point: if pods still use the volume: attach the disk again",
		"problem left-over-globalmount: if pods still use the volume: attach the disk again",
		"problem stale-smb-mapping: check that the file server answers from this node: Test-NetConnection fs -Port 445",
		`warning dangling-link: csi-proxyctl fs rmdir 'C:\a'`,
		"warning dangling-share-link: if pods use it: restart them, so that kubelet has the driver map it again",
		"note staged-not-published: look for pods of this node that have the volume: kubectl get pods -A --field-selector "+
			"spec.nodeName=NODE -o custom-columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,"+
			"CLAIM:.spec.volumes[*].persistentVolumeClaim.claimName",
		"note unused-smb-mappings: csi-proxyctl smb list -o wide, and for each share that no program uses: csi-proxyctl "+
			"smb unmap SHARE")
}

// TestPodsOfADisk: what a pod uses is a problem, and the pod is named, also where Windows does not say which disk it is.
func TestPodsOfADisk(t *testing.T) {
	readOnly := mounted()
	readOnly.Partitions[1].Attributes = []string{"read-only"}
	path := kubelet + `\pods\uid\volumes\kubernetes.io~csi\pv\mount`
	seen := &admin.GetFactsResponse{Links: []*admin.Link{{Path: path, Target: id, Kind: admin.Target_TARGET_VOLUME}}}
	hangs := treeview.Disk{Unknown: "e", Unanswered: true}
	for check, facts := range map[string]doctor.Facts{
		"partition-attribute": {Seen: seen, Tree: with(readOnly).Tree},
		"disk-not-answering":  {Seen: seen, Tree: &treeview.Tree{Unnumbered: []treeview.Disk{hangs}}},
	} {
		got := doctor.Examine(facts)
		if len(got) != 1 || got[0].Check != check || got[0].Severity != doctor.Problem ||
			!slices.Contains(evidence(got[0]), "used by pod uid, volume pv") {
			t.Errorf("got %+v, want the problem %s alone, with the pod", got, check)
		}
		fits(t, facts)
	}
	other := &treeview.Tree{Disks: []treeview.Disk{mounted()}, Unnumbered: []treeview.Disk{hangs}}
	wantVerdicts(t, "the pod's disk is another one", doctor.Facts{Seen: seen, Tree: other},
		"warning disk-not-answering: look at the storage system and the path to it")
	empty := &treeview.Tree{Unnumbered: []treeview.Disk{{Unknown: "the device is not ready"}}} // a reader of cards
	wantVerdicts(t, "a device that answers", doctor.Facts{Seen: seen, Tree: empty},
		"note disk-not-answering: a reader of cards without a card is in order; if a driver uses the disk, look at its "+
			"storage system")
}

func TestManyBlankDisksAreOneLine(t *testing.T) {
	facts := with(treeview.Disk{Style: "RAW"}, treeview.Disk{Style: "RAW"}, treeview.Disk{Style: "RAW"},
		treeview.Disk{Style: "RAW"})
	facts.Seen = &admin.GetFactsResponse{Links: []*admin.Link{{Path: kubelet + `\pods\uid\volumes\kubernetes.io~csi\pv\mount`,
		Target: id, Kind: admin.Target_TARGET_VOLUME, Missing: true}}}
	if got := doctor.Examine(facts); len(got) != 1 || len(got[0].Evidence) != 3 ||
		!slices.Contains(evidence(got[0]), "others are blank, do not format them: 4 disks") {
		t.Errorf("got %+v, want one finding with one line about the blank disks", got)
	}
}

func TestDisksOfOneIdentity(t *testing.T) {
	a, b, c := mounted(), mounted(), mounted()
	a.SerialNumber, b.SerialNumber, c.SerialNumber, c.Page83 = "1", "1", "2", "naa"
	a.Page83, b.Page83 = "clone", "clone"
	b.Number, c.Number = 4, 5
	findings := doctor.Examine(with(a, b, c))
	if len(findings) != 1 || findings[0].Check != "same-identity" || findings[0].Count != 1 ||
		len(findings[0].Evidence) != 4 {
		t.Errorf("got %+v, want one finding about disks 3 and 4", findings)
	}
}

func TestHungOperationsNameThoseThatWait(t *testing.T) {
	facts := doctor.Facts{Seen: &admin.GetFactsResponse{Operations: []*admin.Operation{
		{Name: "Rmdir(x)", Call: true, Age: durationpb.New(time.Hour), Waiting: true},
		{Name: "MountVolume(x)", Object: "x", Call: true, Age: durationpb.New(61 * time.Minute)},
		{Name: "Rescan", Call: true, Age: durationpb.New(100 * time.Second)},
		{Name: "Mkdir(x)", Call: true, Age: durationpb.New(5 * time.Second)},
		{Name: "WriteVolumeCache(x)", Call: true, Age: durationpb.New(4 * time.Second)},
		{Name: `NewSmbGlobalMapping(\\fs\s)`, Call: true, Server: "fs", Age: durationpb.New(time.Hour)},
		{Name: "LookAtDisks(x) at y", Object: "y", Age: durationpb.New(time.Hour)}, // an earlier look of this report
	}}}
	wantVerdicts(t, "all at once", facts, "problem hung-operation: errors of devices: Get-WinEvent System -MaxEvents 500 | ? "+
		"ProviderName -Match 'disk|stor|ntfs|iscsi'",
		"problem hung-operation: check that the file server answers from this node: Test-NetConnection fs -Port 445",
		"note slow-operation: csi-proxyctl doctor, in half a minute: what has not ended by then hangs")
	findings := doctor.Examine(facts)
	hung := []string{"MountVolume(x), for 1h1m0s", "Rescan, for 1m40s", "Rmdir(x), for 1h0m0s, waiting for others",
		"a pod whose volume this is waits, as in ContainerCreating or Terminating"}
	slow := []string{"Mkdir(x), for 5s"}
	if len(findings) != 3 || !slices.Equal(evidence(findings[0]), hung) ||
		!slices.Equal(evidence(findings[2]), slow) {
		t.Errorf("got %+v, want one finding with %q and one with %q", findings, hung, slow)
	}
	facts.Seen.Operations = []*admin.Operation{{Object: `\\?\Volume{0}\`, Age: durationpb.New(time.Minute)}}
	wantVerdicts(t, "a look alone", facts, "warning hung-operation: errors of devices: Get-WinEvent System -MaxEvents 500 | ? "+
		"ProviderName -Match 'disk|stor|ntfs|iscsi'")
}

// TestMachines: settings of Windows, and what looks like trouble of an emulated one.
func TestMachines(t *testing.T) {
	full := "problem host-disk-full: make room there, or start the node with another -state-dir"
	for name, test := range map[string]struct {
		facts doctor.Facts
		want  []string
	}{
		"automount off": {doctor.Facts{AutomountOff: true}, []string{"warning automount-off: mountvol /E"}},
		"BitLocker required": {doctor.Facts{BitLockerRequired: true}, []string{"problem bitlocker-required: disable the " +
			`policy "Deny write access to fixed drives not protected by BitLocker" for this node`}},
		"no answer": {doctor.Facts{Unanswered: []string{"services"}},
			[]string{"problem no-answer: errors of devices: Get-WinEvent System -MaxEvents 500 | ? " +
				"ProviderName -Match 'disk|stor|ntfs|iscsi'"}},
		"faults": {doctor.Facts{Emulated: doctor.EmulatedNode{Faults: []string{"fault 1: Flush hang"}}},
			[]string{"note active-fault: csi-proxyctl node fault remove --all"}},
		"full host":      {hostDisk(1<<20, 24<<20), []string{full}},
		"small host":     {hostDisk(23<<20, 24<<20), nil},
		"large host":     {hostDisk(10*gib, 1000*gib), nil},
		"unknown host":   {hostDisk(-1, 0), nil},
		"a node of iron": {doctor.Facts{}, nil},
	} {
		wantVerdicts(t, name, test.facts, test.want...)
	}
}

func hostDisk(free, size int64) doctor.Facts {
	return doctor.Facts{Emulated: doctor.EmulatedNode{Path: "/state", FreeBytes: free, SizeBytes: size}}
}

func TestServices(t *testing.T) {
	service := func(name, status, start string) doctor.Service {
		return doctor.Service{Name: name, Installed: true, Status: status, Start: start,
			Agent: strings.HasPrefix(name, "csi")}
	}
	wrapped := service("csi-proxy", "running", "automatic")
	wrapped.Wrapper = `C:\k\nssm.exe`
	for name, test := range map[string]struct {
		service doctor.Service
		want    []string
	}{
		"SMB client":   {service("LanmanWorkstation", "running", "automatic"), nil},
		"initiator":    {service("MSiSCSI", "running", "automatic"), nil},
		"agent":        {service("csiproxy", "running", "automatic"), nil},
		"in container": {doctor.Service{Name: "csiproxy", Agent: true}, nil},
		"no SMB client": {service("LanmanWorkstation", "stopped", "automatic"),
			[]string{"problem service-stopped: csi-proxyctl system service start LanmanWorkstation"}},
		"not installed": {doctor.Service{Name: "LanmanWorkstation"},
			[]string{"problem service-stopped: install the Windows feature that has the service LanmanWorkstation"}},
		"disabled": {service("LanmanWorkstation", "stopped", "disabled"),
			[]string{"problem service-stopped: sc.exe config LanmanWorkstation start= auto"}},
		"paused": {service("LanmanWorkstation", "paused", "automatic"),
			[]string{"problem service-stopped: sc.exe continue LanmanWorkstation"}},
		"on its way": {service("LanmanWorkstation", "stop-pending", "automatic"), []string{"problem service-stopped: " +
			"csi-proxyctl system service get LanmanWorkstation: what it is by now"}},
		"no initiator, as by default": {service("MSiSCSI", "stopped", "manual"), nil},
		"no initiator, though it should run": {service("MSiSCSI", "stopped", "automatic"),
			[]string{"warning service-stopped: csi-proxyctl system service start MSiSCSI"}},
		"agent stopped": {service("csiproxy", "stopped", "automatic"),
			[]string{"warning service-stopped: sc.exe start csiproxy"}},
		"agent starting": {service("csiproxy", "start-pending", "automatic"), nil},
		"agent of another name": {service("csi-proxy", "stopped", "automatic"),
			[]string{"warning service-stopped: sc.exe start csi-proxy"}},
		"agent under nssm": {wrapped, []string{"note service-wrapped: csi-proxy service install -name csi-proxy -start"}},
		"agent by demand": {service("csiproxy", "running", "manual"),
			[]string{"warning service-not-automatic: sc.exe config csiproxy start= auto"}},
	} {
		wantVerdicts(t, name, doctor.Facts{Services: []doctor.Service{test.service}}, test.want...)
	}
	d := mounted()
	d.BusType = "iSCSI"
	facts := with(d)
	facts.Services = []doctor.Service{service("MSiSCSI", "stopped", "manual")}
	wantVerdicts(t, "no initiator, and iSCSI disks", facts,
		"problem service-stopped: csi-proxyctl system service start MSiSCSI")
}

func TestEndpoints(t *testing.T) {
	endpoint := func(group, version string, state doctor.State) doctor.Endpoint {
		return doctor.Endpoint{Group: group, Version: version, Address: `\\.\pipe\csi-proxy-` + group + "-" + version,
			State: state}
	}
	disk, smb := endpoint("disk", "v1", doctor.Answers), endpoint("smb", "v1", doctor.Answers)
	for name, test := range map[string]struct {
		endpoints []doctor.Endpoint
		want      []string
	}{
		"all answer": {[]doctor.Endpoint{disk, smb}, nil},
		"nobody there": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Absent), endpoint("smb", "v1", doctor.Absent)},
			[]string{"no-agent"}},
		"old and off": {[]doctor.Endpoint{endpoint("disk", "v1beta1", doctor.Answers),
			endpoint("disk", "v1", doctor.Absent), endpoint("smb", "v1", doctor.Absent)},
			[]string{"group-off", "old-version"}},
		"refused":    {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Denied), smb}, []string{"access-denied"}},
		"hangs":      {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Silent), smb}, []string{"silent-endpoint"}},
		"no agent's": {[]doctor.Endpoint{endpoint("disk", "v1", doctor.Broken), smb}, []string{"broken-endpoint"}},
	} {
		var got []string
		facts := doctor.Facts{Endpoints: test.endpoints, Newest: map[string]string{"disk": "v1", "smb": "v1"}}
		fits(t, facts)
		for _, f := range doctor.Examine(facts) {
			got = append(got, f.Check)
		}
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

// TestLimits: a process that has used up its places is named, and so is one that had calls refused lately.
func TestLimits(t *testing.T) {
	limit := func(process, what string, used int64) *admin.Limit {
		return &admin.Limit{Process: process, What: what, Used: used, Most: 4}
	}
	refused := func(age time.Duration) *admin.Limit {
		return &admin.Limit{Process: "a", What: "calls", Most: 4, RefusedAge: durationpb.New(age)}
	}
	look := "if calls hang, another finding says so: their places are free when they end"
	for name, test := range map[string]struct {
		limits []*admin.Limit
		want   []string
	}{
		"below": {[]*admin.Limit{limit("", "calls", 3), limit("a", "calls", 3), limit("a", "operations", 3),
			limit("a", "connections", 3), limit("a", "waits", 3)}, nil},
		"calls":      {[]*admin.Limit{limit("a", "calls", 4)}, []string{"problem too-many-calls: " + look}},
		"operations": {[]*admin.Limit{limit("a", "operations", 5)}, []string{"problem too-many-calls: " + look}},
		"waits": {[]*admin.Limit{limit("a", "waits", 4)},
			[]string{"problem too-many-calls: kubectl get volumeattachment: which volumes Kubernetes has attached to this " +
				"node"}},
		"connections": {[]*admin.Limit{limit("a", "connections", 4)},
			[]string{"warning too-many-connections: let the driver close what it opens; until then, restart its pod"}},
		"refused lately": {[]*admin.Limit{refused(time.Minute)}, []string{"warning too-many-calls: " + look}},
		"refused once":   {[]*admin.Limit{refused(time.Hour)}, nil},
		"of all": {[]*admin.Limit{limit("", "calls", 4), limit("", "connections", 4), limit("a", "calls", 3)},
			[]string{"problem too-many-calls: " + look,
				"warning too-many-connections: let the first of these close what it opens; until then, restart its pod"}},
	} {
		wantVerdicts(t, name, doctor.Facts{Seen: &admin.GetFactsResponse{Limits: test.limits}}, test.want...)
	}
	const process = "pid 7 a.exe"
	calls := limit(process, "calls", 4)
	calls.RefusedAge = durationpb.New(time.Second)
	findings := doctor.Examine(doctor.Facts{Seen: &admin.GetFactsResponse{Limits: []*admin.Limit{calls,
		limit(process, "operations", 2), limit(process, "connections", 1)}}})
	want := []string{"pid 7 a.exe: 4 of 4 calls open, 2 of 4 operations running, 1 of 4 connections",
		"a call was refused with TOO_MANY_CALLS 1s ago"}
	if len(findings) != 1 || !slices.Equal(evidence(findings[0]), want) ||
		!strings.HasSuffix(findings[0].What, ": pid 7 a.exe") {
		t.Errorf("got %+v, want one finding of pid 7 with %q", findings, want)
	}
}
