// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"os"
	"slices"
	"testing"
	"time"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	client "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// Whatever one process and all processes make the agent hold, it stays within the chart's limit, and answers. The
// attackers keep at it for two seconds each; CSI_PROXY_LONG=all makes all attacks.
// docs/security.md has the figures.
func TestMemoryOfCrowds(t *testing.T) {
	if !testnode.Long() {
		t.Skip("make test-long runs it")
	}
	for _, c := range []struct {
		name  string
		raids []string
		in    string // which runs: sample, long, all
	}{
		{"an agent at rest", nil, "all"},
		{"answers that nobody reads", []string{"unread answers"}, "long"},
		{"a socket that nobody reads", []string{"nothing is read"}, "all"},
		{"answers that nobody reads, headers of 7 KiB", []string{"unread answers, 7 KiB of headers"}, "all"},
		{"answers that nobody reads, headers of 60 KB", []string{"unread answers, 60 KB of headers"}, "all"},
		{"4352 calls of one process, headers of 7 KiB, no body", []string{"4352 calls without a body"}, "sample"},
		{"half requests", []string{"half requests of 60 KiB"}, "all"},
		{"12000 half requests for metrics", []string{"12000 half requests for metrics"}, "all"},
		{"silent connections of three processes", slices.Repeat([]string{"silent connections"}, 3), "all"},
		{"idle connections of three processes", slices.Repeat([]string{"idle connections"}, 3), "all"},
		{"everything, from four processes", slices.Repeat([]string{"everything"}, 4), "long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if all := os.Getenv("CSI_PROXY_LONG") == "all"; c.in == "all" && !all || c.in == "long" && !testnode.Long() {
				t.Skipf("require CSI_PROXY_LONG, %s", c.in)
			}
			a := startCaged(t)
			honest, err := client.NewClientWithPipePath(battlefield{sockets: a.sockets()}.socket("filesystem", "v2alpha1"))
			noError(t, err)
			defer honest.Close() //nolint:errcheck // over
			end := unleash(t, battlefield{sockets: a.sockets(), metrics: a.metrics}, strangers(t), c.raids...)
			for deadline := time.Now().Add(attackDuration); time.Now().Before(deadline); {
				a.answers(honest)
			}
			a.lives("under attack")
			end()
			a.answers(honest)
			a.lives("afterwards")
		})
	}
}

// attackDuration is how long each attack goes on.
const attackDuration = 2 * time.Second

// answers makes an honest call, of another path than the attackers: reads of one path that hang are refused.
func (a *caged) answers(honest *client.Client) {
	a.t.Helper()
	if _, err := honest.PathExists(a.t.Context(), &filesystem.PathExistsRequest{Path: kubelet + `\plugins`}); err != nil {
		a.lives("before the failure")
		a.t.Fatalf("an honest call: %v", err)
	}
}
