// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// A kit is the program with its surroundings.
type kit struct {
	self  string // its file
	parts []part
	base  string // the directory of its files, made for a run

	// The directory in which agents record who uses a share: parts that start one would leave it. "": none does.
	records string

	stdin   io.Reader
	asked   bool // stdin is interactive
	out     io.Writer
	inspect func(ctx context.Context, base string) (machine, error)

	// The directory of a report for which no file is given.
	reports func(self string) string

	programs []string // in it
	hash     string   // its file's SHA-256
}

// cleaning is how long taking away what is left may take, also after Ctrl-C.
const cleaning = 10 * time.Minute

func (k *kit) print(format string, args ...any) { _, _ = fmt.Fprintf(k.out, format+"\n", args...) }

// prove looks, asks, tries everything, and writes the report.
func (k *kit) prove(ctx context.Context, o options) (int, error) {
	var err error
	if k.programs, err = contents(k.self); err != nil {
		return exitNothing, err
	}
	// now: what keeps it from being read keeps its programs from being started
	if k.hash, err = hashOf(k.self); err != nil {
		return exitNothing, inWords(err)
	}
	m, err := k.inspect(ctx, k.base)
	if err != nil {
		return exitNothing, fmt.Errorf("looking at this machine: %w", err)
	}
	pending, err := k.pending()
	if err != nil {
		return exitNothing, err
	}
	if slices.ContainsFunc(pending, func(e windows.Entry) bool { return e.Kind == windows.KindService }) {
		m.service, m.agentPipes = "", nil // the earlier run's, and gone before the first part
	}
	k.announce(m, o, pending)
	if o.list {
		return exitHeld, nil
	}
	if m.System != proof.Emulated && !m.administrator {
		return exitNothing, errors.New("nothing was done: the kit needs an administrator; start it in an elevated shell")
	}
	file, err := k.reportFile(o.report, m)
	if err != nil {
		return exitNothing, err
	}
	if err := k.consent(ctx, o.yes); err != nil {
		return exitNothing, err
	}
	ledger, unlock, err := k.open()
	if err != nil {
		return exitNothing, err
	}
	defer unlock()
	r := &running{kit: k, ledger: ledger, unlock: unlock, chap: o.chap,
		report: &proof.Report{Begun: time.Now().UTC(), Kit: proof.Kit{Version: buildversion.String()}}}
	if err := errors.Join(r.cleanEarlier(), r.salvage(m, o, file)); err != nil {
		return exitFailed, err
	}
	if o.clean {
		k.print("Nothing is left of an earlier run.")
		return exitHeld, r.clear()
	}
	return r.tryAll(ctx, o, file)
}

// open makes the kit's directory, locks it and opens the ledger in it.
func (k *kit) open() (ledger *windows.Ledger, unlock func(), err error) {
	if err := prepare(k.base); err != nil { // or others could have written what is to be removed
		return nil, nil, err
	}
	if unlock, err = lock(k.base); err != nil {
		return nil, nil, err
	}
	if ledger, err = windows.OpenLedger(ledgerOf(k.base)); err != nil {
		unlock()
	}
	return ledger, unlock, err
}

// pending returns what an earlier run left on this machine.
func (k *kit) pending() ([]windows.Entry, error) {
	if _, err := os.Lstat(ledgerOf(k.base)); err != nil {
		return nil, nil // there was none
	}
	ledger, unlock, err := k.open()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return ledger.Remaining(), nil
}

// announce prints what was found, and what will be done and what cannot.
func (k *kit) announce(m machine, o options, pending []windows.Entry) {
	k.print("This kit: %s, SHA-256 %s", buildversion.String(), k.hash)
	k.print("This machine: %s, %s, %s", systemText(m), m.Product, m.Architecture)
	for _, f := range m.found {
		k.print("  %-32s %s", f.Name, f.Text)
	}
	if len(pending) > 0 {
		k.print("\nAn earlier run left these on this machine. They are removed first:")
		for _, e := range pending {
			k.print("  %v", e)
		}
	}
	if o.clean {
		return
	}
	var cannot []string
	minutes := 0
	k.print("\nThis will be done:")
	for _, p := range k.parts {
		if len(o.only) > 0 && !slices.Contains(o.only, p.name) {
			continue
		}
		if why := k.unmetNeed(p, m); why != "" {
			cannot = append(cannot, fmt.Sprintf("  %-17s %s", p.name, why))
			continue
		}
		minutes += p.minutes
		k.print("  %-17s %s About %d min.", p.name, p.does, p.minutes)
	}
	k.print("In all about %d minutes.", minutes)
	if len(cannot) > 0 {
		k.print("\nThis cannot be done here:\n%s", strings.Join(cannot, "\n"))
	}
	k.print("\nThe kit's own files are in %s meanwhile. Ctrl-C ends it and cleans up.", k.base)
}

