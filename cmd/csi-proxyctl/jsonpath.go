// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A jsonpathTemplate is a template as kubectl takes it: text, and expressions in braces, {.disks[*].serialNumber},
// {"\n"}, and {range .disks[*]} … {end}, in which expressions begin at the element.
//
// k8s.io/client-go has kubectl's own. A requirement of it in this module would raise client-go in every driver whose
// tests use package csiproxytest, and drivers are bound to the client-go of their Kubernetes. So the part of it that
// lists need is here.
type jsonpathTemplate struct {
	parts []templatePart
}

// templatePart is a text, an expression, or a loop over what an expression finds.
type templatePart struct {
	text string
	path path
	loop []templatePart // nil: no loop
}

// parseTemplate parses a template. One without braces is an expression.
func parseTemplate(text string) (*jsonpathTemplate, error) {
	if !strings.Contains(text, "{") {
		text = "{" + text + "}"
	}
	p := &templateParser{rest: text}
	parts, err := p.parse(false)
	if err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", text, err)
	}
	return &jsonpathTemplate{parts}, nil
}

type templateParser struct{ rest string }

// parse parses up to the end of the template or, in a loop, to {end}.
func (p *templateParser) parse(inLoop bool) (parts []templatePart, err error) {
	parts = []templatePart{}
	for p.rest != "" {
		text, after, braced := strings.Cut(p.rest, "{")
		if text != "" {
			parts = append(parts, templatePart{text: text})
		}
		if p.rest = after; !braced {
			break
		}
		expression, err := p.braces()
		if err != nil {
			return nil, err
		}
		of, loops := strings.CutPrefix(expression, "range ")
		part := templatePart{}
		switch {
		case expression == "end" && inLoop:
			return parts, nil
		case expression == "end":
			return nil, fmt.Errorf("{end} has no {range}")
		case strings.HasPrefix(expression, `"`) || strings.HasPrefix(expression, "'"):
			part.text, err = quotedText(expression)
		default:
			if part.path, err = parsePath(of); err == nil && loops {
				part.loop, err = p.parse(true)
			}
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if inLoop {
		return nil, fmt.Errorf("{range} has no {end}")
	}
	return parts, nil
}

// braces returns the expression up to the brace that closes it; one in quotes does not.
func (p *templateParser) braces() (string, error) {
	quote := rune(0)
	for i, r := range p.rest {
		switch {
		case quote != 0 && r == quote && p.rest[i-1] != '\\':
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == '}':
			expression := strings.TrimSpace(p.rest[:i])
			p.rest = p.rest[i+1:]
			return expression, nil
		}
	}
	return "", fmt.Errorf("a { is not closed")
}

func quotedText(text string) (string, error) {
	if text[0] == '\'' && len(text) > 1 {
		text = `"` + strings.ReplaceAll(text[1:len(text)-1], `"`, `\"`) + `"`
	}
	unquoted, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("%s is not a text in quotes", text)
	}
	return unquoted, nil
}

// expand fills a template in with a value in JSON.
func (t *jsonpathTemplate) expand(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := expand(&out, t.parts, wholeNumbers(value))
	return out.Bytes(), err
}

func expand(out *bytes.Buffer, parts []templatePart, value any) error {
	for _, part := range parts {
		if part.path == nil {
			out.WriteString(part.text)
			continue
		}
		for i, found := range part.path.find(value) {
			if part.loop != nil {
				if err := expand(out, part.loop, found); err != nil {
					return err
				}
				continue
			}
			if i > 0 {
				out.WriteByte(' ')
			}
			switch found := found.(type) {
			case nil:
			case string:
				out.WriteString(found)
			default:
				text, err := json.Marshal(found)
				if err != nil {
					return err
				}
				out.Write(text)
			}
		}
	}
	return nil
}

// wholeNumbers replaces numbers of JSON by those of Go. Sizes of disks have more digits than a float64.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			v[key] = wholeNumbers(below)
		}
	case []any:
		for i, below := range v {
			v[i] = wholeNumbers(below)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return value
}
