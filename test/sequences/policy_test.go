// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// log is an audit log that calls write to at the same time.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// sampled returns every driver once, or in long runs with every disk; with -short a few drivers.
func sampled(t *testing.T) []subject {
	t.Helper()
	var some []subject
	for i, s := range slices.DeleteFunc(subjects(), func(s subject) bool { return s.kubeletMakes && !testnode.Long() }) {
		if testnode.Sampled(t, i, 0, 1) {
			some = append(some, s)
		}
	}
	return some
}

// A driver's whole life leaves an audit log; under the policy that is suggested from it, the driver lives as before.
func TestUnderTheSuggestedPolicy(t *testing.T) {
	for _, s := range sampled(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var calls log
			first := s.live(t, disturbance{audit: audit.New(&calls, klog.Background()).Record}, nil)
			caller.OK(t, first.node.Agent.Stop(t.Context())) // a line is written after the answer
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			caller.OK(t, os.WriteFile(file, calls.text.Bytes(), 0o600))
			text, err := exec.CommandContext(t.Context(), testnode.Command(t, "csi-proxyctl"), "policy", "suggest",
				file).Output()
			caller.OK(t, err)
			p, err := policy.Parse("suggested.yaml", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			s.live(t, disturbance{policy: p}, nil).whole(t)
			for _, dir := range p.Rules()[0].File.Directories {
				if !strings.HasSuffix(string(dir), `\pods`) &&
					!strings.HasSuffix(string(dir), `\plugins\kubernetes.io\csi\driver`) {
					t.Errorf("the suggestion allows %s", dir)
				}
			}
		})
	}
}

// The examples in deploy/policies allow what their drivers do.
func TestUnderTheExamples(t *testing.T) {
	for _, s := range sampled(t) {
		driver, _, _ := strings.Cut(s.name, ",")
		file := map[string]string{"EBS": "aws-ebs", "GCP": "gce-pd", "AzureDisk": "azure-disk", "vSphere": "vsphere",
			"vSphere machine": "vsphere"}[driver]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.live(t, disturbance{policy: example(t, file)}, nil).whole(t)
		})
	}
}

// The SMB and the Azure File driver live under their examples too.
func TestShareDriversUnderTheExamples(t *testing.T) {
	newShareLife(t, true, example(t, "smb"), disturbance{}).live()
	newShareLife(t, false, example(t, "azure-file"), disturbance{}).live()
}

// The example for a driver of the group nodesteps allows each of its methods, and no call of another group.
func TestStepsUnderTheExample(t *testing.T) {
	n := caller.Start(t, testnode.Options{Policy: example(t, "nodesteps")})
	_, err := n.Steps().StageDisk(t.Context(),
		&nodesteps.StageDiskRequest{TargetPath: staging, Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: 1},
			Access: []*nodesteps.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: nodesteps.AccessRights_ACCESS_RIGHTS_MODIFY}}})
	n.OK(err)
	n.OK(n.Publish(staging, publish))
	_, err = n.Steps().Expand(t.Context(), &nodesteps.ExpandRequest{TargetPath: publish})
	n.OK(err)
	n.OK(n.StageShare(caller.Share, staging+`-share`))
	_, _, err = n.GetVolume(staging + `-share`)
	n.OK(err)
	for _, path := range []string{publish, staging, staging + `-share`} {
		n.OK(n.Unstage(path))
	}
	n.Code(n.Rescan(), codes.PermissionDenied)
}

// example returns an example for every client, and for a driver that is called as these tests call theirs.
func example(t *testing.T, file string) *policy.Policy {
	t.Helper()
	text, err := os.ReadFile("../../deploy/policies/" + file + ".yaml")
	caller.OK(t, err)
	_, err = policy.Parse(file, text)
	caller.OK(t, err)
	for from, to := range map[string]string{
		`(?s)  clients:.*?  methods:`: "  clients: [{any: true}]\n  methods:",
		`(kubernetes\.io\\csi\\)\S+`:  `${1}driver`, `smbServers: \[[^]]*\]`: `smbServers: ['*.emulated']`,
	} {
		text = regexp.MustCompile(from).ReplaceAll(text, []byte(to))
	}
	p, err := policy.Parse(file, text)
	caller.OK(t, err)
	return p
}
