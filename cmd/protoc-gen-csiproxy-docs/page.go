// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A page is the page of a group while it is written.
type page struct {
	reference *reference
	group     *apiGroup
	out       strings.Builder
}

// P writes the values as a line, without blanks between them.
func (p *page) P(values ...any) { _, _ = fmt.Fprint(&p.out, append(values, "\n")...) }

// write writes the newest version, and what only others have.
func (p *page) write() {
	newest := p.group.newest()
	p.P(generatedMark)
	p.P("# ", p.group.name, "\n")
	p.comment(newest.service.Comments.Leading, "")
	p.P("Versions: ", p.protos(), ". New drivers use ", p.group.recommended().name, ".\n")
	for _, m := range newest.service.Methods {
		note := ""
		if without := p.group.without(m); without != nil {
			note = "Not in " + strings.Join(without, ", ") + "."
		}
		p.method(m, note)
	}
	for _, old := range p.group.versions[1:] {
		for _, m := range old.service.Methods {
			if old.now(m.GoName) == nil {
				p.method(m, "Of "+old.name+"; "+newest.name+" has no such method.")
			}
		}
	}
	p.types(newest)
}

// protos links the versions' files, newest first.
func (p *page) protos() string {
	var all []string
	for _, v := range p.group.versions {
		all = append(all, fmt.Sprintf("[%s](../../%s)", v.name, v.file.Desc.Path()))
	}
	return strings.Join(all, ", ")
}

// comment writes the paragraphs of a comment.
func (p *page) comment(comment protogen.Comments, self string) {
	for _, text := range paragraphs(comment) {
		p.P(p.prose(text, self), "\n")
	}
}

// method writes a method, with a note on its versions.
func (p *page) method(m *protogen.Method, note string) {
	p.P("## ", m.GoName, "\n")
	p.P(note, "\n")
	p.comment(m.Comments.Leading, m.GoName)
	p.fields("Request", m.Input)
	p.fields("Response", m.Output)
}

// fields writes the fields of a message, if it has any; those of a oneof below it.
func (p *page) fields(title string, m *protogen.Message) {
	for i, f := range m.Fields {
		if i == 0 {
			p.P(title, ":\n")
		}
		indent := ""
		if of := f.Oneof; of != nil && !of.Desc.IsSynthetic() {
			indent = "  "
			if f == of.Fields[0] {
				p.P("- One of these; of several, the last counts. ", p.inline(of.Comments.Leading))
			}
		}
		p.P(indent, "- `", declaration(f.Desc), "`: ", p.inline(f.Comments.Leading))
	}
	p.P()
}

// types writes the messages and enums of a version that are not a method's request or response.
func (p *page) types(of *apiVersion) {
	for _, m := range of.file.Messages {
		if !of.isMethods(m) {
			p.P("## ", m.Desc.Name(), "\n")
			p.comment(m.Comments.Leading, "")
			p.fields("Fields", m)
		}
	}
	for _, e := range of.file.Enums {
		p.P("## ", e.Desc.Name(), "\n")
		p.comment(e.Comments.Leading, "")
		for _, v := range e.Values {
			p.P("- `", v.Desc.Name(), " = ", v.Desc.Number(), "`: ", p.inline(v.Comments.Leading))
		}
		p.P()
	}
}

// declaration returns a field as the .proto has it, without its number.
func declaration(f protoreflect.FieldDescriptor) string {
	is := typeName(f)
	switch {
	case f.IsMap():
		is = "map<" + typeName(f.MapKey()) + ", " + typeName(f.MapValue()) + ">"
	case f.IsList():
		is = "repeated " + is
	case f.HasOptionalKeyword():
		is = "optional " + is
	}
	return fmt.Sprintf("%s %s", is, f.Name())
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}
