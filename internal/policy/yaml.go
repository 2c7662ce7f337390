// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A FileError is a mistake in a policy file and its place.
type FileError struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

func (e *FileError) in(file string) error { e.File = file; return e }

// wrong returns the error of a value.
func wrong(n *yaml.Node, format string, args ...any) *FileError {
	return &FileError{Line: n.Line, Problem: fmt.Sprintf(format, args...)}
}

const (
	maxBytes = 1 << 20
	maxItems = 1000 // of a list
	maxText  = 1024 // bytes of one
)

// document returns the values of a file with their lines.
func document(text []byte) (*yaml.Node, *FileError) {
	if len(text) > maxBytes {
		return nil, &FileError{Problem: fmt.Sprintf("it has more than %d bytes", maxBytes)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, &FileError{Problem: "it is empty; a policy begins with apiVersion: " + APIVersion}
	case err != nil:
		return nil, notYAML(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, wrong(&second, "a second document begins; a policy is a single one")
	case !errors.Is(err, io.EOF):
		return nil, notYAML(err)
	}
	return first.Content[0], nil
}

// notYAML returns the parser's error, with the line that it names.
func notYAML(err error) *FileError {
	found := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`).FindStringSubmatch(err.Error())
	if found == nil {
		return &FileError{Problem: "it is not YAML"}
	}
	line, _ := strconv.Atoi(found[1]) // 0 without a line
	return &FileError{Line: line, Problem: "it is not YAML: " + found[2]}
}

// fields are the known fields of a mapping, with what reads each.
type fields map[string]func(n *yaml.Node) *FileError

// mapping reads a mapping that has no other fields, none twice, and all those that are needed.
func mapping(n *yaml.Node, what string, known fields, needed ...string) *FileError {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "%s must be a mapping of fields to values", what)
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case read == nil:
			return wrong(key, "%s has no field %q; its fields are %s", what, key.Value,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case slices.Contains(seen, key.Value):
			return wrong(key, "the field %s appears twice", key.Value)
		}
		seen = append(seen, key.Value)
		if err := read(value); err != nil {
			return err
		}
	}
	for _, name := range needed {
		if !slices.Contains(seen, name) {
			return wrong(n, "%s needs the field %s", what, name)
		}
	}
	return nil
}

// each reads a list that is not empty.
func each(n *yaml.Node, what string, read func(n *yaml.Node) *FileError) *FileError {
	switch {
	case n.Kind != yaml.SequenceNode:
		return wrong(n, "%s must be a list", what)
	case len(n.Content) == 0:
		return wrong(n, "%s is an empty list", what)
	case len(n.Content) > maxItems:
		return wrong(n, "%s has more than %d elements", what, maxItems)
	}
	for _, one := range n.Content {
		if err := read(one); err != nil {
			return err
		}
	}
	return nil
}

// scalar refuses anything but a value of one type.
func scalar(n *yaml.Node, what, tag, form string) *FileError {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.ShortTag() != tag {
		return wrong(n, "%s must be %s", what, form)
	}
	return nil
}

func text(n *yaml.Node, what string, to *string) *FileError {
	if err := scalar(n, what, "!!str",
		"a text; one that begins with a special character, such as *, needs quotes"); err != nil {
		return err
	}
	switch {
	case n.Value == "":
		return wrong(n, "%s is empty", what)
	case len(n.Value) > maxText:
		return wrong(n, "%s has more than %d bytes", what, maxText)
	case strings.ContainsFunc(n.Value, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return wrong(n, "%s has a control character", what)
	}
	*to = n.Value
	return nil
}

func texts(n *yaml.Node, what string, to *[]string, check func(string) (problem string)) *FileError {
	return each(n, what, func(n *yaml.Node) *FileError {
		var one string
		if err := text(n, "an element of "+what, &one); err != nil {
			return err
		}
		if problem := check(one); problem != "" {
			return wrong(n, "%s: %q %s", what, one, problem)
		}
		*to = append(*to, one)
		return nil
	})
}

func boolean(n *yaml.Node, what string, to *bool) *FileError {
	if err := scalar(n, what, "!!bool", "true or false"); err != nil {
		return err
	}
	*to = strings.EqualFold(n.Value, "true")
	return nil
}

func number(n *yaml.Node, what string, to *int) *FileError {
	value, err := strconv.ParseUint(n.Value, 10, 32)
	if wrongType := scalar(n, what, "!!int", "a whole number"); wrongType != nil || err != nil {
		return wrong(n, "%s must be a whole number", what)
	}
	*to = int(value)
	return nil
}

func constant(n *yaml.Node, what, want string) *FileError {
	var got string
	if err := text(n, what, &got); err != nil {
		return err
	}
	if got != want {
		return wrong(n, "%s is %q; this agent knows %s", what, got, want)
	}
	return nil
}
