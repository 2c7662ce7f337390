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
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// command returns a program of the kit. Its temporary files are the run's; what it makes on the machine it notes in the
// ledger.
func (r *running) command(s step) *exec.Cmd {
	c := exec.Command(filepath.Join(r.binaries, fileOf(s.program))) //nolint:gosec // unpacked from this program
	for _, arg := range append(s.args, r.more[s.program]...) {
		c.Args = append(c.Args, strings.ReplaceAll(arg, "{dir}", r.dir))
	}
	c.Dir = r.work
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(variable), "CSI_PROXY_") {
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, "TEMP="+r.temp, "TMP="+r.temp, "TMPDIR="+r.temp, "CSI_PROXY_BIN="+r.binaries,
		"CSI_PROXY_PROVE_LEDGER="+ledgerOf(r.base),
		"CSI_PROXY_ANSWERS="+r.answers)
	if s.records {
		c.Env = append(c.Env, "CSI_PROXY_RECORDING="+r.recording)
	}
	if r.chap {
		c.Env = append(c.Env, windows.CHAPVariable+"=1")
	}
	c.Env = append(c.Env, s.env...)
	return c
}

// do runs one step of a part, and returns its checks and, of one that measures, what it printed.
func (r *running) do(ctx context.Context, s step, limit time.Duration) (checks []proof.Check, text string, err error) {
	if s.beside != nil {
		stop, err := r.begin(*s.beside)
		if err != nil {
			return nil, "", err
		}
		defer stop()
	}
	c := r.command(s)
	var tests testOutput
	var printed bytes.Buffer
	if s.name == "" {
		c.Args = append(c.Args, "-test.v=test2json")
		tests.tell = r.tell
		c.Stdout = &tests
	} else {
		c.Stdout = &printed
	}
	c.Stderr = &printed
	begun := time.Now()
	err = r.wait(ctx, c, limit)
	if s.name != "" {
		check := proof.Check{Test: s.name, Verdict: proof.Held, Seconds: time.Since(begun).Seconds()}
		if err != nil {
			check.Verdict, check.Reason, check.Output = proof.Failed, err.Error(),
				last(strings.Split(strings.TrimSpace(printed.String()), "\n"))
		}
		r.tell(&check)
		if s.writes {
			text = strings.ToValidUTF8(printed.String(), "?")
		}
		return []proof.Check{check}, text, err
	}
	checks, loose := tests.result()
	if err == nil && len(checks) == 0 {
		err = errors.New("no test ran")
	}
	if err != nil {
		text = strings.Join(last(append(loose, strings.Split(printed.String(), "\n")...)), "\n")
	}
	return checks, text, err
}

// wait runs a command until it ends, its time is over or the run is ended, and then ends whatever it started.
func (r *running) wait(ctx context.Context, c *exec.Cmd, limit time.Duration) error {
	f, err := newFamily()
	if err != nil {
		return err
	}
	var end sync.Once
	stop := func() { end.Do(f.end) }
	defer stop()
	c.WaitDelay = 10 * time.Second // for the output of what it started
	if err := f.start(c); err != nil {
		return inWords(err)
	}
	ended := make(chan struct{})
	var result error
	go func() { result = c.Wait(); close(ended) }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-ended:
		err = result
	case <-ctx.Done():
		stop()
		<-ended
		err = errInterrupted
	case <-late.C:
		stop()
		<-ended
		err = fmt.Errorf("it did not end within %v", limit)
	}
	return err
}

// errInterrupted ends a part that was interrupted.
var errInterrupted = errors.New("ended early")

// begin starts a command that runs beside another one, and returns what ends it.
func (r *running) begin(s step) (stop func(), err error) {
	f, err := newFamily()
	if err != nil {
		return nil, err
	}
	c := r.command(s)
	c.Stdout, c.Stderr = io.Discard, io.Discard
	if err := f.start(c); err != nil {
		f.end()
		return nil, inWords(err)
	}
	return func() {
		f.end()
		_ = c.Wait() // its error reports that it was ended
	}, nil
}
