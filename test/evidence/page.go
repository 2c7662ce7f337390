// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

const preface = `# Evidence

What was proved about each method of the API, and where. ` + "`make evidence`" + ` runs the tests, keeps their results in
[docs/evidence](evidence), and writes this page from them; nothing on it is written by hand. An empty cell means that
nothing was proved.

| column | what ran | content of a cell |
|---|---|---|
| pure | the comparison of the released API's descriptors with the table that maps each old method to the newest one of its group | how the method relates to the newest one: *hub*: it is the newest one; *same bytes*: request and response are the same on the wire, field by field; *extra fields*: the same except for fields that one side lacks; *mapped*: the messages are converted; *alone*: it has no successor |
| emulated | the whole agent on an emulated node, called by the released Go client of the method's version over unix sockets | the marks below |
| Wine, pipes | the same, with agent and clients as Windows programs, over named pipes under Wine. The node is the emulated one, so only pipes, files and processes are those of Windows | the marks below |
| Wine, kernel | the agent with -host=windows under Wine, one call with sensible arguments, about things that every machine has; and lives in which a fake, written from Microsoft's documentation alone, stands in for what Wine lacks ([test/windows/fakes](../test/windows/fakes)) | how the call ended: *OK*, or the gRPC code and the function that Wine lacks, with its error. *OK, fake …*: it does what it says when that fake answers |
| Windows | the life of a disk, a share, a target or a service on a Windows machine, by the [reports](evidence/reports) that people send of csi-proxy-prove | L and the builds of Windows on which every life that used the method went well |

Marks: **S** it does what it says. **R** repeated, it succeeds and changes nothing. **F** it fails with the right code when
something is missing or a function of Windows fails. **H** it refuses requests that no honest caller sends, and nothing has changed.
**L** it was used in a life that went well, such as one from a raw disk to the disk's removal.

`

// pageFrom writes the page from the records in a directory.
func pageFrom(dir fs.FS) (string, error) {
	records, err := readRecords(dir)
	if err != nil {
		return "", err
	}
	all, _, err := methods()
	if err != nil {
		return "", err
	}
	for _, level := range levels() {
		if err := records[level].check(all); err != nil {
			return "", fmt.Errorf("%s.json: %w", level, err)
		}
	}
	reports, err := readReports(dir)
	if err != nil {
		return "", err
	}
	column, sent := reported(reports)
	if err := column.check(all); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(preface)
	runs(&b, records, len(all), sent)
	if sent {
		records[windows] = column // newer than what a workflow may have recorded
	}
	for _, r := range reports {
		b.WriteString(r.row(len(all)))
	}
	if _, there := records[windows]; !there {
		b.WriteString("\n**The Windows column is empty: the tests for it exist (.github/workflows/windows.yaml) and have " +
			"never run on Windows.**\n")
	}
	for _, rows := range grouped(all, records) {
		fmt.Fprintf(&b, "\n## %s\n\n| method | versions | pure | emulated | Wine, pipes | Wine, kernel | Windows "+
			"|\n|---|---|---|---|---|---|---|\n", rows[0].group)
		for _, r := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, strings.Join(r.versions, " "), strings.Join(r.cells, " | "))
		}
	}
	return b.String(), nil
}

// runs writes the table of the test runs, without Windows' if reports of it were sent.
func runs(b *strings.Builder, records map[string]record, total int, sent bool) {
	b.WriteString("| | methods | date | commit | on | command |\n|---|--:|---|---|---|---|\n")
	titles := map[string]string{pure: "pure", emulated: "emulated", wineEmulated: "Wine, pipes",
		wineWindows: "Wine, kernel", windows: "Windows"}
	for _, level := range levels() {
		r, there := records[level]
		if level == windows && sent {
			continue // its reports follow
		}
		if !there {
			fmt.Fprintf(b, "| %s | 0 of %d | never run | | | |\n", titles[level], total)
			continue
		}
		proved, faked := 0, 0
		for _, result := range r.Methods {
			if level != wineWindows || result == "OK" {
				proved++
			} else if strings.HasPrefix(result, "OK, fake ") {
				faked++
			}
		}
		count := fmt.Sprintf("%d of %d", proved+faked, total)
		if faked > 0 {
			count += fmt.Sprintf(", %d with a fake", faked)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | `%s` |\n", titles[level], count, r.Date, r.Commit, r.System, r.Command)
	}
}

// A row is a method in those versions for which the same was proved.
type row struct {
	group, name string
	versions    []string
	cells       []string
}

// grouped returns the rows of each group, in the order of the methods.
func grouped(all []method, records map[string]record) [][]row {
	var groups [][]row
	for _, m := range all {
		r := row{group: m.group, name: m.name, versions: []string{m.version}}
		for _, level := range levels() {
			r.cells = append(r.cells, records[level].Methods[m.String()])
		}
		if len(groups) == 0 || groups[len(groups)-1][0].group != m.group {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		same := slices.IndexFunc(*last,
			func(other row) bool { return other.name == r.name && slices.Equal(other.cells, r.cells) })
		if same >= 0 {
			(*last)[same].versions = append((*last)[same].versions, m.version)
			continue
		}
		*last = append(*last, r)
	}
	return groups
}
