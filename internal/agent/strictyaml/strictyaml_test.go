// SPDX-License-Identifier: Apache-2.0

package strictyaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
)

type box struct {
	Text  string   `yaml:"text"`
	Flag  bool     `yaml:"flag"`
	Count *uint8   `yaml:"count"`
	Below int64    `yaml:"below"`
	List  []box    `yaml:"list"`
	Names []string `yaml:"names"`
	Rest  rest     `yaml:",inline"`
	Same  string   `json:"same,omitempty"`
	Other string   `yaml:"-" json:"other"`
}

type rest struct {
	More string `yaml:"more"`
}

func TestDecode(t *testing.T) {
	got := box{Text: "as before", Names: []string{"replaced"}}
	d, err := strictyaml.Decode("f", []byte("flag: true\ncount: 255\nbelow: -7\nlist:\n- text: '1'\n- {}\nnames: []\nmore: x\nsame: y\n"), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := box{Text: "as before", Flag: true, Count: new(uint8(255)), Below: -7, List: []box{{Text: "1"}, {}},
		Names: []string{}, Rest: rest{More: "x"}, Same: "y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !d.Has("list", 0, "text") || d.Has("list", 1, "text") || d.Has("list", 2) || d.Has("text") {
		t.Error("Has does not tell what the file has")
	}
	problem := strictyaml.At(strictyaml.At(errors.New("it is wrong"), 0, "text"), "list")
	if got := d.Error(problem).Error(); got != "f:5: list[0].text: it is wrong" {
		t.Errorf("got %s", got)
	}
	if got := d.Error(strictyaml.At(errors.New("it is missing"), "list", 1, "text")).Error(); got != "f:6: list[1].text: it is missing" {
		t.Errorf("got %s", got)
	}
}

// Values of another type are refused, whatever the library would make of them, and errors do not have them.
func TestRefused(t *testing.T) {
	const fields = "text, flag, count, below, list, names, more, same"
	for text, want := range map[string]string{
		"":                                  "f: it is empty",
		"# nothing":                         "f: it is empty",
		"\n~":                               "f:2: it has no value",
		"- a":                               "f:1: it must be a mapping",
		"list: [\n\n":                       "f:3: it is not YAML",
		"list:\n\t- text: x":                "f:2: it is not YAML",
		"text: secret: x":                   "f:1: it is not YAML",
		"text: *secret":                     "f:1: it is not YAML",
		"text: &secret x":                   "f:1: text: it is an anchor or alias",
		"<<: {text: secret}":                `f:1: <<: there is no such field`,
		"list: &l\n- {list: *l}":            "f:1: list: it is an anchor or alias",
		"text: 010":                         "f:1: text: it must be a text",
		"text: 2026-01-02":                  "f:1: text: it must be a text",
		"text: !!binary c2VjcmV0":           "f:1: text: it must be a text",
		"text: ~":                           "f:1: text: it has no value",
		"flag: yes":                         "f:1: flag: it must be true or false",
		"count: -1":                         "f:1: count: it must be a whole number from 0 to 255",
		"flag: 'true'":                      "f:1: flag: it must be true or false",
		"count: 256":                        "f:1: count: it must be a whole number from 0 to 255",
		"count: 0x10":                       "f:1: count: it must be a whole number from 0 to 255",
		"below: 1.5":                        "f:1: below: it must be a whole number",
		"list: {}":                          "f:1: list: it must be a list",
		"list:\n- secret":                   "f:2: list[0]: it must be a mapping",
		"texts: x":                          "f:1: texts: there is no such field; the fields are " + fields,
		"Text: x":                           "f:1: Text: there is no such field; the fields are " + fields,
		"text: x\nflag: true\n" + "text: y": "f:3: text: the field appears twice",
		"\"\\u202E\\e[0m\": x":              `f:1: "\u202e\x1b[0m": there is no such field`,
		"text: x\n---\ntext: y":             "f:2: a second document begins",
		strings.Repeat(" ", strictyaml.MaxBytes+1): "f: it has more than 1048576 bytes",
		"- text": "f:1: it must be a mapping of fields to values",
		"names: [" + strings.Repeat("a,", 1001) + "]": "f:1: names: it has more than 1000 elements",
	} {
		_, err := strictyaml.Decode("f", []byte(text), &box{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}
