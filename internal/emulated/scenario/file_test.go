// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// everyKey has each key of a scenario file, with a value other than the default.
const everyKey = `
smbiosSerial: "1"
switches:
  attributesVersion: 16
  createDiskClears: true
  offlineDisksReadOnly: true
  clonesNeedWritable: false
  detachNeedsOffline: true
  zeroedDiskIsMBR: true
  msr: Delayed
  growPartitionRefreshes: true
  volumesArriveLate: true
  automountOff: true
  disksInstallLate: true
  extendOneSectorLess: true
  lacksPrivileges: SeLoadDriverPrivilege
  mountPointCallsDelete: true
  mappingsOutliveReboot: false
  emptyRootNotFound: false
  timing: windows
systemDisk:
  size: 32 GiB
  serial: s0
  identifiers: [{type: vendor, utf8: ä, association: target}]
  busType: NVMe
  model: Made for Tests
  adapter: 1
  bus: 2
  target: 3
  lun: 4
  sectorSize: 4096
disks:
  - size: 1.5GiB
    lun: 0
  - size: 67108864
    serial: s2
    identifiers:
      - {type: naa, hex: 6000C29a}
      - {type: t10, ascii: Google  disk}
    busType: sas
    adapter: 5
    bus: 6
    target: 7
    sectorSize: 512
    offline: true
    readOnly: true
    protected: true
    content: formatted
    fileSystem: exfat
  - size: 256MiB
    content: formatted
    table: mbr
    boot: true
    letter: E
adapters: [{adapter: 9, busType: sas}]
pageFiles: ['E:\pagefile.sys']
dumpFile: 'E:\dump.sys'
directories: ['C:\a\b', '\c']
services:
  - name: a
    displayName: A
    start: disabled
    dependencies: [b, +group]
    unstoppable: true
    pendingQueries: 3
    startExitCode: 1066
    startServiceExitCode: 5
  - {name: b, running: true}
smbUsers:
  - {name: u, domains: [D], password: pw}
smbServers:
  - name: fs
    shares: [{name: one, users: [U], closedRoot: true, size: 8MiB, quota: 4MiB}, {name: two}]
    encryption: false
    stopped: true
iscsiPortals:
  - address: 192.0.2.1
    port: 3261
    advertises: 10.0.0.1
    targets:
      - name: iqn.2026-01.t:1
        username: user
        secret: secret-secret
        mutualSecret: mutual-secret
        pendingQueries: 1
        luns: [{lun: 3, size: 4MiB, serial: l, identifiers: [{type: eui64, hex: "00"}]}]
  - address: 192.0.2.2
`

