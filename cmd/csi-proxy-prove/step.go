// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// path returns the file of a program of the kit.
func (r *running) path(program string) string { return filepath.Join(r.programsDir(), fileOf(program)) }

// command returns a step's command. Its temporary files are the run's; what it makes on the machine it notes in the
// ledger.
func (r *running) command(ctx context.Context, s step) *exec.Cmd {
	c := exec.CommandContext(ctx, r.path(s.program)) //nolint:gosec // unpacked from this program
	ofRun := strings.NewReplacer("{dir}", r.dir)
	for _, arg := range s.args {
		c.Args = append(c.Args, ofRun.Replace(arg))
	}
	if s.name == "" {
		c.Args = append(c.Args, "-test.v=test2json")
	}
	c.Dir = r.workDir()
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(variable), "CSI_PROXY_") {
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, "TEMP="+r.tempDir(), "TMP="+r.tempDir(), "TMPDIR="+r.tempDir(),
		"CSI_PROXY_BIN="+r.programsDir(), windows.LedgerVariable+"="+ledgerOf(r.base),
		"CSI_PROXY_ANSWERS="+filepath.Join(r.dir, answersName))
	if r.options.chap {
		c.Env = append(c.Env, windows.CHAPVariable+"=1")
	}
	for _, variable := range s.env {
		c.Env = append(c.Env, ofRun.Replace(variable))
	}
	c.WaitDelay = 10 * time.Second // for the output of what it started
	return c
}

// do runs one step of a part, and adds its checks and, of one that measures, what it printed.
func (r *running) do(ctx context.Context, s step, limit time.Duration, part *proof.Part) error {
	if s.beside != nil {
		c := r.command(ctx, *s.beside)
		end, err := start(c)
		if err != nil {
			return err
		}
		defer func() { end(); _ = c.Wait() }() // its error reports that it was ended
	}
	var printed bytes.Buffer
	if s.name != "" {
		begun := time.Now()
		err := r.wait(ctx, s, limit, &printed, &printed)
		check := proof.Check{Test: s.name, Verdict: proof.Held, Seconds: time.Since(begun).Seconds()}
		if err != nil {
			check.Verdict, check.Reason, check.Output = proof.Failed, err.Error(),
				last(strings.Split(strings.TrimSpace(printed.String()), "\n"))
		}
		r.tell(&check)
		part.Checks = append(part.Checks, check)
		if s.writes {
			part.Output = strings.ToValidUTF8(printed.String(), "?")
		}
		return err
	}
	tests := testOutput{tell: r.tell}
	err := r.wait(ctx, s, limit, &tests, &printed)
	checks, loose := tests.result()
	part.Checks = append(part.Checks, checks...)
	if err == nil && len(checks) == 0 {
		err = errors.New("no test ran")
	}
	if err != nil {
		part.Output = strings.Join(last(append(loose, strings.Split(printed.String(), "\n")...)), "\n")
	}
	return err
}

// wait runs a step's command until it ends, its time is over or the run is ended, and then ends all that it started.
func (r *running) wait(ctx context.Context, s step, limit time.Duration, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit))
	defer cancel()
	c := r.command(ctx, s)
	c.Stdout, c.Stderr = stdout, stderr
	end, err := start(c)
	if err != nil {
		return err
	}
	defer end()
	err = c.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
