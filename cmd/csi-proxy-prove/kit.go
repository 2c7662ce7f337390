// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
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
	out     io.Writer
	inspect func(ctx context.Context, base string) (machine, error)

	archive *zip.ReadCloser // of its programs
}

func (k *kit) print(format string, args ...any) { _, _ = fmt.Fprintf(k.out, format+"\n", args...) }

// prove looks, asks, tries everything, and writes the report.
func (k *kit) prove(ctx context.Context, o options) (int, error) {
	var err error
	if k.archive, err = open(k.self); err != nil {
		return exitNothing, err
	}
	defer func() { _ = k.archive.Close() }()
	// now: what keeps it from being read keeps its programs from being started
	hash, err := hashOf(k.self)
	if err != nil {
		return exitNothing, err
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
	k.print("This kit: %s, SHA-256 %s", buildversion.String(), hash)
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
	if err := k.consent(o.yes); err != nil {
		return exitNothing, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the kit at once; the next start cleans up
	ledger, unlock, err := k.open()
	if err != nil {
		return exitNothing, err
	}
	defer unlock()
	m.hidden.Serials, m.hidden.Own = []string{m.machineSerial}, windows.MadeHere
	if o.hashSerials {
		m.hidden.Serials = append(m.hidden.Serials, m.diskSerials...)
	}
	r := &running{kit: k, options: o, ledger: ledger, file: file, dir: filepath.Join(k.base, "run"), hidden: m.hidden,
		report: &proof.Report{Begun: time.Now().UTC(), Kit: proof.Kit{Version: buildversion.String(), SHA256: hash},
			Machine: m.Machine, Found: m.found, Interrupted: true}}
	if err := r.cleanEarlier(pending); err != nil {
		return exitFailed, err
	}
	if !o.clean {
		return r.tryAll(ctx)
	}
	if err := r.clear(); err != nil {
		return exitFailed, err
	}
	k.print("Nothing is left of an earlier run.")
	return exitHeld, nil
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
		if !o.wants(p) {
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

// wants reports whether a part was asked for.
func (o options) wants(p part) bool { return len(o.only) == 0 || slices.Contains(o.only, p.name) }

// consent asks once.
func (k *kit) consent(yes bool) error {
	if yes {
		return nil
	}
	_, _ = fmt.Fprint(k.out, "Do all this? [y/N] ")
	answer, _ := bufio.NewReader(k.stdin).ReadString('\n') // an end without an answer is none
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done: answer y, or give -yes to do all this without asking")
	}
	return nil
}

// reportFile returns the report's name, which no file has.
func (k *kit) reportFile(given string, m machine) (string, error) {
	if given == "" {
		given = strings.ReplaceAll(strings.Join([]string{"csi-proxy-prove", m.System, m.Build,
			time.Now().UTC().Format("20060102-150405")}, "-"), "--", "-") + ".json.gz"
		given = filepath.Join(filepath.Dir(k.self), given)
	}
	for _, name := range []string{given, pageFile(given)} {
		if _, err := os.Lstat(name); err == nil {
			return "", fmt.Errorf("%s exists: give -report another name", name)
		}
	}
	return filepath.Abs(given)
}