func TestScenarioFileSetsEveryKey(t *testing.T) {
	got, err := Parse("every.yaml", []byte(everyKey))
	if err != nil {
		t.Fatal(err)
	}
	want := Scenario{
		SystemSerial: "1",
		Switches: Switches{
			AttributesVersion: 16, CreateDiskClears: true, OfflineDisksReadOnly: true, DetachNeedsOffline: true,
			ZeroedDiskIsMBR: true, MSR: MSRDelayed, GrowPartitionRefreshes: true, ExtendOneSectorLess: true,
			VolumesArriveLate: true, AutomountOff: true, DisksInstallLate: true,
			LacksPrivileges: "SeLoadDriverPrivilege", MountPointCallsDelete: true,
			Timing: TimingWindows,
		},
		SystemDisk: bundle.Spec{
			SizeBytes: 32 << 30, SerialNumber: "s0", BusType: win32.BusTypeNvme, Model: "Made for Tests", Adapter: 1,
			Bus: 2, Target: 3, LUN: 4, SectorSize: 4096,
			Identifiers: []win32.StorageIdentifier{{
				CodeSet: win32.StorageIdCodeSetUtf8, Type: deviceside.StorageIdTypeVendorSpecific,
				Association: win32.StorageIdAssocTarget, Identifier: []byte("ä"),
			}},
		},
		Disks: []bundle.Spec{
			{SizeBytes: 3 << 29},
			{
				SizeBytes: 64 << 20, SerialNumber: "s2", BusType: win32.BusTypeSas, Adapter: 5, Bus: 6, Target: 7, LUNAuto: true,
				SectorSize: 512, Offline: true, ReadOnly: true, Protected: true, Formatted: true, FileSystem: setting.FileSystemExFAT,
				Identifiers: []win32.StorageIdentifier{
					{CodeSet: win32.StorageIdCodeSetBinary, Type: deviceside.StorageIdTypeFCPHName,
						Identifier: []byte{0x60, 0, 0xC2, 0x9A}},
					{CodeSet: win32.StorageIdCodeSetAscii, Type: deviceside.StorageIdTypeVendorId, Identifier: []byte("Google  disk")},
				},
			},
			{SizeBytes: 256 << 20, LUNAuto: true, Formatted: true, Table: setting.TableMBR, Boot: true, Letter: "E"},
		},
		Adapters:    []Adapter{{9, win32.BusTypeSas}},
		PageFiles:   []string{`E:\pagefile.sys`},
		DumpFile:    `E:\dump.sys`,
		Directories: append(Default().Directories, `C:\a\b`, `\c`),
		Services: []services.Spec{
			{
				Name: "a", DisplayName: "A", StartType: services.Disabled,
				Dependencies: []string{"b", "+group"}, Unstoppable: true,
				PendingQueries: 3, StartExitCode: 1066, StartServiceExitCode: 5,
			},
			{Name: "b", StartType: services.Automatic, Running: true},
		},
		SMBUsers: []smb.User{{Name: "u", Domains: []string{"D"}, Password: "pw"}},
		SMBServers: []smb.Server{{Name: "fs", Shares: []smb.Share{{Name: "one", Users: []string{"U"}, ClosedRoot: true,
			SizeBytes: 8 << 20, QuotaBytes: 4 << 20},
			{Name: "two"}}, NoEncryption: true, Stopped: true}},
		ISCSI: []iscsi.Portal{
			{At: iscsi.Endpoint{Address: "192.0.2.1", Port: 3261}, Advertises: "10.0.0.1", Targets: []iscsi.Target{{
				Name: "iqn.2026-01.t:1", Username: "user", Secret: "secret-secret",
				MutualSecret: "mutual-secret", PendingQueries: 1,
				LUNs: []iscsi.LUN{{
					LUN: 3, SizeBytes: 4 << 20, SerialNumber: "l",
					Identifiers: []win32.StorageIdentifier{{CodeSet: win32.StorageIdCodeSetBinary, Type: deviceside.StorageIdTypeEUI64,
						Identifier: []byte{0}}},
				}},
			}}},
			{At: iscsi.Endpoint{Address: "192.0.2.2", Port: 3260}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for mapping, keys := range fileKeys() {
		for _, key := range keys {
			if !strings.Contains(everyKey, key+":") {
				t.Errorf("this test does not set %s of %s", key, mapping)
			}
		}
	}
}

// fileKeys returns the keys of each mapping of a scenario file, by its Go type.
func fileKeys() map[string][]string {
	all := map[string][]string{}
	var collect func(t reflect.Type)
	collect = func(t reflect.Type) {
		for t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || all[t.String()] != nil || len(strictyaml.Fields(t)) == 0 {
			return
		}
		all[t.String()] = strictyaml.Fields(t)
		for f := range t.Fields() {
			collect(f.Type)
		}
	}
	collect(reflect.TypeFor[Scenario]())
	collect(reflect.TypeFor[services.Spec]())
	collect(reflect.TypeFor[setting.Identifier]())
	return all
}

func TestScenarioFileLeavesTheDefaults(t *testing.T) {
	got, err := Parse("x", []byte("smbiosSerial: other\nsystemDisk: {serial: x}\nswitches: {msr: never}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.SystemSerial, want.SystemDisk.SerialNumber, want.Switches.MSR = "other", "x", MSRNever
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = Parse("x", []byte("disks: []\niscsiPortals: []\n"))
	if err != nil || len(got.Disks) != 0 || len(got.ISCSI) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestScenarioErrorsSayTheLine(t *testing.T) {
	disk := func(keys string) string { return "disks:\n- size: 1GiB\n  " + keys }
	target := func(keys string) string {
		return "iscsiPortals:\n- address: a\n  targets:\n  - name: t\n    " + keys
	}
	tests := []struct{ name, text, want string }{
		{"unknown key", "disk: []\n", "f:1: disk: there is no such field; the fields are smbiosSerial, switches, systemDisk, disks,"},
		{"required key", "disks:\n- size: 1GiB\n- serial: x\n",
			`f:3: disks[1]: invalid disk: a size of 0 bytes is not whole sectors from 4 MiB to 16 TiB`},
		{"no size", "disks:\n- size: 1 GB\n",
			`f:2: disks[0].size: it is "1 GB"; it must be bytes, or a text such as 10GiB, at most 16TiB`},
		{"mapping for a size", "disks:\n- size: {}\n",
			"f:2: disks[0].size: it must be bytes, or a text such as 10GiB, at most 16TiB"},
		{"negative size", "disks:\n- size: -1\n",
			"f:2: disks[0].size: it must be bytes, or a text such as 10GiB, at most 16TiB"},
		{"letter twice", "disks:\n- {size: 1GiB, content: formatted, letter: D}\n" +
			"- {size: 1GiB, content: formatted, letter: D}\n",
			"f:3: disks[1].letter: another disk has the letter D"},
		{"account without a password", "smbUsers:\n- {name: a}\n",
			`f:2: smbUsers[0]: invalid file server or account: account "a" has no password`},
		{"size of a half sector", "disks:\n- size: 10000001\n",
			`f:2: disks[0]: invalid disk: a size of 10000001 bytes is not whole sectors from 4 MiB to 16 TiB`},
		{"word", disk("busType: floppy"), `f:3: disks[0].busType: it is "floppy"; it must be one of scsi, ata`},
		{"sectors", disk("sectorSize: 1024"), `f:2: disks[0]: invalid disk: sectors of 1024 bytes, not 512 or 4096`},
		{"address twice", "disks:\n- {size: 1GiB, lun: 1}\n- {size: 1GiB, lun: 1}\n",
			`f:3: disks[1]: invalid disk: adapter 0, bus 0, target 0, LUN 1 is taken`},
		{"address of the system disk", "systemDisk: {adapter: 0}\ndisks:\n- {size: 1GiB, lun: 0}\n",
			`f:3: disks[0]: invalid disk: adapter 0, bus 0, target 0, LUN 0 is taken`},
		{"too small for a volume", "disks:\n- {size: 32MiB, content: formatted}\n",
			`f:2: disks[0]: invalid disk: only a new disk of at least 64 MiB can be formatted`},
		{"system disk offline", "systemDisk: {offline: true}",
			`f:1: systemDisk: offline, readOnly, protected, content, fileSystem, boot and letter cannot be set for the system disk`},
		{"small system disk", "systemDisk: {size: 128MiB}",
			`f:1: systemDisk: invalid disk: a disk to boot from needs at least 256 MiB`},
		{"identifier without content", disk("identifiers: [{type: naa}]"),
			"f:3: disks[0].identifiers[0]: an identifier needs exactly one of ascii, utf8 and hex"},
		{"identifier with two", disk("identifiers: [{type: naa, hex: aa, ascii: a}]"),
			"f:3: disks[0].identifiers[0]: an identifier needs exactly one of ascii, utf8 and hex"},
		{"odd hexadecimal", disk("identifiers: [{type: naa, hex: abc}]"), "f:3: disks[0].identifiers[0]: hex must be pairs of hexadecimal digits"},
		{"not ASCII", disk("identifiers: [{type: t10, ascii: ä}]"), "f:3: disks[0].identifiers[0]: ascii is not ASCII; use utf8"},
		{"control character", disk(`serial: "a\u0001"`),
			`f:2: disks[0]: invalid disk: the serial number must be at most 255 printable ASCII characters`},
		{"model of a SCSI disk", disk("model: x"), "f:2: disks[0]: invalid disk: a model needs busType: nvme"},
		{"long model", disk("model: '" + strings.Repeat("x", 41) + "'\n  busType: nvme"),
			"f:2: disks[0]: invalid disk: the model must be at most 40 printable ASCII characters"},
		{"switches", "switches:\n  attributesVersion: 17\n", `f:2: switches.attributesVersion: it is "17"; it must be one of 16, 40`},
		{"word of a switch", "switches:\n  msr: later\n",
			`f:2: switches.msr: it is "later"; it must be one of immediate, delayed, late, never`},
		{"directory elsewhere", "directories:\n- 'C:\\a'\n- 'D:\\a'\n",
			`f:3: directories[1]: directory "D:\\a" is not on drive C`},
		{"directory on a share", "directories: ['\\\\fs\\share']",
			`f:1: directories[0]: path "\\fs\share": is a network path; not an absolute Windows path`},
		{"service twice", "services:\n- name: a\n- name: A\n", `f:3: services[1]: service A appears twice`},
		{"services in a circle", "services:\n- {name: a, dependencies: [b]}\n- {name: b, dependencies: [a]}\n",
			`f:2: services[0]: service a depends on itself`},
		{"directory by its short name", "directories: ['C:\\PROGRA~1']", `f:1: directories[0]: path "C:\PROGRA~1": `},
		{"directory above", "directories: ['C:\\a\\..\\b']", `f:1: directories[0]: path "C:\a\..\b": has a ".." component`},
		{"directory's stream", "directories: ['C:\\a:b']", `f:1: directories[0]: path "C:\a:b": `},
		{"share of an unknown user", "smbServers:\n- name: a\n  shares: [{name: s, users: [x]}]\n",
			`f:3: smbServers[0].shares[0]: invalid file server or account: there is no account "x"`},
		{"service without a name", "services:\n- start: manual\n", `f:2: services[0]: a service has the name ""`},
		{"server twice", "smbServers:\n- name: a\n- name: A\n", `f:3: smbServers[1]: invalid file server or account: `},
		{"share twice", "smbServers:\n- name: a\n  shares: [{name: s}, {name: S}]\n", `f:3: smbServers[0].shares[1]: invalid`},
		{"share's name", "smbServers:\n- name: a\n  shares: [{name: 'a\\..\\..\\b'}]\n", `f:3: smbServers[0].shares[0]: invalid`},
		{"account without a name", "smbUsers:\n- password: p\n", `f:2: smbUsers[0]: invalid file server or account: `},
		{"server's name", "smbServers:\n- name: a\\b\n",
			`f:2: smbServers[0]: invalid file server or account: file server "a\\b" has no valid name, or appears twice`},
		{"account twice", "smbUsers:\n- {name: a, password: p}\n- {name: A, password: p}\n",
			`f:3: smbUsers[1]: invalid file server or account: account "A" has no name, or appears twice`},
		{"portal twice", "iscsiPortals:\n- address: a\n- {address: A, port: 3260}\n",
			`f:3: iscsiPortals[1]: portal A port 3260 appears twice`},
		{"target in upper case", "iscsiPortals:\n- address: a\n  targets: [{name: T}]\n",
			`f:3: iscsiPortals[0].targets[0]: the name "T" must be in lower case and without blanks`},
		{"target twice", "iscsiPortals:\n- address: a\n  targets:\n  - name: t\n  - name: t\n",
			`f:5: iscsiPortals[0].targets[1]: target t appears twice`},
		{"secret without a user", target("secret: secret-secret"),
			`f:4: iscsiPortals[0].targets[0]: a username needs a secret, and a secret a username`},
		{"LUN twice", target("luns: [{size: 4MiB}, {size: 4MiB}]"),
			`f:5: iscsiPortals[0].targets[0].luns[1]: LUN 0 appears twice`},
		{"LUN too small", target("luns: [{size: 1MiB}]"),
			`f:5: iscsiPortals[0].targets[0].luns[0]: invalid disk: a size of 1048576 bytes is not whole sectors from 4 MiB to 16 TiB`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("f", []byte(test.text))
			var placed *strictyaml.Error
			if !errors.As(err, &placed) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

// Whatever is wrong with a secret, the error contains nothing of it.
func TestScenarioErrorsHaveNoSecrets(t *testing.T) {
	for _, secret := range []string{
		"12345678901234", "*hunter2hunter2", "&hunter2hunter2", "hunter2", "[hunter2hunter2]", "{hunter2hunter2: 1}",
		"!hunter2 x", "%hunter2hunter2", "@hunter2hunter2", "`hunter2hunter2`",
		`"hunter2\hunter2"`, `"hunter2`, "'hunter2", "hunter2: hunter2", "!!float hunter2hunter2", "!!binary hunter2",
		"\"hunter2\\u0001\"", "2026-01-02",
	} {
		for _, text := range []string{
			"smbUsers:\n- name: u\n  password: " + secret + "\n",
			"iscsiPortals:\n- address: a\n  targets:\n  - name: t\n    username: u\n    secret: " + secret + "\n",
		} {
			_, err := Parse("f", []byte(text))
			if err == nil {
				continue // it is a valid text after all
			}
			if plain := strings.Trim(secret, "*&[]{}!%@`'\": "); strings.Contains(err.Error(), plain) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

func TestLoadScenarioReadsFilesAndProfiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "azure")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("smbiosSerial: mine\n")
	if s, err := Load(file); err != nil || s.SystemSerial != "mine" {
		t.Errorf("a file called like a profile: got %q, %v", s.SystemSerial, err)
	}
	write(strings.Repeat("#", strictyaml.MaxBytes+1))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("a large file: got %v", err)
	}
	if _, err := Load(file + ".yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
	want := []string{"aws-ebs-nvme", "aws-ebs-xen", "azure", "azure-gen1", "azure-nvme", "gce-pd-nvme", "gce-pd-scsi", "vsphere"}
	if diff := cmp.Diff(want, Profiles()); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
}

// The lists of the page have the keys of the decoder, and its list of profiles is complete.
// The page of scenario files has the keys of every mapping, and the profiles.
func TestScenariosAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/scenario-files.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n### ")
	for mapping, keys := range fileKeys() {
		if !slices.ContainsFunc(sections, func(section string) bool {
			return !slices.ContainsFunc(keys, func(key string) bool { return !strings.Contains(section, "\n- `"+key+"`: ") })
		}) {
			t.Errorf("no section has the keys of %s: %q", mapping, keys)
		}
	}
	for _, name := range Profiles() {
		if !strings.Contains(sections[0], "| `"+name+"` |") {
			t.Errorf("the page does not have the profile %s", name)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(everyKey))
	for _, name := range Profiles() {
		text, err := profileFiles.ReadFile("profiles/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("disks: &a [*a]\n"))
	f.Add([]byte("disks:\n- {size: 1GiB, content: formatted}\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f", text)
		var placed *strictyaml.Error
		switch {
		case err == nil: // a node can be made of any scenario that is accepted
			if err := s.Check(); err != nil {
				t.Errorf("%q is accepted: %v", text, err)
			}
		case !errors.As(err, &placed):
			t.Errorf("%q: got a %T", text, err)
		case placed.Line < 0 || placed.Line > 1+slices.Max([]int{strings.Count(string(text), "\n"), strings.Count(string(text), "\r"), len(text)}):
			t.Errorf("%q has no line %d", text, placed.Line)
		}
	})
}
