// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message writes the request or the response of a method.
func (p *page) message(side string, m *protogen.Message) {
	if len(m.Fields) == 0 {
		p.out.P("**", side, "** `", m.Desc.Name(), "` has no fields.")
		p.out.P()
		return
	}
	p.out.P("**", side, "** `", m.Desc.Name(), "`:")
	p.out.P()
	p.fields(m)
}

func (p *page) fields(m *protogen.Message) {
	p.out.P("| # | Field | Type | |")
	p.out.P("|---|---|---|---|")
	for _, f := range m.Fields {
		p.out.P("| ", f.Desc.Number(), " | `", f.Desc.Name(), "` | ", fieldType(f.Desc), " | ",
			p.cell(f.Comments.Leading), " |")
	}
	p.out.P()
}

// cell returns a comment in a form that fits in a table's row.
func (p *page) cell(comment protogen.Comments) string {
	text := ""
	for i, paragraph := range paragraphs(comment) {
		if i > 0 {
			text += "<br>"
		}
		text += p.prose(paragraph, "")
	}
	return text
}

// types writes the messages and enums that are not a method's request or response.
func (p *page) types() {
	var messages []*protogen.Message
	for _, m := range p.version.file.Messages {
		if !slices.ContainsFunc(p.version.service.Methods,
			func(of *protogen.Method) bool { return of.Input == m || of.Output == m }) {
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 && len(p.version.file.Enums) == 0 {
		return
	}
	p.out.P("## Types")
	p.out.P()
	for _, m := range messages {
		p.out.P("### ", m.Desc.Name())
		p.out.P()
		p.comment(m.Comments.Leading, "")
		p.fields(m)
	}
	for _, e := range p.version.file.Enums {
		p.enum(e)
	}
}

func (p *page) enum(e *protogen.Enum) {
	p.out.P("### ", e.Desc.Name())
	p.out.P()
	p.comment(e.Comments.Leading, "")
	p.out.P("| # | Value | |")
	p.out.P("|---|---|---|")
	for _, v := range e.Values {
		p.out.P("| ", v.Desc.Number(), " | `", v.Desc.Name(), "` | ", p.cell(v.Comments.Leading), " |")
	}
	p.out.P()
}

// fieldType returns a field's type as the .proto spells it, with links to the page's own types.
func fieldType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map&lt;" + typeName(f.MapKey()) + ", " + typeName(f.MapValue()) + "&gt;"
	case f.IsList():
		return "repeated " + typeName(f)
	case f.HasOptionalKeyword():
		return "optional " + typeName(f)
	default:
		return typeName(f)
	}
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return "[" + string(f.Message().Name()) + "](#" + anchor(string(f.Message().Name())) + ")"
	case f.Enum() != nil:
		return "[" + string(f.Enum().Name()) + "](#" + anchor(string(f.Enum().Name())) + ")"
	default:
		return f.Kind().String()
	}
}
