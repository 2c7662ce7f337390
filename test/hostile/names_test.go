// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A working directory whose name has letters with unusual cases is not reached by names that are equal by some case
// tables only: to the policy, a directory that NTFS may take for the same is another one.
func TestCaseFoldingTricks(t *testing.T) {
	const dir = "C:\\stra\u00dfe-kil\u0131k\u017f-\u01c6\u00e9\u03c3"
	g := attack(t, testnode.Options{WorkingDirs: []string{dir}})
	g.hostDir(dir)
	before := g.snapshot()
	for name, c := range map[string]struct {
		path string
		want codes.Code
	}{
		"as it is":            {dir, codes.OK},
		"plain capitals":      {"C:\\STRA\u00dfE-KIL\u0131K\u017f-\u01c6\u00e9\u03c3", codes.OK},
		"accents":             {"C:\\stra\u00dfe-kil\u0131k\u017f-\u01c6\u00c9\u03a3", codes.OK},
		"sharp s in two":      {"C:\\strasse-kil\u0131k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"sharp s in capitals": {"C:\\STRASSE-KIL\u0131K\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"capital sharp s":     {"C:\\stra\u1e9ee-kil\u0131k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"dotted i":            {"C:\\stra\u00dfe-kilik\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"capital I":           {"C:\\stra\u00dfe-kilIk\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"capital dotted I":    {"C:\\stra\u00dfe-kil\u0130k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"Kelvin":              {"C:\\stra\u00dfe-\u212ail\u0131k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"short s":             {"C:\\stra\u00dfe-kil\u0131ks-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"final sigma":         {"C:\\stra\u00dfe-kil\u0131k\u017f-\u01c6\u00e9\u03c2", codes.InvalidArgument},
		"title case":          {"C:\\stra\u00dfe-kil\u0131k\u017f-\u01c5\u00e9\u03c3", codes.InvalidArgument},
		"decomposed":          {"C:\\stra\u00dfe-kil\u0131k\u017f-\u01c6e\u0301\u03c3", codes.InvalidArgument},
		"compatible letters":  {"C:\\stra\u00dfe-kil\u0131k\u017f-d\u017e\u00e9\u03c3", codes.InvalidArgument},
		"full width":          {"C:\\\uff53tra\u00dfe-kil\u0131k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
		"an astral letter":    {"C:\\\U0001d42ctra\u00dfe-kil\u0131k\u017f-\u01c6\u00e9\u03c3", codes.InvalidArgument},
	} {
		for _, m := range methodsNamed(t, "PathExists", "Mkdir", "RmdirContents") {
			path, want := c.path, c.want
			if m.name != "PathExists" {
				path, want = c.path+`\none`, codes.InvalidArgument
				if c.want == codes.OK {
					continue // the call does its work
				}
			}
			_, err := g.call(t.Context(), m, m.encode(t, values{"path": path}))
			wantCode(t, fmt.Sprintf("%v of %s, %s", m, name, path), err, want)
		}
	}
	g.unchanged("names with odd letters", before)
	g.alive()
}

// A workload can make a second name of a file that it may write to. The agent removes names, in a volume and on
// kubelet's file system, and no file loses its content by that.
func TestHardLinks(t *testing.T) {
	g := attack(t, testnode.Options{})
	for _, tree := range []string{mount + `\tree`, pods + `\tree`} {
		for _, remove := range []string{"Rmdir", "RmdirContents"} {
			g.hostDir(tree)
			kept := g.HostPath(pods+`\peer\victim\inner`) + "/file"
			if tree == mount+`\tree` { // a hard link stays within its file system
				kept = g.HostPath(mount) + "/data"
			}
			want, err := os.ReadFile(kept)
			noError(t, err)
			noError(t, os.Link(kept, filepath.Join(g.HostPath(tree), "second")))
			for _, m := range methodsNamed(t, remove) {
				_, err := g.call(t.Context(), m, m.encode(t, values{"path": tree, "force": uint64(1)}))
				wantCode(t, fmt.Sprintf("%v of %s", m, tree), err, codes.OK)
			}
			got, err := os.ReadFile(kept)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s of %s: the file's other name holds %q, %v, want %q", remove, tree, got, err, want)
			}
		}
	}
	g.alive()
}
