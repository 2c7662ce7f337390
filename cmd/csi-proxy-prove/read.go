// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/kubernetes-csi/csi-proxy/internal/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// show prints what a report says.
func (k *kit) show(name string) (int, error) {
	file, err := os.Open(name)
	if err != nil {
		return exitNothing, err
	}
	defer file.Close()
	r, err := proof.Read(file)
	if err != nil {
		return exitNothing, fmt.Errorf("%s: %w", name, err)
	}
	t := tabwriter.NewWriter(k.out, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, printable.Text(fmt.Sprintf(format, args...)))
	}
	row("SYSTEM", "%s", machineText(r.Machine))
	row("KIT", "%s, SHA-256 %s", r.Kit.Version, r.Kit.SHA256)
	row("BEGUN", "%s, took %.0f s", r.Begun.Format("2006-01-02 15:04:05 MST"), r.Seconds)
	if r.Interrupted {
		row("ENDED", "early")
	}
	for _, left := range r.Left {
		row("LEFT", "%s", left)
	}
	for _, f := range r.Found {
		row("FOUND", "%s: %s", f.Name, f.Text)
	}
	row("PARTS", "%v", r.Counts())
	for _, p := range r.Parts {
		if p.Verdict == proof.NotRun && p.Reason == "" {
			continue
		}
		row("PART", "%s", partText(p))
		for _, check := range p.Checks {
			if check.Verdict == proof.Failed {
				row("FAILED", "%s", strings.TrimSuffix(p.Name+" "+check.Test+": "+check.Reason, ": "))
			}
		}
	}
	for _, answer := range r.Answers {
		row("ANSWER", "%s %s", answer.Question, answer.Text)
		row("", "%s", answer.Said())
	}
	row("CALLS", "%d kernel calls are recorded, %d were left out", len(r.Calls), r.CallsLeftOut)
	if err := t.Flush(); err != nil || !r.AllHeld() {
		return exitFailed, err
	}
	return exitHeld, nil
}

// machineText names a machine. Wine pretends to be some Windows and is none.
func machineText(m proof.Machine) string {
	switch m.System {
	case proof.Windows:
		return fmt.Sprintf("%s, build %s, %s", m.Product, m.Build, m.Architecture)
	case proof.Wine:
		return fmt.Sprintf("Wine %s, which is not Windows, %s", m.Wine, m.Architecture)
	}
	return fmt.Sprintf("%s, emulated nodes only, %s", m.Product, m.Architecture)
}

func partText(p proof.Part) string {
	text := p.Name + ": " + string(p.Verdict)
	if counts := p.Counts(); len(p.Checks) > 0 {
		text += fmt.Sprintf(", %d of %d checks held", counts[proof.Held], len(p.Checks))
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}
