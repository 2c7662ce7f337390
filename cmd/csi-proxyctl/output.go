// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kubernetes-csi/csi-proxy/internal/printable"
)

// output is the form in which a command prints its answer.
type output struct {
	form     string
	template string // for outputJSONPath
}

const (
	outputTable    = "table"
	outputWide     = "wide"
	outputName     = "name"
	outputJSON     = "json"
	outputYAML     = "yaml"
	outputJSONPath = "jsonpath"
)

func (o *output) String() string { return o.form }
func (o *output) Type() string   { return "format" }

func (o *output) Set(text string) (err error) {
	switch form, template, given := strings.Cut(text, "="); {
	case form == outputJSONPath && given:
		*o = output{form: outputJSONPath, template: template}
		_, err = expandTemplate(template, nil, true)
		return err
	case text == outputJSONPath:
		return errors.New("jsonpath needs a template: -o jsonpath='{.disks[*].serialNumber}'")
	case slices.Contains([]string{outputTable, outputWide, outputName, outputJSON, outputYAML}, text):
		*o = output{form: text}
		return nil
	}
	return fmt.Errorf("the output %q is unknown; use table, wide, name, json, yaml or jsonpath=TEMPLATE", text)
}

// forPeople reports whether the output is a table.
func (o *output) forPeople() bool { return o.form == outputTable || o.form == outputWide }

// asksMore reports whether the output has more than the agent's lists: all but a table and names.
func (o *output) asksMore() bool { return o.form != outputTable && o.form != outputName }

// print prints a command's answer: the rows as a table, or the value in another form.
func (a *connection) print(c *cobra.Command, value any, rows ...string) error {
	return a.printAnswer(c, answer{value: value, rows: rows})
}

// printAnswer prints the answer of a command. A change, which has none, is silent in a table; programs get what was
// changed.
func (a *connection) printAnswer(c *cobra.Command, found answer) error {
	if found.value == nil {
		if a.output.forPeople() {
			return nil
		}
		found = a.changed(c)
	}
	switch a.output.form {
	case outputWide:
		if found.wide != nil {
			return printTable(c.OutOrStdout(), found.wide)
		}
		return printTable(c.OutOrStdout(), found.rows)
	case outputTable:
		return printTable(c.OutOrStdout(), found.rows)
	case outputName:
		return printNames(c, found)
	}
	return a.printValue(c, found.value)
}

// printValue prints a value in a form for programs.
func (a *connection) printValue(c *cobra.Command, value any) error {
	text, err := a.encode(value, "  ")
	if err != nil {
		return failure{err}
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

// changed returns the answer of a change for programs: the command, and the arguments that it was given.
func (a *connection) changed(c *cobra.Command) answer {
	value := map[string]any{"done": strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")}
	found := answer{value: value, names: []string{}}
	for i, arg := range c.Flags().Args() {
		value[strings.ToLower(a.takes[c][i].name)] = arg
		found.names = c.Flags().Args()[:1]
	}
	return found
}

// printNames prints the names of an answer's objects, one a line, as other commands take them.
func printNames(c *cobra.Command, found answer) error {
	names := found.names
	if names == nil {
		rows := found.rows
		if len(rows) > 0 && strings.Contains(rows[0], "\t") {
			rows = rows[1:]
		} else if len(rows) == 0 {
			return fmt.Errorf("%s has no names to print; use -o json, yaml or jsonpath", c.CommandPath())
		}
		for _, row := range rows {
			name, _, _ := strings.Cut(row, "\t")
			names = append(names, name)
		}
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(c.OutOrStdout(), printable.Text(name)); err != nil {
			return err
		}
	}
	return nil
}

// printOne prints one of many values as they come: as a line, as the name that other commands take, as a line of
// JSON, or as a YAML document.
func (a *connection) printOne(c *cobra.Command, line, name string, value any) error {
	switch a.output.form {
	case outputTable, outputWide:
		_, err := fmt.Fprintln(c.OutOrStdout(), printable.Text(line))
		return err
	case outputName:
		_, err := fmt.Fprintln(c.OutOrStdout(), printable.Text(name))
		return err
	}
	text, err := a.encode(value, "")
	if err != nil {
		return failure{err}
	}
	if a.output.form == outputYAML {
		text = append([]byte("---\n"), text...)
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

// encode returns a value as JSON, as YAML or as a template has it.
func (a *connection) encode(value any, indent string) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch {
	case a.output.form == outputJSONPath:
		text, err = expandTemplate(a.output.template, text, indent == "")
		return []byte(printable.Text(string(text))), err
	case a.output.form == outputYAML:
		text, err = yaml.JSONToYAML(escaped(text)) // whose parser refuses control characters
		return []byte(printable.Text(string(text))), err
	case indent == "":
		err = json.Compact(&out, text)
	default:
		err = json.Indent(&out, text, "", indent)
	}
	out.WriteByte('\n')
	return escaped(out.Bytes()), err
}

// printTable prints rows of cells that tabs separate.
func printTable(w io.Writer, rows []string) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, printable.Text(row)+"\n") // a Builder does not fail
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// escaped returns JSON in which characters that do not print are escapes; line ends stay.
func escaped(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			b = utf8.AppendRune(b, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}
