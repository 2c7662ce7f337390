// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// build makes the agent's binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "csi-proxy")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy").CombinedOutput()
	if err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
	}
	return binary
}

// stateDir is a directory with a path short enough for the sockets in it.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // the test's name in it would make the path too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// process is a running agent.
type process struct {
	cmd   *exec.Cmd
	log   string // the file that its standard error goes to
	lines chan string
	dir   string
}

// launch starts an agent and does not wait for it to be ready.
func launch(t *testing.T, binary, dir string) *process {
	t.Helper()
	p := &process{dir: dir, log: filepath.Join(t.TempDir(), "log"), lines: make(chan string, 1)}
	p.cmd = exec.Command(binary, "-host=emulated", "-state-dir="+dir, "-socket-dir="+filepath.Join(dir, "run"))
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9. It returns when the process is gone; what it had printed is lost.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have gone already
	for range p.lines {      // or waiting would cut off the reader
	}
	_ = p.cmd.Wait() // its error says that it was killed
}

// ready waits for the agent's line. An agent that does not come up after a kill is what these tests look for.
func (p *process) ready(t *testing.T) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line, ok := <-p.lines:
		count, isReady := strings.CutPrefix(line, "ready ")
		if n, err := strconv.Atoi(count); !ok || !isReady || err != nil || n == 0 {
			t.Fatalf("the agent says %q instead of being ready; its log:\n%s", line, p.logged())
		}
	case <-late.C:
		t.Fatalf("the agent is not ready after %v; its log:\n%s", patience, p.logged())
	}
}

func (p *process) logged() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// crashClients are connections to one run of the agent, as a driver and an administrator have them.
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
		t.Fatalf("dialling the agent: %v; its log:\n%s", err, p.logged())
	}
	t.Cleanup(func() { _ = c.admin.Close() })
	return c
}

// crashes is how many times the agent is killed.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CSI_PROXY_CRASHES")
	if text == "" {
		if testnode.Long() {
			return 200
		}
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CSI_PROXY_CRASHES is %q, not a number of kills", text)
	}
	return n
}

// chance is where the moments of death come from.
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

// upTo is a random duration.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// need fails when a tool is missing: without it the test would prove less than it says.
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
