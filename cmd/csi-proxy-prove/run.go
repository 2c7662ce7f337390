// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// running is a run of the kit.
type running struct {
	*kit
	ledger *windows.Ledger
	report *proof.Report
	unlock func()
	chap   bool // the owner gives up a secret for mutual CHAP

	dir                  string // of this run
	binaries, work, temp string // in it
	answers, recording   string // files there
	more                 map[string][]string
}

// runPrefix begins the directory of a run.
const runPrefix = "run-"

// cleanEarlier removes what an earlier run left. A machine on which something stays is not one to make more on.
func (r *running) cleanEarlier() error {
	pending := r.ledger.Remaining()
	if len(pending) > 0 {
		r.print("\nRemoving what an earlier run left …")
		ctx, cancel := context.WithTimeout(context.Background(), cleaning)
		defer cancel()
		if left, err := r.ledger.Clean(ctx); err != nil || len(left) > 0 {
			return fmt.Errorf("cannot remove the leftovers of an earlier run: %w; remove them, then delete %s", err,
				ledgerOf(r.base))
		}
	}
	for _, e := range pending {
		r.report.Cleaned = append(r.report.Cleaned, e.String())
	}
	return nil
}

// releaseTimeout is how long Windows may hold the file of a program whose process has ended, or is ending: a service
// that reports that it stopped still has one.
const releaseTimeout = 15 * time.Second

// removeAll removes a directory of the kit. Mount points and links in it are not followed.
func removeAll(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	err := windows.RemoveTree(ctx, dir, "")
	end := time.Now().Add(releaseTimeout)
	for ; err != nil && time.Now().Before(end); err = windows.RemoveTree(ctx, dir, "") {
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// unpack makes the directory of the run with the programs of the kit.
func (r *running) unpack(upstream string) (err error) {
	if r.dir, err = os.MkdirTemp(r.base, runPrefix); err != nil {
		return err
	}
	r.binaries, r.work, r.temp = filepath.Join(r.dir, "programs"), filepath.Join(r.dir, "work"), filepath.Join(r.dir, "t")
	for _, dir := range []string{r.binaries, r.work, r.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	r.answers = filepath.Join(r.dir, answersName)
	r.report.Kit.SHA256 = r.hash
	r.report.Kit.Programs, err = unpack(r.self, r.binaries)
	r.more = map[string][]string{"bench": {"-programs=" + r.binaries}}
	if upstream != "" {
		if upstream, err = filepath.Abs(upstream); err == nil {
			_, err = os.Stat(upstream)
		}
		r.more["bench"] = append(r.more["bench"], "-upstream="+upstream)
	}
	return err
}

// part runs a part and returns what it showed. Whatever happens in it, the next ones run.
func (r *running) part(ctx context.Context, p part, m machine, only []string) proof.Part {
	done := proof.Part{Name: p.name, Does: p.does, Verdict: proof.NotRun}
	if ctx.Err() == nil {
		if now, err := r.inspect(ctx, r.base); err == nil { // another agent may have come meanwhile
			m = now
		}
	}
	switch why := r.unmetNeed(p, m); {
	case len(only) > 0 && !slices.Contains(only, p.name):
		return done
	case why != "":
		done.Verdict, done.Reason = proof.Unavailable, why
		return done
	case ctx.Err() != nil:
		done.Reason = "the run was ended before"
		return done
	}
	r.print("\n=== %s", p.name)
	begun := time.Now()
	r.recording = filepath.Join(r.dir, "calls-"+p.name+".jsonl")
	if r.records != "" && slices.Contains(p.needs, freePipes) {
		if err := r.ledger.MakeDirectory(r.records); err != nil {
			done.Verdict, done.Reason = proof.Failed, err.Error()
			return done
		}
	}
	if err := r.save(proof.Part{Name: p.name, Does: p.does, Verdict: proof.Failed, Reason: nothingAfter}); err != nil {
		done.Verdict, done.Reason = proof.Failed, err.Error()
		return done
	}
	var failure error
	for _, s := range p.steps {
		if failure != nil && !s.always && (!s.anyway || ctx.Err() != nil) {
			continue
		}
		stepContext := ctx
		if s.always { // also after Ctrl-C; its limit ends it
			stepContext = context.WithoutCancel(ctx)
		}
		err := r.noteService(s)
		var checks []proof.Check
		var text string
		if err == nil {
			checks, text, err = r.do(stepContext, s, p.limit)
		}
		done.Checks = append(done.Checks, checks...)
		done.Output += text
		if failure == nil {
			failure = err
		}
	}
	done.Seconds = time.Since(begun).Round(time.Millisecond).Seconds()
	counts := done.Counts()
	switch {
	case errors.Is(failure, errInterrupted):
		done.Verdict, done.Reason = proof.Failed, errInterrupted.Error()
	case counts[proof.Failed] > 0 && counts[proof.Failed] < len(done.Checks):
		done.Verdict, done.Reason = proof.Failed, fmt.Sprintf("%d of %d checks", counts[proof.Failed], len(done.Checks))
	case failure != nil:
		done.Verdict, done.Reason = proof.Failed, failure.Error()
	case counts[proof.Held] == 0:
		done.Verdict, done.Reason = proof.Unavailable, "none of its checks can be done here"
	default:
		done.Verdict = proof.Held
	}
	r.print("%s: %s", p.name, strings.TrimSpace(string(done.Verdict)+" "+done.Reason))
	return done
}

// noteService notes the agent's service before a step installs it. Taking it out again is Clean's, which finds it gone.
func (r *running) noteService(s step) error {
	if s.program != agentProgram || !slices.Contains(s.args, "install") {
		return nil
	}
	if slices.ContainsFunc(r.ledger.Remaining(), func(e windows.Entry) bool {
		return e.Kind == windows.KindService &&
			e.Name == "csiproxy"
	}) {
		return nil
	}
	_, err := r.ledger.Note(windows.Entry{Kind: windows.KindService, Name: "csiproxy", Mark: r.command(s).Path})
	return err
}

// tell prints the end of a check: of each that did not hold, and otherwise of tests and of what they are made of, so
// that progress is visible.
func (r *running) tell(c *proof.Check) {
	switch {
	case c.Verdict == proof.Failed:
		r.print("  failed: %s: %s", c.Test, c.Reason)
	case strings.Count(c.Test, "/") <= 1:
		r.print("  %s: %s (%.1f s)", c.Verdict, c.Test, c.Seconds)
	}
}

// clean takes away what a part left, so that the next one finds the machine as the first did.
func (r *running) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	left, err := r.ledger.Clean(ctx)
	r.report.Left = nil
	for _, e := range left {
		r.report.Left = append(r.report.Left, e.String())
	}
	if err != nil {
		r.report.Left = append(r.report.Left, err.Error())
		r.print("  still there: %v", err)
	}
}

// clear removes the kit's own files. The ledger of what is left stays for the next start.
func (r *running) clear() error {
	if r.dir != "" {
		if err := removeAll(r.dir); err != nil {
			return err
		}
	}
	r.unlock()
	if len(r.ledger.Remaining()) > 0 {
		return nil
	}
	return tidy(r.base)
}
