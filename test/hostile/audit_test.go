// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/audit"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// safeBuffer is a log that calls write to while the test reads it.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Split(strings.TrimSuffix(b.text.String(), "\n"), "\n")
}

// Every call, a refused or malformed one too, has one line in the audit log, with the client and the result. A caller
// can neither forge a line nor get a password into one.
func TestAuditOfHostileCalls(t *testing.T) {
	file := &safeBuffer{}
	g := attack(t, testnode.Options{Audit: audit.New(file, klog.Background()).Record})
	begin := len(file.lines())
	calls := 0
	for _, path := range []string{`C:\Windows`, "C:\\x\"}\n{\"code\":\"OK\"}", pods + "\xff",
		strings.Repeat("x", 10000), pods} {
		for _, m := range methodsNamed(t, "PathExists") {
			_, _ = g.call(t.Context(), m, m.encode(t, values{"path": path}))
			calls++
		}
	}
	const password = "hush-hush-hush"
	_, err := g.SMB.NewSmbGlobalMapping(t.Context(), &smb.NewSmbGlobalMappingRequest{RemotePath: `\\fs.emulated\share`,
		Username: "csi", Password: password})
	wantCode(t, "a wrong password", err, codes.Unauthenticated)
	calls++
	noError(t, g.Agent.Stop(t.Context())) // a line is written after the answer

	seen := map[string]int{}
	lines := file.lines()[begin:]
	for _, text := range lines {
		var line struct {
			PID          int    `json:"pid"`
			RequestID    string `json:"request_id"`
			Method, Code string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line.RequestID == "" || line.Method == "" || line.PID != os.Getpid() {
			t.Errorf("the line lacks the caller or the call: %s", text)
		}
		seen[line.Code]++
		if strings.Contains(text, password) {
			t.Errorf("a password: %s", text)
		}
	}
	if len(lines) != calls {
		t.Errorf("%d lines for %d calls:\n%s", len(lines), calls, strings.Join(lines, "\n"))
	}
	if got, want := fmt.Sprint(seen), "map[InvalidArgument:8 OK:2 Unauthenticated:1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
