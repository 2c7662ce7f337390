// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

func doctorCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this node, and what to do",
		Long: `Say what is wrong with this node, and what to do.

It looks at the agent's endpoints and their versions, services, the agent's privileges, disks, volumes, mount points and
links, SMB mappings, iSCSI sessions, and operations that hang, and changes nothing. If the agent has no admin endpoint, it uses what the storage
API shows, and lists what is missing. The exit code is 0 if nothing is worse than a note, else 1.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := adminclient.CheckPlace(a.socketDir); err != nil {
				return err
			}
			ctx, cancel := a.limited(c.Context())
			defer cancel()
			stop := showProgress(c.ErrOrStderr(), "examining the node")
			facts, missing := a.facts(ctx)
			stop()
			findings := doctor.Examine(facts)
			if err := a.printFindings(c, findings, missing); err != nil {
				return err
			}
			if doctor.Bad(findings) {
				return failure{errFound}
			}
			return nil
		},
	}
}

func (a *connection) printFindings(c *cobra.Command, findings []doctor.Finding, missing []string) error {
	if a.output == outputTable {
		_, err := io.WriteString(c.OutOrStdout(), findingsText(findings, missing))
		return err
	}
	return a.print(c, struct {
		Findings []doctor.Finding `json:"findings"`
		Missing  []string         `json:"missing"`
	}{append([]doctor.Finding{}, findings...), append([]string{}, missing...)})
}

// findingsText writes the findings for people.
func findingsText(findings []doctor.Finding, missing []string) string {
	var text strings.Builder
	line := func(format string, args ...any) { text.WriteString(printable(fmt.Sprintf(format, args...)) + "\n") }
	counts := map[doctor.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		line("%-8s %s", strings.ToUpper(string(f.Severity)), f.What)
		for _, e := range f.Evidence {
			line("         %s", e)
		}
		for i, do := range f.Do {
			line("         %s %s", map[bool]string{true: "Do:", false: "   "}[i == 0], do)
		}
		text.WriteByte('\n')
	}
	for i, what := range missing {
		if i == 0 {
			line("Not looked at:")
		}
		line("  %s", what)
		if i == len(missing)-1 {
			text.WriteByte('\n')
		}
	}
	if len(findings) == 0 {
		line("Nothing is wrong.")
		return text.String()
	}
	line("%s, %s, %s.", count(counts[doctor.Problem], "problem"), count(counts[doctor.Warning], "warning"), count(counts[doctor.Note], "note"))
	return text.String()
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
