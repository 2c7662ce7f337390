// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// value is one value in a scenario file, and knows where it stands.
type value struct {
	file string
	path string // such as disks[0].size; empty for the whole file
	node *yaml.Node
}

func (v value) errorf(format string, args ...any) error {
	problem := fmt.Sprintf(format, args...)
	if v.path != "" {
		problem = v.path + " " + problem
	}
	return &ScenarioError{File: v.file, Line: v.node.Line, Problem: problem}
}

// is checks the kind of a value: tag is that of a scalar. The value itself is not in the error: it may be a secret.
func (v value) is(kind yaml.Kind, tag, want string) error {
	switch {
	case v.node.Kind == yaml.AliasNode || v.node.Anchor != "":
		return v.errorf("is an anchor or alias (* or &), which scenarios do not have; a text needs quotes")
	case v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null":
		return v.errorf("is empty; it must be %s, or the key left out", want)
	case v.node.Kind == yaml.ScalarNode && kind == yaml.ScalarNode && tag == "!!str" && v.node.ShortTag() != tag:
		return v.errorf("must be %s, and YAML reads it as something else; it needs quotes", want)
	case v.node.Kind != kind || v.node.ShortTag() != tag:
		return v.errorf("must be %s", want)
	}
	return nil
}

func (v value) text() (string, error) {
	if err := v.is(yaml.ScalarNode, "!!str", "a text"); err != nil {
		return "", err
	}
	if strings.ContainsFunc(v.node.Value, unicode.IsControl) {
		return "", v.errorf("has a control character")
	}
	return v.node.Value, nil
}

func (v value) boolean() (bool, error) {
	err := v.is(yaml.ScalarNode, "!!bool", "true or false")
	return err == nil && strings.EqualFold(v.node.Value, "true"), err
}

func (v value) number(smallest, largest uint64) (uint64, error) {
	want := fmt.Sprintf("a whole number from %d to %d", smallest, largest)
	if err := v.is(yaml.ScalarNode, "!!int", want); err != nil {
		return 0, err
	}
	var n uint64
	if err := v.node.Decode(&n); err != nil || n < smallest || n > largest {
		return 0, v.errorf("must be %s", want)
	}
	return n, nil
}

// choice is one of several words, in any case.
func (v value) choice(words []string) (int, error) {
	text, err := v.text()
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) })
	if i < 0 {
		return 0, v.errorf("is %q; it must be one of %s", text, strings.Join(words, ", "))
	}
	return i, nil
}

const sizeForm = "bytes, or a text such as 10GiB"

// size is a number of bytes: a whole number, or a text with a unit.
func (v value) size() (int64, error) {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!int" {
		n, err := v.number(1, maxDiskBytes)
		return int64(n), err // at most maxDiskBytes
	}
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!str" {
		return 0, v.is(yaml.MappingNode, "", sizeForm)
	}
	n, ok := parseSize(v.node.Value)
	if !ok {
		return 0, v.errorf("is %q; it must be %s, at most 16TiB", v.node.Value, sizeForm)
	}
	return n, nil
}

// parseSize reads a decimal number with a binary unit, with or without its B: 1.5GiB, 512 Mi, 4096B. It gives whole
// bytes only, from 1 to maxDiskBytes.
func parseSize(text string) (int64, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 || end > 20 || text[0] == '.' {
		return 0, false
	}
	shift, ok := map[string]uint{"B": 0, "KiB": 10, "Ki": 10, "MiB": 20, "Mi": 20, "GiB": 30, "Gi": 30, "TiB": 40, "Ti": 40}[strings.TrimPrefix(text[end:], " ")]
	if !ok {
		return 0, false
	}
	bytes, ok := new(big.Rat).SetString(text[:end])
	if !ok {
		return 0, false
	}
	bytes.Mul(bytes, new(big.Rat).SetInt64(1<<shift))
	if !bytes.IsInt() || bytes.Sign() <= 0 || bytes.Cmp(new(big.Rat).SetInt64(maxDiskBytes)) > 0 {
		return 0, false
	}
	return bytes.Num().Int64(), true
}

// maxListItems is the most that a list has: a bus has no more addresses.
const maxListItems = 256

// items are the elements of a list.
func (v value) items() ([]value, error) {
	if err := v.is(yaml.SequenceNode, "!!seq", "a list"); err != nil {
		return nil, err
	}
	if len(v.node.Content) > maxListItems {
		return nil, v.errorf("has more than %d elements", maxListItems)
	}
	var all []value
	for i, node := range v.node.Content {
		all = append(all, value{v.file, fmt.Sprintf("%s[%d]", v.path, i), node})
	}
	return all, nil
}

// entries are the values of a mapping by key, none of them twice or unknown.
func (v value) entries(known []string) (map[string]value, error) {
	if err := v.is(yaml.MappingNode, "!!map", "a mapping of keys to values"); err != nil {
		return nil, err
	}
	all := map[string]value{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := value{v.file, v.path, v.node.Content[i]}
		name := key.node.Value
		if key.node.Kind != yaml.ScalarNode || !slices.Contains(known, name) {
			return nil, key.errorf("has the unknown key %q; the keys are %s", name, strings.Join(known, ", "))
		}
		if _, twice := all[name]; twice {
			return nil, key.errorf("has the key %q twice", name)
		}
		all[name] = value{v.file, strings.TrimPrefix(v.path+"."+name, "."), v.node.Content[i+1]}
	}
	return all, nil
}
