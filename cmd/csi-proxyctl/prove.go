// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

func proveCommand(a *connection) *cobra.Command {
	return group("prove", "Read the reports of csi-proxy-prove", proveShow(a), proveDiff(a))
}

func readReport(name string) (*proof.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, failure{err}
	}
	defer file.Close()
	r, err := proof.Read(file)
	if err != nil {
		return nil, failure{fmt.Errorf("%s: %w", name, err)}
	}
	return r, nil
}

func proveShow(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE",
		Short: "Show what a report of csi-proxy-prove says",
		Long: `Show what a report of csi-proxy-prove says: the machine, the parts with their verdicts, the checks that failed,
and the answers. No agent is asked. With -o json or yaml, everything that is in the report is printed.

The exit code is 0 if all that was tried held and nothing was left on the machine, else 1. A report that was changed
after it was written is refused.`,
		Example: `  csi-proxyctl prove show csi-proxy-prove-windows-10.0.20348.2340-20260131-120000.json.gz`,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := readReport(args[0])
			if err != nil {
				return err
			}
			var names []string
			for _, p := range r.Parts {
				names = append(names, p.Name)
			}
			if err := a.printAnswer(c, answer{value: r, rows: reportRows(r), names: names}); err != nil {
				return err
			}
			if !r.AllHeld() {
				return failure{errFound}
			}
			return nil
		},
	}
}

// reportRows returns a report for people.
func reportRows(r *proof.Report) []string {
	rows := []string{"SYSTEM\t" + machineText(r.Machine), "KIT\t" + r.Kit.Version + ", SHA-256 " + r.Kit.SHA256,
		"BEGUN\t" + r.Begun.Format("2006-01-02 15:04:05 MST") + fmt.Sprintf(", took %.0f s", r.Seconds)}
	if r.Interrupted {
		rows = append(rows, "ENDED\tearly")
	}
	for _, left := range r.Left {
		rows = append(rows, "LEFT\t"+left)
	}
	for _, f := range r.Found {
		rows = append(rows, "FOUND\t"+f.Name+": "+f.Text)
	}
	rows = append(rows, fmt.Sprintf("PARTS\t%v", r.Counts()))
	for _, p := range r.Parts {
		if p.Verdict == proof.NotRun && p.Reason == "" {
			continue
		}
		rows = append(rows, "PART\t"+partText(p))
		for _, check := range p.Checks {
			if check.Verdict == proof.Failed {
				rows = append(rows, "FAILED\t"+strings.TrimSuffix(p.Name+" "+check.Test+": "+check.Reason, ": "))
			}
		}
	}
	for _, answer := range r.Answers {
		rows = append(rows, "ANSWER\t"+answer.Question+" "+answer.Text, "\t"+answer.Said())
	}
	return append(rows, fmt.Sprintf("CALLS\t%d kernel calls are recorded, %d were left out", len(r.Calls), r.CallsLeftOut))
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

func proveDiff(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "diff FILE OTHER",
		Short: "Show how two reports of csi-proxy-prove differ",
		Long: `Show how two reports of csi-proxy-prove differ: parts, checks and methods with other verdicts, and other
answers. Times, and the texts of failures, do not count. No agent is asked. The exit code is 0 if nothing differs, else
1.`,
		RunE: func(c *cobra.Command, args []string) error {
			one, err := readReport(args[0])
			if err != nil {
				return err
			}
			other, err := readReport(args[1])
			if err != nil {
				return err
			}
			differences := append([]proof.Difference{}, proof.Diff(one, other)...)
			rows := []string{"WHAT\t" + machineText(one.Machine) + "\t" + machineText(other.Machine)}
			names := []string{}
			for _, d := range differences {
				rows, names = append(rows, d.What+"\t"+d.One+"\t"+d.Other), append(names, d.What)
			}
			if len(differences) == 0 {
				rows = []string{"Nothing differs."}
			}
			if err := a.printAnswer(c, answer{value: map[string]any{"differences": differences}, rows: rows,
				names: names}); err != nil {
				return err
			}
			if len(differences) > 0 {
				return failure{errFound}
			}
			return nil
		},
	}
}