// consent asks once.
func (k *kit) consent(ctx context.Context, yes bool) error {
	if yes {
		return nil
	}
	if !k.asked {
		return errors.New("nothing was done: no terminal for the question; give -yes to do all this without asking")
	}
	_, _ = fmt.Fprint(k.out, "Do all this? [y/N] ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(k.stdin).ReadString('\n') // an end without an answer is none
		answered <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answered:
		if answer == "y" || answer == "yes" {
			return nil
		}
	case <-ctx.Done():
	}
	return errors.New("nothing was done")
}

// reportFile returns the report's name, which no file has.
func (k *kit) reportFile(given string, m machine) (string, error) {
	if given == "" {
		given = strings.ReplaceAll(strings.Join([]string{"csi-proxy-prove", m.System, m.Build,
			time.Now().UTC().Format("20060102-150405")}, "-"), "--", "-") + ".json.gz"
		given = filepath.Join(k.reports(k.self), given)
	}
	for _, name := range []string{given, pageFile(given)} {
		if _, err := os.Lstat(name); err == nil {
			return "", fmt.Errorf("%s exists: give -report another name", name)
		}
	}
	// Now, and not after everything was tried.
	file, err := os.OpenFile(given, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("the report cannot be written: %w", err)
	}
	if err := errors.Join(file.Close(), os.Remove(given)); err != nil {
		return "", err
	}
	return filepath.Abs(given)
}

// pageFile returns the name of the page for people that goes with a report.
func pageFile(report string) string {
	return strings.TrimSuffix(strings.TrimSuffix(report, ".gz"), ".json") + ".html"
}

// tryAll runs all parts, cleans up and writes the report.
func (r *running) tryAll(ctx context.Context, o options, file string) (code int, err error) {
	m, err := r.inspect(ctx, r.base) // once more, without what was left
	if err != nil {
		return exitNothing, err
	}
	r.report.Machine, r.report.Found = m.Machine, m.found
	if err := endTogether(); err != nil {
		return exitNothing, errors.Join(err, r.clear())
	}
	if err := r.unpack(o.upstream); err != nil {
		return exitNothing, errors.Join(err, r.clear())
	}
	for _, p := range r.parts {
		r.report.Parts = append(r.report.Parts, r.part(ctx, p, m, o.only))
		r.clean()
		if err := r.save(); err != nil {
			r.print("  what was found cannot be saved: %v", err)
		}
	}
	r.report.Interrupted = ctx.Err() != nil
	r.collect(r.report, r.dir)
	r.report.Seconds = time.Since(r.report.Begun).Round(time.Millisecond).Seconds()
	written, err := publish(r.report, m, o, file)
	if err != nil {
		r.unlock()
		return exitFailed, fmt.Errorf("cannot write the report: %w; the results are in %s: start the kit again with another "+
			"-report", err, r.dir)
	}
	// only now: it removes what the report was made of
	if err := errors.Join(os.Remove(filepath.Join(r.dir, stateName)), r.clear()); err != nil {
		r.report.Left = append(r.report.Left, err.Error())
		if written, err = publish(r.report, m, o, file); err != nil {
			return exitFailed, err
		}
	}
	r.summary(written, file)
	if !r.report.AllHeld() {
		return exitFailed, nil
	}
	return exitHeld, nil
}

// summary prints how it ended.
func (k *kit) summary(report *proof.Report, file string) {
	k.print("")
	for _, p := range report.Parts {
		if p.Verdict == proof.NotRun && p.Reason == "" {
			continue
		}
		text := p.Reason
		if len(p.Checks) > 0 {
			text = strings.TrimSpace(fmt.Sprintf("checks: %v  %s", p.Counts(), text))
		}
		k.print("%-9s %-17s %s", p.Verdict, p.Name, text)
	}
	k.print("Parts: %v", report.Counts())
	for _, left := range report.Left {
		k.print("LEFT      %s", left)
	}
	if len(report.Left) > 0 {
		k.print("Start the kit again to remove what is left.")
	}
	k.print("\nThe report: %s\nFor people: %s\nNames of this host, its users and its domain are not in it. Look at the "+
		"page, then attach the report to an issue.", file, pageFile(file))
}
