// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kubernetes-csi/csi-proxy/internal/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

func policyCommand(a *connection) *cobra.Command {
	return group("policy", "Check and write the file of csi-proxy -policy", policyTest(a), policySuggest(a))
}

// question is a call that a policy is asked about: the caller, the method, and what the request names.
type question struct {
	client, paths, services, shares, portals, targets []string
	method                                            string
}

func policyTest(a *connection) *cobra.Command {
	q := question{}
	c := a.command("test", "Check a policy, and show which rule allows or refuses a call", "FILE")
	c.Long = c.Short + `. No agent is asked.

Without --client, the rules are listed. With it, the command shows what the client's rule says to every method of the
API, or to the one of --method and to what its request names. A call that is refused ends with exit code 5.`
	c.Example = `  csi-proxyctl policy test policy.yaml
  csi-proxyctl policy test policy.yaml --client sid=S-1-5-18 --client elevated=true
  csi-proxyctl policy test policy.yaml --client uid=1000 --method volume/v1/MountVolume --path 'C:\var\lib\kubelet'`
	c.RunE = func(c *cobra.Command, args []string) error { return a.testPolicy(c, args[0], q) }
	flags := c.Flags()
	flags.StringArrayVar(&q.client, "client", nil,
		"what the system says of the client, `FIELD=VALUE`: uid, cgroup, sid, elevated, image or container; may be repeated")
	flags.StringVar(&q.method, "method", "", "`GROUP/VERSION/METHOD` that is called, such as volume/v1/FormatVolume")
	flags.StringArrayVar(&q.paths, "path", nil, "Windows `path` that the request names; may be repeated")
	flags.StringArrayVar(&q.services, "service", nil, "Windows `service` that the request names")
	flags.StringArrayVar(&q.shares, "share", nil, "`path` on a file server that the request names")
	flags.StringArrayVar(&q.portals, "portal", nil, "`address` of an iSCSI portal that the request names")
	flags.StringArrayVar(&q.targets, "target", nil, "iSCSI `target` that the request names")
	return c
}

func (a *connection) testPolicy(c *cobra.Command, file string, q question) error {
	p, err := policy.Read(file)
	if err != nil {
		return failure{err}
	}
	for _, warning := range p.Warnings(winpath.WorkingDirs{}) {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "warning: %s\n", printable.Text(warning))
	}
	if err := policy.Guard(file); err != nil {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "warning: an agent here would not start with it: %s\n",
			printable.Text(err.Error()))
	}
	if len(q.client) == 0 {
		if q.method != "" {
			return errors.New("--method needs the caller as well: --client uid=1000")
		}
		return a.printRules(c, p)
	}
	peer, err := policy.ParseClient(q.client)
	if err != nil {
		return err
	}
	if q.method == "" {
		return a.printMethods(c, p, peer)
	}
	return a.ask(c, p, peer, q)
}

func (a *connection) printRules(c *cobra.Command, p *policy.Policy) error {
	var all []policy.Summary
	rows := []string{"LINE\tRULE\tCLIENTS\tMETHODS\tBELOW\tOTHER"}
	for _, r := range p.Rules() {
		s := r.Summary()
		all = append(all, s)
		rows = append(rows, strings.Join([]string{
			fmt.Sprint(s.Line), s.Name, strings.Join(s.Clients, "; "), strings.Join(s.Methods, " "),
			cmp.Or(strings.Join(s.Directories, " "), "-"), cmp.Or(strings.Join(s.Others, " "), "-"),
		}, "\t"))
	}
	return a.print(c, map[string][]policy.Summary{"rules": all}, rows...)
}

// methodRow is what a policy says to a client's call of a method.
type methodRow struct {
	Method  string `json:"method"`
	Allowed bool   `json:"allowed"`
}

// printMethods prints what the policy says to all methods.
func (a *connection) printMethods(c *cobra.Command, p *policy.Policy, peer transport.Peer) error {
	r, err := p.RuleOf(peer)
	if err != nil {
		return failure{refused{err}}
	}
	var all []methodRow
	rows := []string{"METHOD\tRULE " + r.Name()}
	for _, path := range policy.Methods() {
		row := methodRow{policy.Written(path), r.Method(path) == nil}
		all = append(all, row)
		rows = append(rows, row.Method+"\t"+map[bool]string{true: "allows", false: "refuses"}[row.Allowed])
	}
	return a.print(c, map[string]any{"rule": r.Name(), "methods": all}, rows...)
}

// ask prints what the policy says to one call.
func (a *connection) ask(c *cobra.Command, p *policy.Policy, peer transport.Peer, q question) error {
	path, err := policy.ParseMethod(q.method)
	if err != nil {
		return err
	}
	r, err := p.RuleOf(peer)
	if err != nil {
		return failure{refused{err}}
	}
	errs := []error{r.Method(path)}
	for m, texts := range map[policy.Meaning][]string{
		policy.Path: q.paths, policy.Share: q.shares, policy.Service: q.services, policy.Portal: q.portals,
		policy.Target: q.targets,
	} {
		for _, text := range texts {
			errs = append(errs, r.Names(m, text))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return failure{refused{err}}
	}
	return a.print(c, map[string]any{"allowed": true, "rule": r.Name(), "line": r.Line()},
		fmt.Sprintf("allowed by the rule %q, line %d", r.Name(), r.Line()))
}

func policySuggest(a *connection) *cobra.Command {
	c := a.command("suggest", "Write a policy that allows what an audit log shows, and no more", "AUDITLOG")
	c.Long = c.Short + `, to standard output. No agent is asked.

Each caller in the log gets a rule with the methods that it called, the directories of its paths, and the services and
servers that it named. Calls that were refused are left out, and so are the names in calls that failed, and names with a
*. Let the log run until every driver has made, mounted, grown and removed a volume, read the result, and give the rules
names.`
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return failure{err}
		}
		defer file.Close()
		s, err := suggestPolicy(file)
		if err != nil {
			return failure{fmt.Errorf("%s: %w", args[0], err)}
		}
		if s.leftOut > 0 {
			_, _ = fmt.Fprintf(c.ErrOrStderr(),
				"left out: %d calls that were refused or malformed, or whose caller is not in the log\n", s.leftOut)
		}
		if s.namesLeftOut > 0 {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "left out: %d names in calls that failed, or with a *\n", s.namesLeftOut)
		}
		if len(s.rules) == 0 {
			return failure{fmt.Errorf("%s: no call of the storage API is in it that a policy could allow", args[0])}
		}
		text, err := s.text()
		if err != nil {
			return failure{err}
		}
		if a.output.form == outputJSON || a.output.form == outputJSONPath {
			value, err := yaml.YAMLToJSON(text)
			if err != nil {
				return failure{err}
			}
			return a.printValue(c, json.RawMessage(value))
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	}
	return c
}
