// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// wrong returns the error of a value.
func wrong(n *yaml.Node, format string, args ...any) *ScenarioError {
	return &ScenarioError{Line: n.Line, Problem: fmt.Sprintf(format, args...)}
}

// parseYAML returns the values of a file with their lines.
func parseYAML(text []byte) (*yaml.Node, *ScenarioError) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &ScenarioError{Problem: "it is empty"}
	case err != nil:
		return nil, syntaxProblem(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, wrong(&second, "a second document begins; a scenario must be a single one")
	case !errors.Is(err, io.EOF):
		return nil, syntaxProblem(err)
	}
	return document.Content[0], nil
}

// maxListItems is the maximal length of a list: a bus has no more addresses.
const maxListItems = 256

// walk visits a value and those inside it with their paths, such as disks[0].size, until one is found.
func walk(n *yaml.Node, path string, visit func(n *yaml.Node, path string) (found bool)) bool {
	found := visit(n, path)
	for i, c := range n.Content {
		switch {
		case found:
		case n.Kind == yaml.SequenceNode:
			found = walk(c, fmt.Sprintf("%s[%d]", path, i), visit)
		case i%2 == 1:
			found = walk(c, strings.TrimPrefix(path+"."+n.Content[i-1].Value, "."), visit)
		}
	}
	return found
}

// unsuitable finds YAML that scenarios do not support. The error does not contain the values: they may be secret.
func unsuitable(root *yaml.Node) (problem *ScenarioError) {
	walk(root, "", func(n *yaml.Node, path string) bool {
		path = cmp.Or(path, "the file")
		switch {
		case n.Kind == yaml.AliasNode || n.Anchor != "":
			problem = wrong(n, "%s is an anchor or alias (* or &), which scenarios do not support; a text needs quotes", path)
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
			problem = wrong(n, "%s has no value; give one or leave it out", path)
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float":
			problem = wrong(n, "%s is a number with a fraction; a text needs quotes", path)
		case n.Kind == yaml.SequenceNode && len(n.Content) > maxListItems:
			problem = wrong(n, "%s has more than %d elements", path, maxListItems)
		}
		return problem != nil
	})
	return problem
}

// child returns the value at the given keys and indices, nil if there is none.
func child(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		i := -1
		switch step := step.(type) {
		case int:
			i = step
		case string:
			for at := 0; n.Kind == yaml.MappingNode && at+1 < len(n.Content); at += 2 {
				if n.Content[at].Value == step {
					i = at + 1
				}
			}
		}
		if i < 0 || i >= len(n.Content) {
			return nil
		}
		n = n.Content[i]
	}
	return n
}

// nodeOf returns the value that an error of Scenario.Check refers to.
func nodeOf(root *yaml.Node, err error) *yaml.Node {
	var at *elementError
	if errors.As(err, &at) {
		if n := child(root, at.path...); n != nil {
			return n
		}
	}
	return root
}

// The decoder's errors.
var (
	unknownKey = regexp.MustCompile(`(?s)^line (\d+): field (.*) not found in type (\S+)$`)
	twiceKey   = regexp.MustCompile(`(?s)^line (\d+): (?:field|mapping key) (.*) already (?:set|defined)`)
	wrongType  = regexp.MustCompile("(?s)^line (\\d+): cannot unmarshal (\\S+)(?: `(.*?)(\\.\\.\\.)?`)? into (\\S+)$")
)

// decodeProblem translates the decoder's error into the terms of a scenario. The decoder's own text contains the value,
// which may be secret.
func decodeProblem(root *yaml.Node, err error) *ScenarioError {
	var own *ScenarioError
	var all *yaml.TypeError
	if errors.As(err, &own) {
		return own
	}
	if !errors.As(err, &all) {
		return wrong(root, "a value does not fit its tag; a text that begins with a special character needs quotes")
	}
	if m := unknownKey.FindStringSubmatch(all.Errors[0]); m != nil {
		return &ScenarioError{Line: number(m[1]), Problem: fmt.Sprintf("unknown key %q; the keys are %s", m[2],
			strings.Join(fileKeys()[m[3]], ", "))}
	}
	if m := twiceKey.FindStringSubmatch(all.Errors[0]); m != nil {
		return &ScenarioError{Line: number(m[1]), Problem: fmt.Sprintf("the key %s appears twice", m[2])}
	}
	if m := wrongType.FindStringSubmatch(all.Errors[0]); m != nil {
		problem := &ScenarioError{Line: number(m[1])}
		walk(root, "", func(n *yaml.Node, path string) bool {
			if n.Line == problem.Line && n.ShortTag() == m[2] &&
				(n.Value == m[3] || m[4] != "" && strings.HasPrefix(n.Value, m[3])) {
				problem.Problem = fmt.Sprintf("%s must be %s", cmp.Or(path, "the file"), form(m[5]))
			}
			return false // the innermost one counts
		})
		return problem
	}
	return wrong(root, "it is not a scenario")
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // 0 when there are none
	return n
}

// form returns how a file writes a Go type.
func form(goType string) string {
	switch goType {
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "uint8":
		return "a whole number from 0 to 255"
	case "uint16":
		return "a whole number from 0 to 65535"
	case "uint32":
		return "a whole number from 0 to 4294967295"
	case "int":
		return "a whole number"
	}
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	return "a mapping of keys to values"
}

// fileKeys returns the keys of each mapping of a scenario file, by its Go type.
func fileKeys() map[string][]string {
	all := map[string][]string{}
	var collect func(t reflect.Type)
	collect = func(t reflect.Type) {
		if t.Kind() == reflect.Slice {
			collect(t.Elem())
			return
		}
		if t.Kind() != reflect.Struct || all[t.String()] != nil {
			return
		}
		for i := range t.NumField() {
			field := t.Field(i)
			key, inline, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if key == "-" || key == "" && inline == "" {
				continue
			}
			collect(field.Type)
			if inline != "" {
				all[t.String()] = append(all[t.String()], all[field.Type.String()]...)
			} else {
				all[t.String()] = append(all[t.String()], key)
			}
		}
	}
	collect(reflect.TypeFor[Scenario]())
	collect(reflect.TypeFor[serviceFile]())
	collect(reflect.TypeFor[identifierFile]())
	return all
}

// syntaxProblem returns the line and the text of the YAML parser's error. The text is used only if it quotes nothing
// from the file: a password without quotes may look like an alias, whose name the parser quotes.
func syntaxProblem(err error) *ScenarioError {
	found := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`).FindStringSubmatch(err.Error())
	if found == nil {
		return &ScenarioError{Problem: "it is not YAML"}
	}
	line := number(found[1])
	if expected, ok := strings.CutPrefix(found[2], "did not find expected "); ok {
		// These come from the grammar, which counts lines from 0; the others come from the scanner and count from 1.
		if slices.Contains([]string{"key", "node content", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>"},
			expected) {
			line++
		}
		return &ScenarioError{Line: line, Problem: found[2]}
	}
	return &ScenarioError{Line: line, Problem: "it is not YAML; a text that begins with a special character needs quotes"}
}
