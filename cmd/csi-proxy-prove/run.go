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
	options options
	ledger  *windows.Ledger
	report  *proof.Report
	hidden  proof.Hidden
	file    string // of the report
	dir     string // of the run
}

// tryAll runs all parts, cleans up and writes the report.
func (r *running) tryAll(ctx context.Context) (code int, err error) {
	if err := errors.Join(r.unpack(), r.write()); err != nil {
		return exitNothing, errors.Join(err, r.clear())
	}
	for _, p := range r.parts {
		done := r.part(ctx, p)
		r.report.Parts = append(r.report.Parts, done)
		if done.Seconds == 0 { // it did not run
			continue
		}
		r.collect()
		if err := r.write(); err != nil { // before anything is removed
			r.print("  %v", err)
		}
		if err := r.clean(); err != nil {
			r.print("  still there: %v", err)
		}
	}
	r.report.Interrupted = ctx.Err() != nil
	if err := r.clear(); err != nil {
		r.report.Left = append(r.report.Left, err.Error())
	}
	if err := r.write(); err != nil {
		return exitFailed, err
	}
	r.summary()
	if !r.report.AllHeld() {
		return exitFailed, nil
	}
	return exitHeld, nil
}

// summary prints how it ended.
func (r *running) summary() {
	r.print("\nParts: %v", r.report.Counts())
	for _, left := range r.report.Left {
		r.print("LEFT      %s", left)
	}
	if len(r.report.Left) > 0 {
		r.print("Start the kit again to remove what is left.")
	}
	r.print("\nThe report: %s\nFor people: %s\nNames of this host, its users and its domain are not in it. Look at the "+
		"page, then attach the report to an issue.", r.file, pageFile(r.file))
}

// cleanEarlier removes what an earlier run left. A machine on which something stays is not one to make more on.
func (r *running) cleanEarlier(pending []windows.Entry) error {
	for _, e := range pending {
		r.report.Cleaned = append(r.report.Cleaned, e.String())
	}
	if err := r.clean(); err != nil {
		return fmt.Errorf("cannot remove the leftovers of an earlier run: %w; remove them, then delete %s", err,
			ledgerOf(r.base))
	}
	return removeAll(r.dir)
}

// cleaning is how long taking away what is left may take, also after Ctrl-C.
const cleaning = 10 * time.Minute

// clean takes away what is in the ledger, so that the next part finds the machine as the first did.
func (r *running) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	_, err := r.ledger.Clean(ctx)
	if r.report.Left = nil; err != nil {
		r.report.Left = strings.Split(err.Error(), "\n")
	}
	return err
}

// clear removes the kit's own files. The ledger of what is left stays for the next start.
func (r *running) clear() error {
	if len(r.ledger.Remaining()) > 0 {
		return removeAll(r.dir)
	}
	return removeAll(r.base)
}

// releaseTimeout is how long Windows may hold the file of a program whose process has ended, or is ending: a service
// that reports that it stopped still has one.
const releaseTimeout = 15 * time.Second

// removeAll removes a directory of the kit. Mount points and links in it are not followed.
func removeAll(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	for end := time.Now().Add(releaseTimeout); ; time.Sleep(100 * time.Millisecond) {
		err := windows.RemoveTree(ctx, dir, "")
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// unpack makes the directory of the run with the programs of the kit.
func (r *running) unpack() error {
	for _, dir := range []string{r.dir, r.programsDir(), r.workDir(), r.tempDir()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return os.CopyFS(r.programsDir(), r.archive) // it refuses names that lead out
}

// Names are short, because agents' sockets are below the last one.
func (r *running) programsDir() string { return filepath.Join(r.dir, "programs") }
func (r *running) workDir() string     { return filepath.Join(r.dir, "work") }
func (r *running) tempDir() string     { return filepath.Join(r.dir, "t") }

// part runs a part and returns what it showed. Whatever happens in it, the next ones run.
func (r *running) part(ctx context.Context, p part) proof.Part {
	done := proof.Part{Name: p.name, Does: p.does, Verdict: proof.NotRun}
	if !r.options.wants(p) {
		return done
	}
	if ctx.Err() != nil {
		done.Reason = "the run was ended before"
		return done
	}
	m, failure := r.inspect(ctx, r.base) // again: another agent may have come meanwhile
	if done.Reason = r.unmetNeed(p, m); done.Reason != "" && failure == nil {
		done.Verdict = proof.Unavailable
		return done
	}
	r.print("\n=== %s", p.name)
	begun := time.Now()
	if failure == nil && r.records != "" && slices.Contains(p.needs, freePipes) {
		failure = r.ledger.MakeDirectory(r.records)
	}
	for _, s := range p.steps {
		if failure != nil {
			break
		}
		if failure = r.noteService(s); failure == nil {
			failure = r.do(ctx, s, p.limit, &done)
		}
	}
	done.Seconds = max(time.Since(begun), time.Millisecond).Round(time.Millisecond).Seconds()
	counts := done.Counts()
	switch {
	case counts[proof.Failed] > 0 && counts[proof.Failed] < len(done.Checks):
		done.Verdict, done.Reason = proof.Failed, fmt.Sprintf("%d of %d checks", counts[proof.Failed], len(done.Checks))
	case failure != nil:
		done.Verdict, done.Reason = proof.Failed, failure.Error()
	case counts[proof.Held] == 0:
		done.Verdict, done.Reason = proof.Unavailable, "none of its checks can be done here"
	default:
		done.Verdict = proof.Held
	}
	r.print("%-9s %-17s checks: %v  %s", done.Verdict, p.name, counts, done.Reason)
	return done
}

// noteService notes the agent's service before a step installs it. Taking it out again is Clean's, which finds it gone.
func (r *running) noteService(s step) error {
	if s.program != agentProgram || !slices.Contains(s.args, "install") {
		return nil
	}
	const name = "csiproxy"
	noted := func(e windows.Entry) bool { return e.Kind == windows.KindService && e.Name == name }
	if slices.ContainsFunc(r.ledger.Remaining(), noted) {
		return nil
	}
	_, err := r.ledger.Note(windows.Entry{Kind: windows.KindService, Name: name, Mark: r.path(s.program)})
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
