// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// output is the form in which a command prints its answer.
type output string

const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
)

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "format" }

func (o *output) Set(text string) error {
	switch text {
	case outputTable, outputJSON, outputYAML:
		*o = output(text)
		return nil
	}
	return fmt.Errorf("the output %q is unknown; use table, json or yaml", text)
}

// print prints a command's answer, unless it is empty: the rows as a table, or the value as JSON or YAML.
func (a *connection) print(c *cobra.Command, value any, rows ...string) error {
	if value == nil {
		return nil
	}
	if a.output == outputTable {
		return printTable(c.OutOrStdout(), rows)
	}
	text, err := a.encode(value, "  ")
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

// encode returns a value as JSON, or as YAML with the fields in the same order.
func (a *connection) encode(value any, indent string) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch {
	case a.output == outputYAML:
		return toYAML(text)
	case indent == "":
		err = json.Compact(&out, text)
	default:
		err = json.Indent(&out, text, "", indent)
	}
	out.WriteByte('\n')
	return out.Bytes(), err
}

// toYAML rewrites JSON, which is YAML in another style, in YAML's usual style.
func toYAML(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	plain(&document)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&document)
	return out.Bytes(), errors.Join(err, encoder.Close())
}

// plain removes JSON's style; the encoder still quotes texts that need it.
func plain(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, below := range n.Content {
		plain(below)
	}
}

// printTable prints rows of cells that tabs separate.
func printTable(w io.Writer, rows []string) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, printable(row)+"\n") // a Builder does not fail
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

// printable replaces control characters, so that the names of devices and servers cannot steer the terminal.
func printable(row string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return '?'
		}
		return r
	}, row)
}
