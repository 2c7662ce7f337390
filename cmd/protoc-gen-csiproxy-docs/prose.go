// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/compiler/protogen"
)

// paragraphs splits a comment at its empty lines and joins the lines of each paragraph.
func paragraphs(comment protogen.Comments) []string {
	var found []string
	for block := range strings.SplitSeq(trimLines(string(comment)), "\n\n") {
		if text := strings.Join(strings.Fields(block), " "); text != "" {
			found = append(found, text)
		}
	}
	return found
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// firstSentence returns the first sentence of a comment.
func firstSentence(comment protogen.Comments) string {
	all := paragraphs(comment)
	if all == nil {
		return ""
	}
	sentence, _, _ := strings.Cut(all[0], ". ")
	return strings.TrimSuffix(sentence, ".") + "."
}

// words matches the parts of a text that may become a link or code: identifiers with inner dots. The text between them
// is only escaped.
func words() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*`)
}

// prose returns a text of a comment as Markdown: methods that the reference has are links, gRPC codes and names of
// fields are code, and nothing in the text is taken for markup. A method's own name, self, is not a link.
func (p *page) prose(text, self string) string {
	var b strings.Builder
	end := 0
	for _, at := range words().FindAllStringIndex(text, -1) {
		b.WriteString(escape(text[end:at[0]]))
		b.WriteString(p.word(text[at[0]:at[1]], self))
		end = at[1]
	}
	b.WriteString(escape(text[end:]))
	return b.String()
}

func (p *page) word(word, self string) string {
	switch {
	case word == self:
	case slices.Contains(codeNames(), word), strings.Contains(word, "_"): // the latter: a field or a value
		return "`" + word + "`"
	case p.version.method(word):
		return "[" + word + "](#" + anchor(word) + ")"
	default:
		if to := p.elsewhere(word); to != "" {
			return "[" + word + "](" + to + ")"
		}
	}
	return escape(word)
}

// elsewhere returns the address of v1.Disk or v1.Disk.Rescan, relative to this page, and "" for anything else.
func (p *page) elsewhere(word string) string {
	parts := strings.Split(word, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return ""
	}
	to := p.reference.services[parts[0]+"."+parts[1]]
	if to == nil || (len(parts) == 3 && !to.method(parts[2])) {
		return ""
	}
	address := p.address(to)
	if len(parts) == 3 {
		address += "#" + anchor(parts[2])
	}
	return address
}

// address returns the address of another version's page, relative to this one.
func (p *page) address(to *apiVersion) string {
	if to.group == p.version.group {
		return to.name + ".md"
	}
	return "../" + to.group + "/" + to.name + ".md"
}

// anchor returns the anchor of a heading of one word.
func anchor(heading string) string { return strings.ToLower(heading) }

// escape escapes everything in a text that Markdown would take for markup.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`,
		"#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(text)
}

// codeNames returns gRPC's codes without OK, as comments spell them.
func codeNames() []string {
	var names []string
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		names = append(names, codeName(c))
	}
	return names
}

// codeName spells InvalidArgument as INVALID_ARGUMENT.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED"
	}
	return strings.ToUpper(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(c.String(), "${1}_${2}"))
}

// codesIn returns the gRPC codes that a comment names, in their order of appearance.
func codesIn(comment protogen.Comments) []string {
	var found []string
	for _, word := range words().FindAllString(string(comment), -1) {
		if slices.Contains(codeNames(), word) && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found
}
