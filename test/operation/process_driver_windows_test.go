// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestDriversTestsOnThisMachine runs the tests of the guide's driver, unchanged, against the machine. Its disks come by
// the fakes of virtdisk.dll and of the devices that Wine lacks. A test that needs an emulated node is skipped and says
// so; Wine has no shares.
func TestDriversTestsOnThisMachine(t *testing.T) {
	inProcess := []string{
		"--- PASS: TestStage ", "--- PASS: TestLifeOfADisk ", "--- PASS: TestFormattedDisk ", "--- PASS: TestOtherDisks ",
		"--- SKIP: TestLifeOfAShare ", "Wine has no shares",
		"--- SKIP: TestStageRecovers/FormatVolume ", "Node.FailAfter needs an emulated node",
		"--- SKIP: TestFormatsOnce ", "Node.Journal needs an emulated node",
	}
	for name, run := range map[string]struct {
		node, resize string
		want         []string
	}{
		"disks grow in place":      {"windows", "attached", inProcess},
		"disks are pulled to grow": {"windows", "detached", inProcess},
		"a running agent": {"agent", "attached", []string{"--- PASS: TestFormattedDisk ", "--- SKIP: TestOtherDisks ",
			"--- SKIP: TestStage ", "which Windows chooses"}},
	} {
		t.Run(name, func(t *testing.T) {
			disks := installDisks(t)
			disks.installLinks()
			fakeWMI(t)
			t.Cleanup(override(t, "virtdisk"))
			t.Cleanup(replace(t, `C:\windows\system32\virtdisk.dll`, fakeDLL(t, "fake-virtdisk.dll")))
			disks.world("disk 0 64G system", "disk 1 10G", "raw unrecognized", "resize "+run.resize)
			program := filepath.Join(t.TempDir(), "csi-proxy.exe") // the name for which the fakes are installed
			err := os.WriteFile(program, fakeDLL(t, "driver.test.exe"), 0o600)
			if err == nil {
				err = os.Mkdir(filepath.Join(disksFolder, "formatted"), 0o700) // the fakes know each other's volumes
			}
			caller.OK(t, err)
			if run.node == "agent" {
				testnode.Launch(t)
			}
			c := exec.CommandContext(t.Context(), program, "-test.v",
				"-test.run=^Test(Stage|LifeOf|FormattedDisk|OtherDisks|FormatsOnce)")
			c.Env, c.Dir = append(os.Environ(), machine.NodeVariable+"="+run.node), t.TempDir()
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
			for _, want := range run.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("the driver's tests do not print %q", want)
				}
			}
		})
	}
}
