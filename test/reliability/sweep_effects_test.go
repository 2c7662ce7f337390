// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

var updateEffects = flag.Bool("update", false, "rewrite testdata")

// TestEffects: each call changes on the node what testdata/effects.txt says, and once more it changes nothing. The
// sweep compares with the same call undisturbed, so what is right stands here.
func TestEffects(t *testing.T) {
	file := filepath.Join("testdata", "effects.txt")
	var mu sync.Mutex
	got := map[string][]string{}
	t.Run("examples", func(t *testing.T) {
		for _, e := range sweptCalls() {
			name := e.Method + ", " + e.When
			t.Run(strings.ReplaceAll(name, "/", "."), func(t *testing.T) {
				t.Parallel()
				w, i := interruption(e)
				i.Setup(t)
				before := w.state()
				w.OK(e.Call(w.Node))
				once := w.state()
				w.OK(w.again(e))
				if diff := gocmp.Diff(once, w.state()); diff != "" {
					t.Errorf("once more it changes something (-once +twice):\n%s", diff)
				}
				mu.Lock()
				defer mu.Unlock()
				got[name] = changed(t, before, once)
			})
		}
	})
	if *updateEffects {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&text, "%s\n", strings.Join(append([]string{name}, got[name]...), "\n  "))
		}
		caller.OK(t, os.WriteFile(file, []byte(text.String()), 0o644))
		return
	}
	text, err := os.ReadFile(file)
	caller.OK(t, err)
	want := map[string][]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if change, ok := strings.CutPrefix(line, "  "); ok {
			want[name] = append(want[name], change)
			continue
		}
		name = line
		want[name] = nil
	}
	for name := range got {
		if diff := gocmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s: the effect (-testdata +got):\n%s", name, diff)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok && !t.Failed() {
			t.Errorf("%s: there is no such example", name)
		}
	}
}

// changed returns the facts that one state has, and the other has not, each with its place in the state.
func changed(t *testing.T, before, after state) (lines []string) {
	t.Helper()
	was, is := facts(t, before), facts(t, after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, at := range slices.Sorted(maps.Keys(all)) {
		switch old, now := was[at], is[at]; {
		case old == "":
			lines = append(lines, at+" = "+now)
		case now == "":
			lines = append(lines, at+" is gone")
		case old != now:
			lines = append(lines, at+": "+old+" -> "+now)
		}
	}
	return lines
}

// facts returns the values in a state by their places.
func facts(t *testing.T, s state) map[string]string {
	t.Helper()
	text, err := json.Marshal(s)
	caller.OK(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	caller.OK(t, decoder.Decode(&document))
	all := map[string]string{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, v := range value {
				walk(at+"/"+name, v)
			}
		case []any:
			for i, v := range value {
				object, _ := v.(map[string]any)
				walk(fmt.Sprint(at, "/", cmp.Or(object["diskNumber"], object["partitionNumber"], any(i))), v)
			}
		case nil:
		case string:
			if !strconv.CanBackquote(value) {
				value = fmt.Sprintf("%x", value)
			}
			if value != "" {
				all[at] = value
			}
		default:
			all[at] = fmt.Sprint(value)
		}
	}
	walk("", document)
	return all
}
