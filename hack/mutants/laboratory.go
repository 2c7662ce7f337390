// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A verdict is what became of a mutant.
type verdict string

// The verdicts.
const (
	killed    verdict = "killed"
	hung      verdict = "hung" // a test did not end, which a user would notice, too, but a slow machine looks the same
	survived  verdict = "SURVIVED"
	broken    verdict = "BROKEN" // the change cannot be made, does not compile, or its tests fail without it
	explained verdict = "equivalent"
	unseen    verdict = "unseen"
	skipped   verdict = "skipped" // needs Wine
)

// timeout is the limit of a test under mutation. A mutant that makes a test hang is killed by it.
const timeout = "90s"

// A laboratory runs tests against mutants.
type laboratory struct {
	root   string
	dir    string // for files
	wine   bool
	output io.Writer // of the tests; nil: nowhere

	sound map[trial]error // tests that were run without a mutant
}

// try makes a mutant and runs its tests. The error explains a survivor, and a mutant that is broken.
func (l *laboratory) try(m mutant) (verdict, error) {
	path := filepath.Join(l.root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		return broken, err
	}
	mutated, err := m.apply(string(source))
	if err != nil {
		return broken, err
	}
	overlay, err := l.overlay(path, mutated)
	if err != nil {
		return broken, err
	}
	if m.equivalent != "" || m.unseen != "" {
		if out, err := l.command(overlay, strings.Contains(m.file, "windows"), "go", "build", "./"+filepath.Dir(m.file)).CombinedOutput(); err != nil {
			return broken, fmt.Errorf("it does not compile: %s", out)
		}
		if m.equivalent != "" {
			return explained, nil
		}
		return unseen, nil
	}
	result := skipped
	for _, t := range m.tests {
		if t.wine && !l.wine {
			continue
		}
		if err := l.isSound(t); err != nil {
			return broken, err
		}
		out, err := l.test(t, overlay)
		switch {
		case err == nil:
			result = survived
		case notBuilt(out):
			return broken, fmt.Errorf("it does not compile: %s", out)
		case strings.Contains(out, "panic: test timed out"):
			return hung, nil
		default:
			return killed, nil
		}
	}
	if result == survived {
		return survived, fmt.Errorf("%s: %s passed", m.where, m.tests[0].pattern)
	}
	return result, nil
}

// overlay writes the mutated file and a description that makes the go command take it for the original.
func (l *laboratory) overlay(path, mutated string) (description string, err error) {
	replacement, description := filepath.Join(l.dir, "mutated.go"), filepath.Join(l.dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: replacement}})
	if err != nil {
		return "", err
	}
	return description, errors.Join(os.WriteFile(replacement, []byte(mutated), 0o600), os.WriteFile(description, text, 0o600))
}

// isSound runs tests without a mutant, once: they must pass, and there must be some.
func (l *laboratory) isSound(t trial) error {
	if err, known := l.sound[t]; known {
		return err
	}
	out, err := l.test(t, "")
	if err != nil {
		err = fmt.Errorf("%s %s fails without the change: %w\n%s", t.folder, t.pattern, err, out)
	} else if strings.Contains(out, "no tests to run") {
		err = fmt.Errorf("%s has no test %s", t.folder, t.pattern)
	}
	l.sound[t] = err
	return err
}

func notBuilt(out string) bool {
	return strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]")
}

// test runs tests, against a mutant if overlay is not empty, and returns what they print.
func (l *laboratory) test(t trial, overlay string) (string, error) {
	if t.wine {
		return l.testUnderWine(t, overlay)
	}
	args := []string{"test", "-vet=off", "-timeout=" + timeout, "-run=" + t.expression()}
	if overlay != "" {
		args = append(args, "-count=1", "-failfast") // the go command does not see what a test builds
	}
	return l.run(l.command(overlay, false, "go", append(args, "./"+t.folder)...))
}

func (l *laboratory) testUnderWine(t trial, overlay string) (string, error) {
	program := filepath.Join(l.dir, "mutant.test.exe")
	if out, err := l.run(l.command(overlay, true, "go", "test", "-c", "-vet=off", "-o", program, "./"+t.folder)); err != nil {
		return out + "[build failed]", err
	}
	if out, err := l.run(l.command("", false, "hack/wine.sh", "setup")); err != nil {
		return out, err
	}
	return l.run(l.command("", false, "hack/wine.sh", "run", "-C", filepath.FromSlash(t.folder), "-t", "120",
		program, "-test.timeout="+timeout, "-test.failfast", "-test.run="+t.expression()))
}

func (l *laboratory) run(c *exec.Cmd) (string, error) {
	out, err := c.CombinedOutput()
	if l.output != nil {
		_, _ = l.output.Write(out)
	}
	return string(out), err
}

// command returns a command at the top of the repository. An overlay is also that of the programs which tests build.
func (l *laboratory) command(overlay string, windows bool, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = l.root
	c.Env = append(os.Environ(), "CSI_PROXY_BIN=")
	if overlay != "" {
		c.Env = append(c.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	if windows {
		c.Env = append(c.Env, "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	}
	return c
}
