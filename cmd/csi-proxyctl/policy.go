// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"sigs.k8s.io/yaml"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

func policyCommand(a *connection) *cobra.Command {
	return group("policy", "Check and write the file of csi-proxy -policy", policyTest(a), policySuggest(a))
}

func policyTest(a *connection) *cobra.Command {
	c := a.command("test", "Check a policy, and show which rule allows or refuses a call", "FILE")
	c.Long = c.Short + `. No agent is called.

Without --client, the command lists the rules. With --client, it shows which methods of the API the client's rule
allows, or whether the rule allows the call of --method and the names in its request. A refused call ends with exit
code 5.`
	c.Example = `  csi-proxyctl policy test policy.yaml
  csi-proxyctl policy test policy.yaml --client sid=S-1-5-18 --client elevated=true
  csi-proxyctl policy test policy.yaml --client uid=1000 --method volume/v1/MountVolume --path 'C:\var\lib\kubelet'`
	flags := c.Flags()
	dirs := flags.StringArray("working-dir", []string{`C:\var\lib\kubelet`},
		"`directory` below which the agent works, as its flags -kubelet-path and -working-dir say; may be repeated")
	client := flags.StringArray("client", nil, "a property of the client, `FIELD=VALUE`: uid, cgroup, sid, elevated, "+
		"image or container; may be repeated")
	method := flags.String("method", "", "`GROUP/VERSION/METHOD` that is called, such as volume/v1/FormatVolume")
	names := map[node.Meaning]*[]string{
		node.NamesPath:    flags.StringArray("path", nil, "Windows `path` that the request names; may be repeated"),
		node.NamesService: flags.StringArray("service", nil, "Windows `service` that the request names"),
		node.NamesShare:   flags.StringArray("share", nil, "`path` on a file server that the request names"),
		node.NamesPortal:  flags.StringArray("portal", nil, "`address` of an iSCSI portal that the request names"),
		node.NamesTarget:  flags.StringArray("target", nil, "iSCSI `target` that the request names"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		working, err := winpath.NewWorkingDirs(*dirs)
		if err != nil {
			return err
		}
		p, err := readPolicy(args[0], working, c.ErrOrStderr())
		switch {
		case err != nil:
			return failure{err}
		case len(*client) == 0 && *method != "":
			return errors.New("--method needs the caller as well: --client uid=1000")
		case len(*client) == 0:
			return a.printRules(c, p)
		}
		peer, err := parseClient(*client)
		if err != nil {
			return err
		}
		r, err := p.RuleOf(peer)
		if err != nil {
			return failedWith(codes.PermissionDenied, err.Error())
		}
		if *method == "" {
			return a.printMethods(c, r)
		}
		path, err := parseMethod(*method)
		if err != nil {
			return err
		}
		refusals := []error{r.Method(path)}
		for meaning, texts := range names {
			for _, text := range *texts {
				refusals = append(refusals, r.Names(meaning, text))
			}
		}
		if err := errors.Join(refusals...); err != nil {
			return failedWith(codes.PermissionDenied, err.Error())
		}
		return a.printAnswer(c, answer{value: map[string]any{"allowed": true, "rule": r.Name(), "line": r.Line},
			rows: []string{fmt.Sprintf("allowed by the rule %q, line %d", r.Name(), r.Line)}})
	}
	return c
}

func readPolicy(file string, working winpath.WorkingDirs, stderr io.Writer) (*policy.Policy, error) {
	path, err := filepath.EvalSymlinks(file) // the path may be a link, as in a container
	if err != nil {
		return nil, err
	}
	p, err := policy.Read(path) // whatever accounts may change it
	if err != nil {
		return nil, err
	}
	warnings := outside(p, working)
	if err := policy.Guard(file); err != nil {
		warnings = append(warnings, "an agent here would not start with it: "+err.Error())
	}
	for _, warning := range warnings {
		_, _ = fmt.Fprintf(stderr, "warning: %s\n", terminal.Text(warning))
	}
	return p, nil
}

// outside names the directories of rules outside every working directory, where calls are refused all the same.
func outside(p *policy.Policy, working winpath.WorkingDirs) (warnings []string) {
	for _, r := range p.Rules() {
		for _, text := range summaryOf(r).Directories {
			dir, err := winpath.NewWorkingDirs([]string{text})
			if err != nil || len(working.Dirs()) == 0 {
				continue
			}
			_, _, inside := working.Find(dir.Dirs()[0])
			if !inside && !slices.ContainsFunc(working.Dirs(), func(w winpath.Path) bool {
				_, _, below := dir.Find(w)
				return below
			}) {
				warnings = append(warnings, fmt.Sprintf("line %d: the rule %q allows %s, which is in no working directory: calls "+
					"are refused there; see -working-dir", r.Line, r.Name(), text))
			}
		}
	}
	return warnings
}

// parseClient reads what the system says of a client, each text a FIELD=VALUE. On Windows, a client is not in a
// container unless one is named.
func parseClient(texts []string) (transport.Peer, error) {
	var peer transport.Peer
	for _, text := range texts {
		field, value, ok := strings.Cut(text, "=")
		var err error
		switch field {
		case "uid":
			var uid uint64
			uid, err = strconv.ParseUint(value, 10, 31)
			peer.UID = new(int(uid))
		case "sid":
			peer.SID = value
			_, err = win32.ParseSID(value)
		case "elevated":
			peer.Elevated, err = strconv.ParseBool(value)
		case "image":
			peer.Image = value
		case "container", "cgroup":
			peer.Container = value
		default:
			ok = false
		}
		if !ok || err != nil || value == "" {
			return peer, fmt.Errorf("%q is not what the system says of a client, such as uid=1000, cgroup=/kubepods/a, "+
				"sid=S-1-5-18, elevated=true, image=C:\\driver.exe or container=none", text)
		}
	}
	if peer.UID == nil && peer.Container == "" {
		peer.Container = transport.NoContainer
	}
	return peer, nil
}

// parseMethod returns the path on the wire of a method, GROUP/VERSION/METHOD.
func parseMethod(text string) (path string, err error) {
	m, err := policy.ParseMask(text)
	if err != nil {
		return "", err
	}
	all := slices.DeleteFunc(faults.Methods(), func(path string) bool { return !m.Match(path) })
	if len(all) != 1 {
		return "", fmt.Errorf("%q is not one method of the API, such as volume/v1/FormatVolume", text)
	}
	return all[0], nil
}

func (a *connection) printRules(c *cobra.Command, p *policy.Policy) error {
	found := answer{value: map[string]any{"rules": namesOf(p.Rules(), summaryOf)}, names: []string{},
		rows: []string{"LINE\tRULE\tCLIENTS\tMETHODS\tBELOW\tOTHER"}}
	for _, r := range p.Rules() {
		s := summaryOf(r)
		found.names = append(found.names, fmt.Sprint(s.Line))
		columns := [][]string{{fmt.Sprint(s.Line)}, {s.Name}, s.Clients, wrapped(s.Methods), s.Directories, s.Others}
		for row := 0; row == 0 || slices.ContainsFunc(columns, func(of []string) bool { return row < len(of) }); row++ {
			texts := make([]string, len(columns))
			for i, of := range columns {
				if row < len(of) {
					texts[i] = of[row]
				} else if row == 0 {
					texts[i] = "-"
				}
			}
			found.rows = append(found.rows, strings.Join(texts, "\t"))
		}
	}
	return a.printAnswer(c, found)
}

// wrapped joins words to lines that leave room for the other columns of a table.
func wrapped(words []string) (lines []string) {
	const width = 40
	for _, word := range words {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func (a *connection) printMethods(c *cobra.Command, r *policy.Rule) error {
	found := table("methods", "METHOD\tRULE "+r.Name(), faults.Methods(), func(path string) (any, []any) {
		method, allowed := policy.Written(path), r.Method(path) == nil
		return map[string]any{"method": method, "allowed": allowed}, []any{method, choose(allowed, "allows", "refuses")}
	})
	found.value.(map[string]any)["rule"] = r.Name()
	return a.printAnswer(c, found)
}

func policySuggest(a *connection) *cobra.Command {
	c := a.command("suggest", "Write a policy that allows what an audit log shows, and no more", "AUDITLOG")
	c.Long = c.Short + `, to standard output. No agent is called.

Each caller in the log gets a rule with the methods that it called, the directories of its paths, and the services and
servers that it named. The policy leaves out calls that were refused, names in calls that failed, and names with a *.
Let the log run until every driver has made, mounted, grown and removed a volume. Then read the result and name the
rules.`
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := plainfile.Open(args[0], os.O_RDONLY)
		if err != nil {
			return failure{err}
		}
		defer file.Close()
		s, err := suggestPolicy(file)
		if err == nil && len(s.rules) == 0 {
			err = errors.New("no call of the storage API is in it that a policy could allow")
		}
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
		text, err := s.text()
		if err != nil {
			return failure{err}
		}
		if a.output == outputJSON {
			value, err := yaml.YAMLToJSON(text)
			if err != nil {
				return failure{err}
			}
			return a.printAnswer(c, answer{value: json.RawMessage(value)})
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	}
	return c
}
