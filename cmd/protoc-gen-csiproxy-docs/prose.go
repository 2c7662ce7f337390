// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/compiler/protogen"
)

var (
	emptyLine = regexp.MustCompile(`\n[ \t]*\n`)
	// word is a part of a text that may become a link or code: an identifier with inner dots.
	word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*`)
)

// paragraphs splits a comment at its empty lines and joins the lines of each paragraph.
func paragraphs(comment protogen.Comments) []string {
	var found []string
	for _, block := range emptyLine.Split(string(comment), -1) {
		if text := strings.Join(strings.Fields(block), " "); text != "" {
			found = append(found, text)
		}
	}
	return found
}

// inline returns a comment as one line.
func (p *page) inline(comment protogen.Comments) string {
	return p.prose(strings.Join(paragraphs(comment), " "), "")
}

// prose returns a text of a comment as Markdown: methods that the reference has are links, gRPC codes and names of
// fields are code, and nothing in the text is taken for markup. A method's own name, self, is not a link.
func (p *page) prose(text, self string) string {
	var b strings.Builder
	end := 0
	for _, at := range word.FindAllStringIndex(text, -1) {
		b.WriteString(escape(text[end:at[0]]))
		end = at[1]
		found := text[at[0]:end]
		_, isCode := code.Code_value[found]
		if isCode || strings.Contains(found, "_") { // the latter: a field or a value
			b.WriteString("`" + found + "`")
		} else if to := p.address(found); to != "" && found != self {
			b.WriteString("[" + found + "](" + to + ")")
		} else {
			b.WriteString(escape(found))
		}
	}
	b.WriteString(escape(text[end:]))
	return b.String()
}

// address returns the address of a method of the page, of v1.Disk or of v1.Disk.Rescan, and "" for anything else.
func (p *page) address(name string) string {
	if p.group.newest().method(name) != nil {
		return "#" + strings.ToLower(name)
	}
	return strings.TrimPrefix(p.reference.places[name], p.group.name+".md")
}

// escape escapes everything in a text that Markdown would take for markup.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`,
		"#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(text)
}
