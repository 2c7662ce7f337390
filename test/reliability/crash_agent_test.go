// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// process is a running agent.
type process struct {
	*testnode.Process
	dir string
}

// begin starts an agent and does not wait for it to be ready.
func begin(t *testing.T, dir string) *process {
	t.Helper()
	return &process{testnode.BeginCommand(t, exec.Command(testnode.Command(t, "csi-proxy-emulated"),
		"-state-dir="+dir, "-socket-dir="+filepath.Join(dir, "run"))), dir}
}

// launch starts an agent and waits for it to be ready. An agent that does not come up after a kill is what these tests
// look for.
func launch(t *testing.T, dir string) *process {
	t.Helper()
	p := begin(t, dir)
	p.Ready()
	return p
}

// crashClients are the connections of a driver and an administrator to one run of the agent.
type crashClients struct {
	disk       *disk.Client
	filesystem *filesystem.Client
	volume     *volume.Client
	admin      *adminclient.Client
}

func (p *process) dial(t *testing.T) *crashClients {
	t.Helper()
	socket := func(api string) string { return filepath.Join(p.dir, "run", "csi-proxy-"+api+".sock") }
	c := &crashClients{}
	var err error
	if c.disk, err = disk.NewClientWithPipePath(socket("disk-v1")); err == nil {
		t.Cleanup(func() { _ = c.disk.Close() })
		c.filesystem, err = filesystem.NewClientWithPipePath(socket("filesystem-v2alpha1"))
	}
	if err == nil {
		t.Cleanup(func() { _ = c.filesystem.Close() })
		c.volume, err = volume.NewClientWithPipePath(socket("volume-v2alpha1"))
	}
	if err == nil {
		t.Cleanup(func() { _ = c.volume.Close() })
		c.admin, err = adminclient.Dial(context.Background(), filepath.Join(p.dir, "run"))
	}
	if err != nil {
		t.Fatalf("dialling the agent: %v", err)
	}
	t.Cleanup(func() { _ = c.admin.Close() })
	return c
}

// crashes returns how many times the agent is killed.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CSI_PROXY_CRASHES")
	if text == "" {
		if testnode.Long() {
			return 100
		}
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CSI_PROXY_CRASHES is %q, not a number of kills", text)
	}
	return n
}

// chance returns the source of the moments of death.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	const variable = "CSI_PROXY_CRASH_SEED"
	seed := rand.Uint64()
	if text := os.Getenv(variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s is %q, not a seed", variable, text)
		}
	}
	t.Logf("%s=%d", variable, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// upTo returns a random duration.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// need fails the test when a tool is missing: without it the test would prove less than it claims.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v; install it (Debian: gdisk, file)", err)
		}
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func sizeText(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
