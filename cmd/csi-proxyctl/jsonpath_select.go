// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A path is an expression: what it takes from the values that it has found so far, step by step.
type path []step

type step func(value any) []any

// The beginning of what is left of an expression.
var (
	dotted   = regexp.MustCompile(`^\.([A-Za-z_][\w-]*|\*)`)
	deep     = regexp.MustCompile(`^\.\.([A-Za-z_][\w-]*|\*)`)
	slicing  = regexp.MustCompile(`^(-?\d*):(-?\d*)$`)
	filtered = regexp.MustCompile(`^\?\s*\(\s*@((?:\.[A-Za-z_][\w-]*)*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)$`)
)

// parsePath parses an expression, which may begin with $ or @.
func parsePath(text string) (path, error) {
	rest := strings.TrimLeft(strings.TrimSpace(text), "$@")
	if rest == "." {
		rest = ""
	}
	steps := path{}
	for rest != "" {
		if m := deep.FindStringSubmatch(rest); m != nil {
			steps, rest = append(steps, everywhere(m[1])), rest[len(m[0]):]
			continue
		}
		if m := dotted.FindStringSubmatch(rest); m != nil {
			steps, rest = append(steps, member(m[1])), rest[len(m[0]):]
			continue
		}
		inside, after, err := brackets(rest)
		if err != nil {
			return nil, err
		}
		s, err := bracketed(inside)
		if err != nil {
			return nil, err
		}
		steps, rest = append(steps, s), after
	}
	return steps, nil
}

// brackets returns what is in the brackets at the beginning of a text, and the rest of it.
func brackets(text string) (inside, after string, err error) {
	if !strings.HasPrefix(text, "[") {
		return "", "", fmt.Errorf("%q is neither .NAME nor [...]", text)
	}
	quote := rune(0)
	for i, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == ']':
			return strings.TrimSpace(text[1:i]), text[i+1:], nil
		}
	}
	return "", "", errors.New("a [ is not closed")
}

// bracketed parses what is in brackets: a number, a range, a name in quotes, a condition or *.
func bracketed(text string) (step, error) {
	if m := slicing.FindStringSubmatch(text); m != nil {
		return elements(m[1], m[2]), nil
	}
	if m := filtered.FindStringSubmatch(text); m != nil {
		return condition(m[1], m[2], m[3])
	}
	if n, err := strconv.Atoi(text); err == nil {
		return element(n), nil
	}
	if text == "*" {
		return member("*"), nil
	}
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		return member(text[1 : len(text)-1]), nil
	}
	return nil, fmt.Errorf("[%s] is not a number, a range, a name in quotes, *, or a condition such as ?(@.name==\"x\")",
		text)
}

// find returns what a path finds in a value. What is not there is left out.
func (p path) find(value any) []any {
	found := []any{value}
	for _, s := range p {
		var next []any
		for _, v := range found {
			next = append(next, s(v)...)
		}
		found = next
	}
	return found
}

// member finds a member of an object, or with * all of an object or an array.
func member(name string) step {
	return func(value any) (found []any) {
		object, _ := value.(map[string]any)
		if name != "*" {
			if v, ok := object[name]; ok {
				return []any{v}
			}
			return nil
		}
		if list, ok := value.([]any); ok {
			return list
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			found = append(found, object[key])
		}
		return found
	}
}

// everywhere finds members of a name at any depth.
func everywhere(name string) step {
	var walk step
	walk = func(value any) []any {
		found := member(name)(value)
		for _, below := range member("*")(value) {
			found = append(found, walk(below)...)
		}
		return found
	}
	return walk
}

// element finds one element of an array; a negative number counts from its end.
func element(n int) step {
	return func(value any) []any {
		list, _ := value.([]any)
		at := n
		if at < 0 {
			at += len(list)
		}
		if at < 0 || at >= len(list) {
			return nil
		}
		return []any{list[at]}
	}
}

// elements finds a range of an array.
func elements(from, to string) step {
	return func(value any) []any {
		list, _ := value.([]any)
		place := func(text string, otherwise int) int {
			n, err := strconv.Atoi(text)
			if err != nil {
				return otherwise
			}
			if n < 0 {
				n += len(list)
			}
			return min(max(n, 0), len(list))
		}
		begin, end := place(from, 0), place(to, len(list))
		return list[begin:max(begin, end)]
	}
}

// condition finds the elements of an array of which a member is there or, with an operator, compares so with a value.
func condition(of, operator, with string) (step, error) {
	inner, err := parsePath(of)
	if err != nil {
		return nil, err
	}
	literal, err := literalOf(with)
	if err != nil {
		return nil, err
	}
	return func(value any) (met []any) {
		for _, v := range member("*")(value) {
			found := inner.find(v)
			if len(found) > 0 && (operator == "" || compares(found[0], operator, literal)) {
				met = append(met, v)
			}
		}
		return met
	}, nil
}

// literalOf parses a text in quotes, a number, true, false or null.
func literalOf(text string) (any, error) {
	switch {
	case text == "" || text == "null":
		return nil, nil
	case text == "true", text == "false":
		return text == "true", nil
	case len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0]:
		return text[1 : len(text)-1], nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f, nil
	}
	return nil, fmt.Errorf("%s is not a text in quotes, a number, true, false or null", text)
}

// compares reports whether two values compare as an operator says. Values of different kinds are not equal, and not
// ordered.
func compares(a any, operator string, b any) bool {
	order, ordered := 0, true
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			order = cmp.Compare(x, y)
		case float64:
			order = cmp.Compare(float64(x), y)
		default:
			ordered = false
		}
	case string:
		y, ok := b.(string)
		order, ordered = strings.Compare(x, y), ok
	default:
		if a == b && operator != "<" && operator != ">" {
			return operator != "!="
		}
		ordered = false
	}
	if !ordered {
		return operator == "!="
	}
	switch operator {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}
