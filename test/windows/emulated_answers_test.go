// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// emulatedSubject returns an emulated node whose switches decide the answers.
func emulatedSubject(t *testing.T, switches scenario.Switches) Subject {
	t.Helper()
	described := scenario.Default()
	described.Switches = switches
	node, err := emulated.Open(t.TempDir(), emulated.Options{Scenario: &described})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	if err := (Subject{Kernel: node}).makeDirectory(`C:\var\lib\kubelet\plugins`, "csiproxy-questions"); err != nil {
		t.Fatal(err)
	}
	shares := []string{`\\fs.emulated\share`, `\\fs.emulated\other`}
	return guarded(Subject{
		Kernel: node, Timeout: 200 * time.Millisecond,
		Share: func(testing.TB) Share {
			next := shares[0]
			shares = append(shares[1:], next)
			return Share{Remote: next, User: "csi", Password: "csi-password"}
		},
		Stranger: func(testing.TB) Share {
			return Share{Remote: `\\fs.emulated\other`, User: `AZURE\csi`, Password: "csi-password"}
		},
		Drop: func(s Share) error { return node.DropSMBSessions(strings.Split(s.Remote, `\`)[2]) },
		Target: func(testing.TB) Target {
			return Target{"192.0.2.10", 3260, "iqn.2026-01.emulated:chap", "csi-user", "chap-secret-123"}
		},
		Attach: func(t testing.TB, bytes int64, sectorSize uint32) Disk {
			t.Helper()
			d := &emulatedDisk{node: node, spec: bundle.Spec{SizeBytes: setting.Size(bytes),
				SectorSize: sectorSize, LUNAuto: true}}
			check(t, d.Attach())
			return d
		},
	})
}

type emulatedDisk struct {
	node   *emulated.Node
	spec   bundle.Spec
	number uint32
}

func (d *emulatedDisk) Number() uint32 { return d.number }

func (d *emulatedDisk) Grow(bytes int64) (string, error) {
	return machine.GrownInPlace, d.node.GrowDisk(d.number, bytes)
}

func (d *emulatedDisk) Write(offset int64, content []byte) error {
	image, err := d.node.DiskImage(d.number)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, offset)
	return errors.Join(err, f.Close())
}

func (d *emulatedDisk) Detach() (err error) {
	d.spec.ImagePath, err = d.node.DetachDisk(d.number)
	return err
}

func (d *emulatedDisk) Attach() (err error) {
	d.number, err = d.node.AttachDisk(d.spec)
	return err
}

// The questions work: an emulated node answers each as its switches are set.
func TestEmulatedNodesAnswer(t *testing.T) {
	usual := scenario.Default().Switches
	other := usual
	other.AttributesVersion, other.CreateDiskClears, other.ZeroedDiskIsMBR = 16, true, true
	other.MSR, other.GrowPartitionRefreshes, other.ExtendOneSectorLess = scenario.MSRDelayed, true, true
	other.EmptyRootNotFound, other.MountPointCallsDelete, other.ClonesNeedWritable = false, true, false
	for name, test := range map[string]struct {
		switches scenario.Switches
		check    func(t *testing.T, answers map[int]any)
	}{
		"usual": {usual, func(t *testing.T, answers map[int]any) {
			t.Helper()
			same(t, answers[3], any([]attributesVersion{
				{Version: 16, Call: "ERROR_INVALID_PARAMETER"},
				{Version: 40, Call: "success", ShowsAtOnce: true, ShowsAfterward: true},
			}))
			same(t, answers[4].(*createDisk).Call, "ERROR_WRITE_PROTECT")
			same(t, answers[5].(map[string]any)["zeroed"], any(described{"RAW", 0, 0}))
			got := answers[6].(*reserved)
			same(t, []any{got.Comes, got.ReadsUntilThen}, []any{true, 0})
			same(t, answers[11].(map[string]freeSpace)["formatted"].Listing, "ERROR_FILE_NOT_FOUND")
			refreshed := answers[12].(*usableLength)
			same(t, []bool{refreshed.PropertiesUpdated > refreshed.Grown,
				refreshed.PartitionGrown > refreshed.PropertiesUpdated}, []bool{true, false})
			same(t, answers[25].(map[string]extend)["4096"].All, "success")
			same(t, answers[27].(map[string]string)["link, before"], "ERROR_PRIVILEGE_NOT_HELD")
			same(t, answers[27].(map[string]string)["link, through a new handle"], "success")
			same(t, answers[28].(map[string]int), map[string]int{
				"never mounted": 0, "mounted, before DeleteVolumeMountPointW": 1, "after DeleteVolumeMountPointW": 0,
				"mounted, before FSCTL_DELETE_REPARSE_POINT": 1, "after FSCTL_DELETE_REPARSE_POINT": 1,
			})
			same(t, answers[29].(map[string]held), map[string]held{
				"may delete":              {Mount: "ERROR_SHARING_VIOLATION", Unmount: "ERROR_SHARING_VIOLATION"},
				"does not share deletion": {Mount: "success", Unmount: "success"},
				"does not share deletion, and may write attributes": {Mount: "success", Unmount: "success"},
			})
			same(t, answers[31].(*grown).LengthFollows, true)
			same(t, answers[37].(map[string]string)["StorageDeviceUniqueIdProperty"], "ERROR_NOT_FOUND") // it has none
			same(t, answers[38].(map[string]any)["listed after"], any([]string{`\above\mount\`}))
			failures := answers[22].(map[string]string)
			same(t, failures["no such share"], "ERROR_BAD_NET_NAME")
			same(t, failures["wrong password"], "ERROR_INVALID_PASSWORD")
			same(t, answers[35], any(map[string]string{
				"below, mapped": "ERROR_FILE_NOT_FOUND", "below, not mapped": "ERROR_NETNAME_DELETED",
				"by path, not mapped": "ERROR_LOGON_FAILURE",
			}))
			got49 := answers[49].([]string)
			same(t, []string{got49[1], got49[2], got49[6]}, []string{"opened: OK", "session ended: disconnected",
				"1s after the open: OK"})
			same(t, answers[51].(map[string]string)["at once"], "ERROR_FILE_NOT_FOUND")
			both, refused := attributes{Offline: true, ReadOnly: true}, "ERROR_INVALID_PARAMETER"
			same(t, answers[52].(map[string]clone), map[string]clone{
				"online, then writable": {Arrived: both, Then: attributes{Offline: true}, Calls: []string{refused, "success"}},
				"writable, then online": {Arrived: both, Calls: []string{"success", "success"}, OwnIdentity: true},
				"both in one call":      {Arrived: both, Then: both, Calls: []string{refused}},
			})
			same(t, strings.HasSuffix(answers[55].(map[string]string)["FSCTL_LOCK_VOLUME"], "success"), true)
			byPartition := answers[56].(map[string]string)
			same(t, []string{byPartition[`new, \\?\GLOBALROOT\Device\Harddisk%d\Partition%d`], byPartition["disk offline"]},
				[]string{"its volume", "to open it: ERROR_FILE_NOT_FOUND"})
			same(t, strings.HasPrefix(answers[23].(map[string]string)["with the volume open"], "ISDSC_DEVICE_BUSY_ON_SESSION"),
				true)
		}},
		"other": {other, func(t *testing.T, answers map[int]any) {
			t.Helper()
			same(t, answers[3].([]attributesVersion)[0],
				attributesVersion{Version: 16, Call: "success", ShowsAtOnce: true, ShowsAfterward: true})
			same(t, answers[4].(*createDisk).Cleared, attributes{})
			for order, c := range answers[52].(map[string]clone) {
				if c.Arrived.Offline || !c.OwnIdentity {
					t.Errorf("a clone, %s: %+v", order, c)
				}
			}
			same(t, answers[5].(map[string]any)["zeroed"].(described).Style, "MBR")
			got := answers[6].(*reserved)
			same(t, []any{got.Comes, got.ReadsUntilThen > 0}, []any{true, true})
			same(t, answers[11].(map[string]freeSpace)["formatted"].Listing, "ERROR_NO_MORE_FILES")
			refreshed := answers[12].(*usableLength)
			same(t, refreshed.PartitionGrown > refreshed.PropertiesUpdated, true)
			same(t, answers[29].(map[string]held), map[string]held{
				"may delete":              {Mount: "ERROR_SHARING_VIOLATION", Unmount: "ERROR_SHARING_VIOLATION"},
				"does not share deletion": {Mount: "ERROR_SHARING_VIOLATION", Unmount: "ERROR_SHARING_VIOLATION"},
				"does not share deletion, and may write attributes": {Mount: "ERROR_SHARING_VIOLATION",
					Unmount: "ERROR_SHARING_VIOLATION"},
			})
			same(t, answers[25].(map[string]extend)["512"], extend{
				Grown: machine.GrownInPlace, All: "ERROR_INVALID_PARAMETER", OneLess: "success",
				SectorsBefore:    answers[25].(map[string]extend)["512"].SectorsBefore,
				SectorsAfter:     answers[25].(map[string]extend)["512"].SectorsAfter,
				PartitionSectors: answers[25].(map[string]extend)["512"].PartitionSectors,
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "usual" && testnode.OnWine() && !testnode.Long() {
				t.Skip("require CSI_PROXY_LONG: under Wine it takes long, and only its files are other ones there")
			}
			subject, answers := emulatedSubject(t, test.switches), map[int]any{}
			for _, q := range portableQuestions() {
				answer := q.Ask(t, subject)
				t.Logf("R%d: %v", q.Number, answer)
				if answer.Status != "answered" {
					t.Errorf("R%d is %v", q.Number, answer)
				}
				answers[q.Number] = answer.Answer
			}
			if !t.Failed() {
				test.check(t, answers)
			}
		})
	}
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// withoutVolumes is a node whose partitions get no volumes.
type withoutVolumes struct {
	kernel.Kernel
	t *testing.T
}

func (withoutVolumes) VolumeNames() ([]string, error) { return nil, nil }

func (k withoutVolumes) FormatVolume(volume, _ string) error {
	k.t.Errorf("volume %q is formatted", volume)
	return nil
}

func TestNoVolumeIsAFailure(t *testing.T) {
	s := emulatedSubject(t, scenario.Default().Switches)
	s.Kernel, s.Timeout = withoutVolumes{s.Kernel, t}, time.Millisecond
	failed := 0
	for _, q := range portableQuestions() {
		switch q.Number {
		case 7, 10, 11, 25, 28, 29, 31, 45, 47, 50, 51, 55, 56:
			failed++
			if a := q.Ask(t, s); a.Status != "failed" || !strings.Contains(a.Reason, errNoVolume.Error()) {
				t.Errorf("R%d is %s: %v %s", q.Number, a.Status, a.Answer, a.Reason)
			}
		}
	}
	if failed != 13 {
		t.Errorf("%d questions about volumes were asked", failed)
	}
}
