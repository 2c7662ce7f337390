// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }

// TestScripts runs the scripts. With UPDATE_SCRIPTS=1 in the environment they are rewritten to the commands' real
// output.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(testnode.Command(t, "csi-proxy"))
	testscript.Run(t, testscript.Params{
		Dir:                 "scripts",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// Sockets need short paths, and the scripts' own directory is long.
			dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // its path is too long for a socket
			if err != nil {
				return err
			}
			e.Defer(func() { _ = os.RemoveAll(dir) })
			e.Setenv("BIN", bin)
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("STATE", filepath.Join(dir, "s"))
			e.Setenv("CSI_PROXY_SOCKET_DIR", filepath.Join(dir, "s", "run"))
			e.Setenv("PODS", `C:\var\lib\kubelet\pods`)
			e.Setenv("STAGING", `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\abc\globalmount`)
			e.Setenv("ENDPOINTS", fmt.Sprint(len(testnode.Released(t))))
			e.Values[agentsKey{}] = map[string]*runningAgent{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agent":  verb("agent NAME ARGS…", startAgent),
			"signal": verb("signal NAME TERM|INT|KILL CODE", signalAgent),
			"ended":  verb("ended NAME CODE", endedAgent),
			"exits":  verb("exits CODE COMMAND ARGS…", exits),
			"clean":  verb("clean FILE", clean),
			"save":   verb("save NAME", save),

			"formatted": verb("formatted DISK", formatted),
			"staged":    verb("staged DISK", staged),
			"stage":     verb("stage SHARE PATH", stageShare),
			"asks":      verb("asks METHOD CODE", asks),
			"write":     verb("write PATH TEXT", write),
			"holds":     verb("holds PATH TEXT", holds),
			"volumes":   verb("volumes stage|publish N", volumes),
			"scenario":  verb("scenario FILE DISKS SHARES", scenario),
			"shares":    verb("shares N", shares),
		},
	})
}

// verb returns a command of the scripts that takes the arguments of a usage; ARGS… are any number.
func verb(usage string, do func(*testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	names := strings.Fields(usage)[1:]
	return func(ts *testscript.TestScript, neg bool, args []string) {
		missing := len(names) - len(args)
		if neg || missing != 0 && (!strings.HasSuffix(usage, "…") || missing > 1) {
			ts.Fatalf("usage: %s", usage)
		}
		do(ts, args)
	}
}

// exits CODE COMMAND ARGS… runs a command and checks its exit code; stdout and stderr are there for later commands.
func exits(ts *testscript.TestScript, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError) //nolint:errorlint // ts.Exec returns exactly this
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%s: exit code %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// agent NAME ARGS… starts csi-proxy-emulated on the emulated node in $STATE and returns when its standard output
// reports that it is ready. That line goes to the file NAME.out, all of standard error to NAME.err.
func startAgent(ts *testscript.TestScript, args []string) {
	name := args[0]
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	command := exec.Command(filepath.Join(ts.Getenv("BIN"), "csi-proxy-emulated"),
		append([]string{"-state-dir=" + ts.Getenv("STATE")}, args[1:]...)...)
	command.Dir = ts.MkAbs(".")
	command.Stderr = stderr
	stdout, err := command.StdoutPipe()
	ts.Check(err)
	ts.Check(command.Start())
	ts.Defer(func() { _ = command.Process.Kill() })
	a := &runningAgent{command: command, out: ts.MkAbs(name + ".out"), ended: make(chan struct{})}
	running(ts)[name] = a

	output := bufio.NewReader(stdout)
	line, err := output.ReadString('\n')
	if err != nil {
		_ = command.Wait()
		text, _ := os.ReadFile(stderr.Name())
		ts.Fatalf("the agent %s ended before it was ready: %v\n%s", name, err, text)
	}
	go func() { // any further output, and the process's end
		rest, _ := io.ReadAll(output)
		_ = command.Wait() // ProcessState has the result
		_ = stderr.Close()
		_ = os.WriteFile(a.out, append([]byte(line), rest...), 0o600)
		close(a.ended)
	}()
}

// runningAgent is an agent started by a script.
type runningAgent struct {
	command *exec.Cmd
	out     string        // file for its standard output, written when it has ended
	ended   chan struct{} // closed when it has ended and its output is written
}

type agentsKey struct{}

func running(ts *testscript.TestScript) map[string]*runningAgent {
	return ts.Value(agentsKey{}).(map[string]*runningAgent)
}

// signal NAME SIGNAL CODE signals an agent, waits until it has ended and checks its exit code, a number or killed.
func signalAgent(ts *testscript.TestScript, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	a := running(ts)[args[0]]
	ts.Check(a.command.Process.Signal(signals[args[1]]))
	a.mustEnd(ts, args[0], args[2])
}

// ended NAME CODE waits until an agent has ended by itself and checks its exit code.
func endedAgent(ts *testscript.TestScript, args []string) {
	running(ts)[args[0]].mustEnd(ts, args[0], args[1])
}

func (a *runningAgent) mustEnd(ts *testscript.TestScript, name, want string) {
	<-a.ended
	code := fmt.Sprint(a.command.ProcessState.ExitCode())
	if code == "-1" {
		code = "killed"
	}
	if code != want {
		ts.Fatalf("the agent %s ended with %s, want %s", name, code, want)
	}
}

// clean FILE|stdout|stderr writes the content to the file clean, with whatever differs from run to run replaced: the
// directory, GUIDs and process numbers.
func clean(ts *testscript.TestScript, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("STATE"), "STATE")
	text = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(text, "GUID")
	text = regexp.MustCompile(`process [0-9]+`).ReplaceAllString(text, "process PID")
	text = regexp.MustCompile(`disks/[0-9a-f]+\.disk`).ReplaceAllString(text, "disks/IMAGE")
	text = strings.ReplaceAll(text, "none of "+ts.Getenv("ENDPOINTS")+" endpoints", "none of ENDPOINTS endpoints")
	ts.Check(os.WriteFile(ts.MkAbs("clean"), []byte(text), 0o600))
}

// save NAME sets an environment variable to the output of the last command, without the end of the line.
func save(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
