// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// differences writes what an older version has otherwise than the newest one: what its comment says, the names and
// fields of methods, and the methods and types that only one of both has.
func (p *page) differences(old *apiVersion) {
	if all := paragraphs(old.service.Comments.Leading); all != nil {
		_, says, _ := strings.Cut(all[0], ". ") // after what the group does
		p.P(p.prose(says, ""), "\n")
	}
	there := map[*protogen.Method]bool{}
	var single []*protogen.Method
	for _, m := range old.service.Methods {
		now := old.now(m.GoName)
		there[now] = true
		if now == nil {
			single = append(single, m)
		} else if text := difference(m, now); text != "" {
			p.P("- `", m.GoName, "`", text, p.here(m.Comments.Leading))
		}
	}
	var missing []string
	for _, m := range p.group.newest().service.Methods {
		if !there[m] {
			missing = append(missing, m.GoName)
		}
	}
	if missing != nil {
		p.P("- Not in this version: ", strings.Join(missing, ", "))
	}
	p.P()
	for _, m := range single {
		p.method(m)
	}
	p.types(old, p.group.newest())
}

// difference returns how a method differs from the one of the newest version.
func difference(m, now *protogen.Method) string {
	text := ""
	if m.GoName != now.GoName {
		text = " is [" + now.GoName + "](#" + strings.ToLower(now.GoName) + ")"
	}
	if fields := fieldsOf(m.Input.Desc); fields != fieldsOf(now.Input.Desc) {
		text += ", request `" + fields + "`"
	}
	if fields := fieldsOf(m.Output.Desc); fields != fieldsOf(now.Output.Desc) {
		text += ", response `" + fields + "`"
	}
	return text
}

// here returns what a comment says of a difference: "Same as v1.Disk.Rescan; here" it is such.
func (p *page) here(comment protogen.Comments) string {
	for _, text := range paragraphs(comment) {
		if same, says, found := strings.Cut(text, "; here "); found && strings.HasPrefix(same, "Same as ") {
			return ": " + p.prose(says, "")
		}
	}
	return ""
}

// fieldsOf returns the declarations of a message's fields on one line.
func fieldsOf(m protoreflect.MessageDescriptor) string {
	var all []string
	for i := range m.Fields().Len() {
		all = append(all, declaration(m.Fields().Get(i)))
	}
	return strings.Join(all, "; ")
}

// isMethods reports whether a message is a method's request or response.
func (v *apiVersion) isMethods(m *protogen.Message) bool {
	return slices.ContainsFunc(v.service.Methods, func(call *protogen.Method) bool {
		return m == call.Input || m == call.Output
	})
}

// declares reports whether a version has the same message, or an enum of that name.
func (v *apiVersion) declares(of protoreflect.Descriptor) bool {
	if v == nil {
		return false
	}
	if m, ok := of.(protoreflect.MessageDescriptor); ok {
		own := v.file.Desc.Messages().ByName(of.Name())
		return own != nil && fieldsOf(own) == fieldsOf(m)
	}
	return v.file.Desc.Enums().ByName(of.Name()) != nil
}
