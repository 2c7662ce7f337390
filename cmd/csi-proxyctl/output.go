// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sigs.k8s.io/yaml"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

// output is the form in which a command prints its answer.
type output string

const (
	outputTable output = "table"
	outputWide  output = "wide"
	outputName  output = "name"
	outputJSON  output = "json"
	outputYAML  output = "yaml"
	outputNPD   output = "npd" // of doctor alone
)

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "format" }

func (o *output) Set(text string) error {
	if slices.Contains([]output{outputTable, outputWide, outputName, outputJSON, outputYAML, outputNPD}, output(text)) {
		*o = output(text)
		return nil
	}
	return fmt.Errorf("the output %q is unknown; use table, wide, name, json or yaml", text)
}

// forPeople reports whether the output is a table.
func (o output) forPeople() bool { return o == outputTable || o == outputWide }

func (a *connection) printAnswer(c *cobra.Command, found answer) error {
	text, err := a.render(c, found)
	_, failed := io.WriteString(c.OutOrStdout(), text)
	return cmp.Or(err, failed)
}

// render returns an answer as text. Of a change, a table has nothing, and other forms have the command and its
// arguments. A list that lacks what Windows did not answer comes with an error.
func (a *connection) render(c *cobra.Command, found answer) (text string, err error) {
	if found.value == nil {
		if a.output.forPeople() {
			return "", nil
		}
		found = a.changed(c)
	}
	if list, is := found.value.(map[string]any); is && found.lists {
		list["unknown"] = append([]string{}, a.gaps...)
	}
	switch a.output {
	case outputTable, outputWide:
		rows := found.rows
		if a.output == outputWide && found.wide != nil {
			rows = found.wide
		}
		if a.noHeaders && len(rows) > 0 && strings.Contains(rows[0], "\t") {
			rows = rows[1:]
		}
		text = tableText(rows)
	case outputName:
		text, err = namesText(c, found)
	default:
		text, err = a.encode(found.value, "  ")
	}
	if err == nil && found.lists && len(a.gaps) > 0 {
		err = failedWith(codes.Unavailable,
			"this is incomplete: "+strings.Join(a.gaps, "; ")+"; csi-proxyctl doctor shows what hangs")
	}
	return text, err
}

// changed returns the answer of a change in the forms for programs.
func (a *connection) changed(c *cobra.Command) answer {
	value := map[string]any{"done": strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")}
	args := c.Flags().Args()
	for i, arg := range args {
		value[a.takes[c][i].json] = arg
	}
	return answer{value: value, names: append([]string{}, args[:min(1, len(args))]...)}
}

// namesText returns the names of an answer's objects, one per line, in the form that other commands take.
func namesText(c *cobra.Command, found answer) (string, error) {
	names := found.names
	if names == nil && len(found.rows) == 0 {
		return "", fmt.Errorf("%s has no names to print; use -o json or yaml", c.CommandPath())
	}
	for i, row := range found.rows {
		name, _, cut := strings.Cut(row, "\t")
		if found.names == nil && (i > 0 || !cut) { // the first row with cells has the heads
			names = append(names, name)
		}
	}
	return terminal.Text(strings.Join(append(names, ""), "\n")), nil
}

// printOne prints one value of a stream: a line, a name, JSON in one line, or a YAML document.
func (a *connection) printOne(c *cobra.Command, line, name string, value any) error {
	text := terminal.Text(line) + "\n"
	switch {
	case a.output == outputName:
		text = name + "\n"
	case !a.output.forPeople():
		var err error
		if text, err = a.encode(value, ""); err != nil {
			return err
		}
		if a.output == outputYAML {
			text = "---\n" + text
		}
	}
	_, err := io.WriteString(c.OutOrStdout(), text)
	return err
}

// encode returns a value as JSON or as YAML. Its error is a failure.
func (a *connection) encode(value any, indent string) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", failure{err}
	}
	if a.output == outputYAML {
		text, err = yaml.JSONToYAML(printable.JSON(text)) // its parser refuses control characters
		if err != nil {
			return "", failure{err}
		}
		return terminal.Text(string(text)), nil
	}
	if indent == "" {
		return string(printable.JSON(text)) + "\n", nil
	}
	var out bytes.Buffer
	_ = json.Indent(&out, text, "", indent) // text is JSON
	return string(printable.JSON(out.Bytes())) + "\n", nil
}

// tableText returns rows of cells that tabs separate as lines of a table.
func tableText(rows []string) string {
	var out, lines strings.Builder // which do not fail
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, terminal.Text(row)+"\n")
	}
	_ = table.Flush()
	for line := range strings.Lines(out.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return lines.String()
}

// A message has the JSON form of this program's own values: names in camel case, every field, and, unlike ProtoJSON,
// numbers for 64-bit integers and words for enums.
type message struct{ proto.Message }

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) {
	of := m.ProtoReflect()
	if strings.HasPrefix(string(of.Descriptor().FullName()), "google.protobuf.") {
		return protojson.Marshal(m.Message)
	}
	var members [][]byte
	for i := range of.Descriptor().Fields().Len() {
		field := of.Descriptor().Fields().Get(i)
		if field.ContainingOneof() != nil && !of.Has(field) {
			continue
		}
		text, err := json.Marshal(fieldValue(field, of))
		if err != nil {
			return nil, err
		}
		members = append(members, fmt.Appendf(nil, "%q:%s", field.JSONName(), text))
	}
	return fmt.Appendf(nil, "{%s}", bytes.Join(members, []byte(","))), nil
}

// fieldValue returns the value of a field for package json.
func fieldValue(field protoreflect.FieldDescriptor, m protoreflect.Message) any {
	if field.IsList() {
		list := make([]any, m.Get(field).List().Len())
		for i := range list {
			list[i] = plainValue(field, m.Get(field).List().Get(i))
		}
		return list
	}
	if field.Message() != nil && !m.Has(field) {
		return nil
	}
	return plainValue(field, m.Get(field))
}

func plainValue(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch v := value.Interface().(type) {
	case protoreflect.Message:
		return message{v.Interface()}
	case protoreflect.EnumNumber:
		if word := enumWord(field.Enum(), v); word != "unspecified" {
			return word
		}
		return nil
	default:
		return v
	}
}

// innerCapital matches the beginning of each further word in the name of an enum.
var innerCapital = regexp.MustCompile(`\B[A-Z]`)

// enumWord returns the word for a value of an enum: "start-pending" for SERVICE_STATE_START_PENDING of ServiceState.
func enumWord(enum protoreflect.EnumDescriptor, number protoreflect.EnumNumber) string {
	value := enum.Values().ByNumber(number)
	if value == nil {
		return ""
	}
	prefix := strings.ToUpper(innerCapital.ReplaceAllString(string(enum.Name()), "_$0")) + "_"
	name := strings.TrimPrefix(string(value.Name()), prefix)
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

func word(e protoreflect.Enum) string { return enumWord(e.Descriptor(), e.Number()) }

// words returns the words of an enum, except the first, which means unspecified.
func words(enum protoreflect.EnumDescriptor) (list []string) {
	for i := 1; i < enum.Values().Len(); i++ {
		list = append(list, enumWord(enum, enum.Values().Get(i).Number()))
	}
	return list
}
