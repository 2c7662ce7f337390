// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// root is the repository's root directory, as seen from this package.
const root = ".."

// guideHome is the directory that the pages' outputs show; the sessions really run in temporary ones.
const guideHome = "/home/me"

// newHome returns a directory outside of this repository with a clone of it, csi-proxy, as a reader has one: with the
// files as they are here, committed or not, and nothing that git ignores.
func newHome(t *testing.T) string {
	t.Helper()
	home := testnode.ShortDir(t)
	clone := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `cd "$1"
		git clone --quiet --no-checkout . "$2"
		git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file" # git still lists what was deleted
		done | tar --create --null --files-from=- | tar --extract --directory="$2"
		git -C "$2" reset --quiet`, "clone", root, filepath.Join(home, "csi-proxy"))
	if out, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("cloning: %v\n%s", err, out)
	}
	for _, dir := range []string{"tmp", "reader"} {
		caller.OK(t, os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	return home
}

// session is a shell in the clone.
type session struct {
	t      *testing.T
	dir    string // the shell's directory now
	stdin  io.Writer
	stdout *bufio.Reader
	stderr bytes.Buffer // of the jobs in the background
}

// mark ends a command's output.
const mark = "--- end of the command:"

func newSession(t *testing.T, home string) *session {
	t.Helper()
	s := &session{t: t, dir: filepath.Join(home, "csi-proxy")}
	bash := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	bash.Dir = s.dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CSI_PROXY_") {
			bash.Env = append(bash.Env, variable)
		}
	}
	bash.Env = append(bash.Env, "TMPDIR="+filepath.Join(home, "tmp"), "LC_ALL=C.UTF-8")
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.Stderr = &s.stderr
	stdin, err := bash.StdinPipe()
	caller.OK(t, err)
	stdout, err := bash.StdoutPipe()
	caller.OK(t, err)
	caller.OK(t, bash.Start())
	s.stdin, s.stdout = stdin, bufio.NewReader(stdout)
	t.Cleanup(func() {
		_ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) // the shell and its jobs
		_ = bash.Wait()
		if s.stderr.Len() > 0 { // a reader's terminal would show it, and the page does not
			t.Errorf("the jobs in the background wrote:\n%s", s.stderr.String())
		}
	})
	return s
}

// script runs a block, of which every command must succeed.
func (s *session) script(text string) {
	s.t.Helper()
	if out, code := s.run("set -e\n" + text); code != 0 {
		s.t.Fatalf("exit code %d of\n%s\n%s", code, text, out)
	}
	s.run("set +e")
}

// play runs the commands of one block, compares their outputs and returns the corrected block.
func (s *session) play(lines []string) string {
	s.t.Helper()
	var block strings.Builder
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			s.t.Fatalf("output without a command: %s", lines[i])
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		want := strings.Join(lines[i+1:end], "\n")
		var got string
		if background, ok := strings.CutSuffix(command, " &"); ok {
			got = s.begin(background, end-i-1)
		} else {
			got, _ = s.run(command)
		}
		if command == "kill %1" {
			if out, code := s.run("wait %1"); code != 0 {
				s.t.Errorf("the job ended with %d\n%s", code, out)
			}
		}
		got = strings.TrimSuffix(got, "\n")
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

// run runs a command in the shell and returns its output and its exit code.
func (s *session) run(command string) (out string, code int) {
	s.t.Helper()
	s.send("{ " + command + "\n} 2>&1 </dev/null\n{ ended=$?; echo; echo \"" + mark + " $ended $PWD\"; }\n")
	var output strings.Builder
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: the shell ended: %v\n%s%s\n%s", command, err, output.String(), line, s.stderr.String())
		}
		if rest, ok := strings.CutPrefix(line, mark+" "); ok {
			number, dir, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
			if code, err = strconv.Atoi(number); err != nil {
				s.t.Fatal(err)
			}
			out = strings.TrimSuffix(output.String(), "\n") // that of the echo
			s.dir = dir
			return strings.ReplaceAll(out, s.dir, guideHome), code
		}
		output.WriteString(line)
	}
}

// begin starts a job in the background and returns the lines that the page shows of it.
func (s *session) begin(command string, lines int) string {
	s.t.Helper()
	s.send(command + " </dev/null &\n")
	var output strings.Builder
	for range lines {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %q, %v\n%s", command, line, err, s.stderr.String())
		}
		output.WriteString(line)
	}
	return output.String()
}

func (s *session) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, text); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
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
