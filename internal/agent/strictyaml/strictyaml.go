// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads YAML files into structs: one document without anchors, unknown and repeated fields, or
// values of another type than their fields'. Its errors have the place of a mistake and no value, which may be secret.
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxBytes is the largest size of a file.
const MaxBytes = 1 << 20

const maxItems = 1000 // of a list

// An Unmarshaler is a value with a form of its own in files. Its method calls decode with a value to read.
type Unmarshaler interface {
	UnmarshalYAML(decode func(into any) error) error
}

// Decode reads a file into a struct, whose other fields stay as they are. The name is for errors, which are *Error.
func Decode(name string, text []byte, into any) (*Document, error) {
	d := &Document{name: name, root: &yaml.Node{}}
	if len(text) > MaxBytes {
		return nil, d.Error(fmt.Errorf("it has more than %d bytes", MaxBytes))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0 {
		return nil, d.Error(errors.New("it is empty"))
	} else if err != nil {
		return nil, d.syntax(err)
	}
	d.root = first.Content[0]
	if err := decoder.Decode(&second); err == nil {
		return nil, &Error{name, second.Line, "a second document begins; the file must be a single one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	return d, d.Error(decode(d.root, reflect.ValueOf(into).Elem()))
}

// syntax leaves out the parser's text, which may quote the file.
func (d *Document) syntax(err error) error {
	line := 0
	if placed, ok := errors.AsType[*yaml.LoadError](err); ok {
		line = placed.Mark.Line
	}
	return &Error{d.name, line, "it is not YAML; a text that begins with a special character needs quotes"}
}

func decode(n *yaml.Node, to reflect.Value) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return errors.New("it is an anchor or alias (& or *), which is not supported; a text needs quotes")
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return errors.New("it has no value; give one or leave it out")
	}
	if own, ok := to.Addr().Interface().(Unmarshaler); ok {
		return own.UnmarshalYAML(func(into any) error { return decode(n, reflect.ValueOf(into).Elem()) })
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return decode(n, to.Elem())
	case reflect.Struct:
		return decodeStruct(n, to)
	case reflect.Slice:
		return decodeSlice(n, to)
	}
	return decodeScalar(n, to)
}

func decodeStruct(n *yaml.Node, to reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("it must be a mapping of fields to values")
	}
	fields := fieldsOf(to.Type())
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if at < 0 {
			return At(fmt.Errorf("there is no such field; the fields are %s", strings.Join(Fields(to.Type()), ", ")), name)
		}
		if seen[name] {
			return At(errors.New("the field appears twice"), name)
		}
		seen[name] = true
		if err := decode(n.Content[i+1], to.FieldByIndex(fields[at].index)); err != nil {
			return At(err, name)
		}
	}
	return nil
}

// A field is one of a struct, or of a struct in it with the tag ",inline". Without a tag "yaml" it has the name that it
// has in JSON.
type field struct {
	name  string
	index []int
}

func fieldsOf(t reflect.Type) (all []field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
		switch {
		case options == "inline":
			for _, inner := range fieldsOf(f.Type) {
				all = append(all, field{inner.name, append(slices.Clone(f.Index), inner.index...)})
			}
		case name != "" && name != "-":
			all = append(all, field{name, f.Index})
		}
	}
	return all
}

// Fields returns the names of a struct's fields in a file, in their order.
func Fields(t reflect.Type) (names []string) {
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}

func decodeSlice(n *yaml.Node, to reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return errors.New("it must be a list")
	}
	if len(n.Content) > maxItems {
		return fmt.Errorf("it has more than %d elements", maxItems)
	}
	to.Set(reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		if err := decode(element, to.Index(i)); err != nil {
			return At(err, i)
		}
	}
	return nil
}

func decodeScalar(n *yaml.Node, to reflect.Value) error {
	is := func(tag string) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == tag }
	switch to.Kind() {
	case reflect.String:
		if !is("!!str") {
			return errors.New("it must be a text; a number, a date and a text with a special character need quotes")
		}
		to.SetString(n.Value)
	case reflect.Bool:
		if !is("!!bool") {
			return errors.New("it must be true or false")
		}
		to.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int64:
		number, err := strconv.ParseInt(n.Value, 10, to.Type().Bits())
		if err != nil || !is("!!int") {
			return errors.New("it must be a whole number")
		}
		to.SetInt(number)
	default: // unsigned; no file has others
		number, err := strconv.ParseUint(n.Value, 10, to.Type().Bits())
		if err != nil || !is("!!int") {
			return fmt.Errorf("it must be a whole number from 0 to %d", uint64(1)<<to.Type().Bits()-1)
		}
		to.SetUint(number)
	}
	return nil
}
