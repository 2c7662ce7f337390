// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

const guide = "../docs/emulated-node.md"

// guideHome is the guide's working directory; the session really runs in a temporary one.
const guideHome = "/home/me"

// TestGuide runs the commands of the guide for driver authors: all blocks marked console are one session. The text after
// a line "$ command" must be the command's output, but for times, ids and the like. With UPDATE_SCRIPTS=1 in the
// environment, outputs that differ are replaced by the commands' real ones.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	updated := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		return "```console\n" + s.play(strings.Split(strings.TrimSuffix(strings.TrimPrefix(block, "```console\n"), "\n```"), "\n")) + "```"
	})
	if s.commands < 10 {
		t.Errorf("the guide has only %d commands", s.commands)
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(guide, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n.*?\n```")

// TestGuideQuotes checks that Go code in the guide is compiled code: lines of the examples of package csiproxytest.
func TestGuideQuotes(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../csiproxytest/guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Error("the guide has no Go code")
	}
	for _, block := range blocks {
		if !strings.Contains(string(example), string(block[1])) {
			t.Errorf("this is not in the example:\n%s", block[1])
		}
	}
}

// session is a shell that remembers its environment.
type session struct {
	t        *testing.T
	dir      string
	env      []string
	commands int
	job      *exec.Cmd // in the background
}

func newSession(t *testing.T) *session {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin")+"/", "../examples/volume-lifecycle")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := strings.Join([]string{filepath.Join(dir, "bin"), filepath.Dir(testnode.Command(t, "csi-proxy")), os.Getenv("PATH")}, ":")
	s := &session{t: t, dir: dir, env: append(os.Environ(), "PATH="+path)}
	t.Cleanup(func() {
		if s.job != nil {
			_ = s.job.Process.Kill()
			_ = s.job.Wait()
		}
	})
	return s
}

// play runs the commands of one block, compares their outputs and returns the corrected block.
func (s *session) play(lines []string) string {
	s.t.Helper()
	var block strings.Builder
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			s.t.Fatalf("the guide has output without a command: %s", lines[i])
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		want := strings.Join(lines[i+1:end], "\n")
		got := strings.TrimSuffix(s.run(command), "\n")
		if diff := cmp.Diff(steady(want), steady(got)); diff != "" {
			s.t.Errorf("%s (-guide +now):\n%s", command, diff)
			want = got
		}
		block.WriteString(lines[i] + "\n")
		if want != "" {
			block.WriteString(want + "\n")
		}
		i = end
	}
	return block.String()
}

// run runs a command as a shell would: an export, a job in the background up to its first line, its end, or another.
func (s *session) run(command string) string {
	s.t.Helper()
	s.commands++
	if assignment, ok := strings.CutPrefix(command, "export "); ok {
		s.env = append(s.env, strings.ReplaceAll(assignment, "$PWD", s.dir))
		return ""
	}
	if command == "kill %1" {
		if s.job == nil {
			s.t.Fatal("the guide ends what it has not begun")
		}
		_ = s.job.Process.Signal(syscall.SIGTERM)
		if err := s.job.Wait(); err != nil {
			s.t.Errorf("the job: %v", err)
		}
		s.job = nil
		return ""
	}
	if background, ok := strings.CutSuffix(command, " &"); ok {
		return s.begin(background)
	}
	c := exec.CommandContext(s.t.Context(), "bash", "-c", command)
	c.Dir, c.Env = s.dir, s.env
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		s.t.Fatalf("%s: %v", command, err)
	}
	return strings.ReplaceAll(string(out), s.dir, guideHome)
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // what CombinedOutput returns
	*exit = e
	return ok
}

func (s *session) begin(command string) string {
	s.t.Helper()
	if s.job != nil {
		s.t.Fatal("the guide has two jobs")
	}
	c := exec.CommandContext(s.t.Context(), "bash", "-c", "exec "+command)
	c.Dir, c.Env = s.dir, s.env
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.job = c
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s: %q, %v", command, line, err)
	}
	return line
}

// steady replaces the parts that differ from run to run.
func steady(text string) []string {
	for pattern, by := range map[string]string{
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`: "GUID",
		`\d\d:\d\d:\d\d\.\d{6}`:                     "TIME",
		`\((\d+m)?[0-9.]+[mµn]?s\)`:                 "(TOOK)",
		`[0-9.]+ ms`:                                "MS",
		`#\d+ `:                                     "#N ",
		`\b[0-9a-f]{16}\b`:                          "ID",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, by)
	}
	return strings.Split(regexp.MustCompile(`[ \t]+`).ReplaceAllString(fmt.Sprint(text), " "), "\n")
}
