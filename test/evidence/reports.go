// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// reportsDir is the folder, beside the records, for the reports that people send.
const reportsDir = "reports"

// A machineReport is what a report of csi-proxy-prove shows about methods.
type machineReport struct {
	file    string
	machine proof.Machine
	kit     string // its version
	date    string
	methods map[string]bool // by "group version Method": every check that used it held
}

// readReports reads the reports of Windows machines, and of Wine, oldest first. One of an emulated node is refused: it
// says nothing about a machine.
func readReports(dir fs.FS) (all []machineReport, err error) {
	entries, err := fs.ReadDir(dir, reportsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !strings.Contains(entry.Name(), ".json") {
			continue // a page for people, or a README
		}
		content, err := fs.ReadFile(dir, path.Join(reportsDir, entry.Name()))
		if err != nil {
			return nil, err
		}
		one, err := readReport(entry.Name(), content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b machineReport) int { return strings.Compare(a.date, b.date) })
	return all, nil
}

func readReport(file string, content []byte) (machineReport, error) {
	r, err := proof.Read(bytes.NewReader(content))
	if err != nil {
		return machineReport{}, err
	}
	if r.Machine.System == proof.Emulated {
		return machineReport{}, errors.New("the report is one of emulated nodes")
	}
	one := machineReport{file: file, machine: r.Machine, kit: r.Kit.Version, date: r.Begun.UTC().Format("2006-01-02"),
		methods: map[string]bool{}}
	for _, p := range r.Parts {
		for _, c := range p.Checks {
			for name, how := range c.Methods {
				used, held := one.uses(p.Name, how), c.Verdict == proof.Held
				before, seen := one.methods[name]
				if used {
					one.methods[name] = held && (before || !seen)
				}
			}
		}
	}
	return one, nil
}

// uses reports whether a part of the kit shows about the machine that a method works: the lives on Windows, and the
// single calls on Wine. The other parts are about emulated nodes, or ask and prove nothing.
func (r machineReport) uses(part, how string) bool {
	if r.machine.System == proof.Wine {
		return part == "calls" && how == "OK"
	}
	return strings.HasPrefix(part, "lives") && how == "proved"
}

// system names a machine; Wine never looks like Windows.
func (r machineReport) system() string {
	name := strings.TrimSpace(r.machine.Product + " " + r.machine.Build)
	if r.machine.System == proof.Wine {
		name = "Wine " + r.machine.Wine
	}
	return name + ", " + r.machine.Architecture
}

// build is the short form of a Windows build, 20348 of 10.0.20348.2340.
func (r machineReport) build() string {
	parts := strings.Split(r.machine.Build, ".")
	return parts[min(2, len(parts)-1)]
}

// reported returns the Windows column that reports fill: for each method L and the builds on which all lives held that
// used it. There is none without a report of Windows.
func reported(all []machineReport) (record, bool) {
	column, there := record{Level: windows, Methods: map[string]string{}}, false
	for _, r := range all {
		if r.machine.System != proof.Windows {
			continue
		}
		there = true
		for method, held := range r.methods {
			if held && !strings.Contains(column.Methods[method]+",", " "+r.build()+",") {
				column.Methods[method] += ", " + r.build()
			}
		}
	}
	for method, builds := range column.Methods {
		column.Methods[method] = "L" + strings.TrimPrefix(builds, ",")
	}
	return column, there
}

// row is the report's in the table of runs.
func (r machineReport) row(total int) string {
	held, title := 0, "Windows"
	for _, ok := range r.methods {
		if ok {
			held++
		}
	}
	if r.machine.System == proof.Wine {
		title = "Wine, reported"
	}
	return fmt.Sprintf("| %s | %d of %d | %s | %s | %s | [csi-proxy-prove](evidence/%s/%s) |\n", title, held, total,
		r.date, r.kit, r.system(), reportsDir, r.file)
}
