// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
)

//go:embed page.md.tmpl
var pageText string

// A run is a test run, or a report of csi-proxy-prove.
type run struct{ Title, Count, Date, Commit, System, Command string }

// A row is a method in those versions for which the same was proved.
type row struct {
	Group, Name, Versions string
	Cells                 []string
}

// pageFrom writes the page from the records and reports in a directory. The methods are those of the level pure.
func pageFrom(dir fs.FS) ([]byte, error) {
	var runs []run
	var columns []map[string]string
	for _, l := range levels() {
		r, err := readRecord(dir, l.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		r.Command = "`" + r.Command + "`"
		columns = append(columns, r.Methods)
		runs = append(runs, r.run(l.title, len(columns[0])))
	}
	reports, err := readReports(dir)
	if err != nil {
		return nil, err
	}
	windows := onWindows(reports)
	if len(windows) == 0 {
		reports = append(reports, record{})
	}
	for _, r := range reports {
		runs = append(runs, r.run("Windows", len(columns[0])))
	}
	columns = append(columns, windows)
	for _, column := range columns {
		for name := range column {
			if columns[0][name] == "" {
				return nil, fmt.Errorf("there is no method %q", name)
			}
		}
	}
	var page bytes.Buffer
	t, err := template.New("page").Parse(pageText)
	if err == nil {
		err = t.Execute(&page, map[string]any{"Runs": runs, "Windows": len(windows) > 0, "Rows": rowsOf(columns)})
	}
	return page.Bytes(), err
}

// rowsOf returns the rows, by group, name and version, the newest version first.
func rowsOf(columns []map[string]string) (rows []row) {
	names := slices.SortedFunc(maps.Keys(columns[0]), func(a, b string) int {
		one, other := strings.Fields(a), strings.Fields(b)
		return cmp.Or(cmp.Compare(one[0], other[0]), cmp.Compare(one[2], other[2]),
			int(apiversion.NewVersionOrPanic(other[1]).Compare(apiversion.NewVersionOrPanic(one[1]))))
	})
	for _, name := range names {
		parts := strings.Fields(name)
		r := row{Group: parts[0], Name: parts[2], Versions: parts[1]}
		for _, column := range columns {
			r.Cells = append(r.Cells, column[name])
		}
		same := slices.IndexFunc(rows, func(other row) bool {
			return other.Group == r.Group && other.Name == r.Name && slices.Equal(other.Cells, r.Cells)
		})
		if same >= 0 {
			rows[same].Versions += " " + r.Versions
			continue
		}
		rows = append(rows, r)
	}
	return rows
}
