// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
)

// mapping describes the keys that make a T. It reads them, and it is what the documentation is made of.
type mapping[T any] struct {
	title string
	start T // what the keys change
	keys  []key[T]
	check func(T) error // looks at the whole; may be nil
}

// key is one key of a mapping.
type key[T any] struct {
	name     string
	form     string // of the value, for people
	about    string
	required bool
	read     func(into *T, v value) error
	inside   func() []section // the mappings that the value consists of
}

// section is the documentation of a mapping.
type section struct {
	title string
	rows  []sectionRow
}

type sectionRow struct{ key, form, about string }

// read changes a T by the keys of a value. Keys are read in the order of the mapping, so that checks can rely on
// earlier ones.
func (m mapping[T]) read(v value, into *T) error {
	var names []string
	for _, k := range m.keys {
		names = append(names, k.name)
	}
	given, err := v.entries(names)
	if err != nil {
		return err
	}
	for _, k := range m.keys {
		field, ok := given[k.name]
		if !ok {
			if k.required {
				return v.errorf("needs the key %q", k.name)
			}
			continue
		}
		if err := k.read(into, field); err != nil {
			return err
		}
	}
	if m.check != nil {
		return v.wrap(m.check(*into))
	}
	return nil
}

// wrap gives an error the place of the value, unless it has one.
func (v value) wrap(err error) error {
	var placed *ScenarioError
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return v.errorf("cannot be: %v", err)
}

// sections documents the mapping and those inside of it, each once.
func (m mapping[T]) sections() []section {
	s := section{title: m.title}
	var inside []section
	for _, k := range m.keys {
		about := k.about
		if k.required {
			about += " Required."
		}
		s.rows = append(s.rows, sectionRow{k.name, k.form, about})
		if k.inside != nil {
			inside = append(inside, k.inside()...)
		}
	}
	return append([]section{s}, inside...)
}

// The kinds of keys. Each takes the place in T that it is for.

func textKey[T any](name, about string, at func(*T) *string) key[T] {
	return key[T]{name: name, form: "text", about: about, read: func(into *T, v value) (err error) {
		*at(into), err = v.text()
		return err
	}}
}

func textsKey[T any](name, form, about string, at func(*T) *[]string, check func(string) error) key[T] {
	return key[T]{name: name, form: form, about: about, read: func(into *T, v value) error {
		items, err := v.items()
		if err != nil {
			return err
		}
		for _, item := range items {
			text, err := item.text()
			if err == nil && check != nil {
				err = item.wrap(check(text))
			}
			if err != nil {
				return err
			}
			*at(into) = append(*at(into), text)
		}
		return nil
	}}
}

func boolKey[T any](name, about string, set func(*T, bool)) key[T] {
	return key[T]{name: name, form: "true or false", about: about, read: func(into *T, v value) error {
		b, err := v.boolean()
		set(into, b)
		return err
	}}
}

func numberKey[T any](name, about string, smallest, largest uint64, set func(*T, uint64)) key[T] {
	form := fmt.Sprintf("%d to %d", smallest, largest)
	return key[T]{name: name, form: form, about: about, read: func(into *T, v value) error {
		n, err := v.number(smallest, largest)
		if err == nil {
			set(into, n)
		}
		return err
	}}
}

// eitherKey is one of two numbers, the smaller one first.
func eitherKey[T any](name, about string, a, b uint64, set func(*T, uint64)) key[T] {
	form := fmt.Sprintf("%d or %d", a, b)
	return key[T]{name: name, form: form, about: about, read: func(into *T, v value) error {
		n, err := v.number(a, b)
		if err != nil || n != a && n != b {
			return v.errorf("must be %s", form)
		}
		set(into, n)
		return nil
	}}
}

func sizeKey[T any](about string, at func(*T) *int64) key[T] {
	return key[T]{name: "size", form: sizeForm, about: about, read: func(into *T, v value) (err error) {
		*at(into), err = v.size()
		return err
	}}
}

func choiceKey[T any](name, about string, words []string, set func(into *T, word int)) key[T] {
	form := ""
	for i, word := range words {
		if i > 0 {
			form += ", "
		}
		form += "`" + word + "`"
	}
	return key[T]{name: name, form: form, about: about, read: func(into *T, v value) error {
		i, err := v.choice(words)
		if err == nil {
			set(into, i)
		}
		return err
	}}
}

// listKey replaces a list. The check looks at the T after each element that came, which is where its errors stand.
func listKey[T, E any](name, about string, m mapping[E], at func(*T) *[]E, check func(T) error) key[T] {
	return key[T]{name: name, form: "list", about: about, inside: m.sections, read: func(into *T, v value) error {
		items, err := v.items()
		if err != nil {
			return err
		}
		*at(into) = nil
		for _, item := range items {
			element := m.start
			if err := m.read(item, &element); err != nil {
				return err
			}
			*at(into) = append(*at(into), element)
			if check == nil {
				continue
			}
			if err := item.wrap(check(*into)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// partKey changes a part of a T.
func partKey[T, E any](name, about string, m mapping[E], at func(*T) *E, check func(T) error) key[T] {
	return key[T]{name: name, form: "mapping", about: about, inside: m.sections, read: func(into *T, v value) error {
		if err := m.read(v, at(into)); err != nil || check == nil {
			return err
		}
		return v.wrap(check(*into))
	}}
}
