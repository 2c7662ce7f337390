// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// fields returns the leaves of a structure by their paths, such as Partitions.0.Length, without free ones. In a free
// path
// * stands for any index.
func fields(v any, free ...string) map[string]string {
	text, err := json.Marshal(v)
	if err != nil {
		return map[string]string{"": err.Error()}
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // a float64 does not hold 64 bits
	var tree any
	if err := d.Decode(&tree); err != nil {
		return map[string]string{"": err.Error()}
	}
	leaves := map[string]string{}
	flatten("", tree, leaves)
	maps.DeleteFunc(leaves, func(path, _ string) bool { return slices.Contains(free, index.ReplaceAllString(path, ".*")) })
	return leaves
}

var index = regexp.MustCompile(`(^|\.)[0-9]+\b`)

func flatten(path string, v any, leaves map[string]string) {
	below := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			flatten(below(name), value, leaves)
		}
	case []any:
		for i, value := range v {
			flatten(below(fmt.Sprint(i)), value, leaves)
		}
	case nil:
	default:
		leaves[path] = fmt.Sprint(v)
	}
}

// different returns the differences of fields.
func different(kind string, recorded, emulated map[string]string) (found []Difference) {
	all := slices.Collect(maps.Keys(recorded))
	for path := range emulated {
		if _, ok := recorded[path]; !ok {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	for _, path := range all {
		if r, e := recorded[path], emulated[path]; r != e {
			found = append(found, Difference{kind, index.ReplaceAllString(path, ".*"), shown(r), shown(e)})
		}
	}
	return found
}

func shown(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
