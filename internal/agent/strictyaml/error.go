// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// An Error is a mistake in a file and its place.
type Error struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// A pathError is the error of a value inside a file.
type pathError struct {
	path []any // fields and indices
	err  error
}

// At adds the place inside a file to an error, such as "rules", 3, "name"; nil stays nil.
func At(err error, path ...any) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*pathError); ok { //nolint:errorlint // a wrapped one has its own text
		return &pathError{append(slices.Clone(path), inner.path...), inner.err}
	}
	return &pathError{path, err}
}

func (e *pathError) Error() string {
	text := ""
	for _, step := range e.path {
		if i, ok := step.(int); ok {
			text += fmt.Sprintf("[%d]", i)
		} else {
			text += "." + plain(fmt.Sprint(step))
		}
	}
	return strings.TrimPrefix(text, ".") + ": " + e.err.Error()
}

// plain returns a name as it is, or quoted if a terminal would not show it so.
func plain(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

func (e *pathError) Unwrap() error { return e.err }

// A Document is a file that was read.
type Document struct {
	name string
	root *yaml.Node
}

// Error adds the file and the line to an error of At; nil stays nil.
func (d *Document) Error(err error) error {
	if err == nil {
		return nil
	}
	var path []any
	if at, ok := errors.AsType[*pathError](err); ok {
		path = at.path
	}
	return &Error{d.name, d.Line(path...), err.Error()}
}

// Line returns the line of a value, or of the innermost one around it that there is.
func (d *Document) Line(path ...any) int { line, _ := d.find(path); return line }

// Has reports whether the file has a value.
func (d *Document) Has(path ...any) bool { _, found := d.find(path); return found }

// find returns the line of a value; that of a mapping's field is where its name is.
func (d *Document) find(path []any) (line int, found bool) {
	n, line := d.root, d.root.Line
	for _, step := range path {
		var next *yaml.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
				line = next.Line
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next = n.Content[i+1]
					line = n.Content[i].Line
				}
			}
		}
		if next == nil {
			return line, false
		}
		n = next
	}
	return line, true
}
