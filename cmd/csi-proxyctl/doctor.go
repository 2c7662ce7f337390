// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
)

func doctorCommand(a *connection) *cobra.Command {
	c := a.command("doctor", "Say what is wrong with this node, and what to do")
	c.Long = c.Short + `.

It looks at the agent's endpoints and their versions, services, the agent's privileges, disks, volumes, mount points and
links, SMB mappings, iSCSI sessions, and operations that hang, and changes nothing. If the agent has no admin endpoint,
it uses what the storage API shows, and lists what is missing. The exit code is 0 if nothing is worse than a note, else
1.

-o npd prints the worst finding in one line, for a custom plugin of node-problem-detector. A note is no problem there,
and the exit code is 2 if something could not be looked at.`
	c.Example = `  csi-proxyctl doctor
  csi-proxyctl doctor -o npd --reason DanglingMountPoint,DiskOffline`
	file := c.Flags().String("bundle", "", "write what an issue needs to this zip `file`")
	logs := c.Flags().StringArray("log", nil,
		"`file` with the agent's log, or its directory, for --bundle; may be repeated (default on Windows: "+defaultLogs+")")
	reasons := c.Flags().StringSlice("reason", nil, "with -o npd, look only for findings with this `reason`; may be repeated")
	complete(c, "reason", doctor.Reasons()...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*reasons) > 0 && a.output.form != outputNPD {
			return errors.New("--reason needs -o npd")
		}
		for _, reason := range *reasons {
			if all := doctor.Reasons(); !slices.Contains(all, reason) {
				return fmt.Errorf("no finding has the reason %q%s", reason, didYouMean(reason, all))
			}
		}
		if len(*logs) > 0 && *file == "" {
			return errors.New("--log needs --bundle FILE")
		}
		if err := adminclient.CheckPlace(a.socketDir); err != nil {
			return err
		}
		ctx, cancel := a.limited(c.Context())
		defer cancel()
		stop := showProgress(c)
		facts, missing := a.facts(ctx)
		stop()
		if a.output.form == outputNPD {
			line, code := doctor.NPD(facts, *reasons)
			_, err := fmt.Fprintln(c.OutOrStdout(), line)
			return errors.Join(err, map[int]error{doctor.NPDProblem: failure{errFound}, doctor.NPDUnknown: errNotKnown}[code])
		}
		findings := doctor.Examine(facts)
		if err := a.printFindings(c, findings, missing); err != nil {
			return err
		}
		if *file != "" {
			n, err := a.writeBundle(c.Context(), *file, *logs, facts, findings, missing)
			if err != nil {
				return failure{err}
			}
			_, _ = fmt.Fprintf(c.ErrOrStderr(),
				"%s has %d files, without what looks like a secret; look through it before you publish it\n", *file, n)
		}
		if doctor.Bad(findings) {
			return failure{errFound}
		}
		return nil
	}
	return c
}

func (a *connection) printFindings(c *cobra.Command, findings []doctor.Finding, missing []string) error {
	if a.output.forPeople() {
		_, err := io.WriteString(c.OutOrStdout(), findingsText(findings, missing))
		return err
	}
	names := []string{}
	for _, f := range findings {
		names = append(names, f.Check)
	}
	return a.printAnswer(c, answer{value: struct {
		Findings []doctor.Finding `json:"findings"`
		Missing  []string         `json:"missing"`
	}{append([]doctor.Finding{}, findings...), append([]string{}, missing...)}, names: names})
}

// findingsText returns the findings for people.
func findingsText(findings []doctor.Finding, missing []string) string {
	var text strings.Builder
	line := func(format string, args ...any) {
		text.WriteString(printable.Text(fmt.Sprintf(format, args...)) + "\n")
	}
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
	line("%s, %s, %s.", count(counts[doctor.Problem], "problem"), count(counts[doctor.Warning], "warning"),
		count(counts[doctor.Note], "note"))
	return text.String()
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
