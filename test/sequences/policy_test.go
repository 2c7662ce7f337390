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

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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

// sampled returns every driver once, or in long runs with every disk; with the race detector a few drivers.
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
			if err := first.node.Agent.Stop(t.Context()); err != nil { // a line is written after the answer
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := os.WriteFile(file, calls.text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := exec.CommandContext(t.Context(), testnode.Command(t, "csi-proxyctl"), "policy", "suggest", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			p, err := policy.Parse("suggested.yaml", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			s.live(t, disturbance{policy: p}, nil).whole(t)
			for _, dir := range p.Rules()[0].Summary().Directories {
				if !strings.HasSuffix(dir, `\pods`) && !strings.HasSuffix(dir, `\plugins\kubernetes.io\csi\driver`) {
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

// example returns an example for every client, and for a driver that is called as these tests call theirs.
func example(t *testing.T, file string) *policy.Policy {
	t.Helper()
	text, err := os.ReadFile("../../deploy/policies/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Parse(file, text); err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?s)  clients:.*?  methods:`).ReplaceAll(text,
		[]byte("  clients: [{any: true}]\n  methods:"))
	text = regexp.MustCompile(`(kubernetes\.io\\csi\\)\S+`).ReplaceAll(text, []byte(`${1}driver`))
	p, err := policy.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
