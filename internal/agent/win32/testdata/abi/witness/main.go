// SPDX-License-Identifier: Apache-2.0

// Command witness compares what our Go declares about Windows with what the mingw-w64 headers declare.
//
// It reads constants, structures and prototypes from the Go source, writes one C++ assertion for each, and lets clang
// judge them, for x64 and for arm64. headers.txt gives the C names, and lists what the headers lack or declare
// otherwise. The command fails for a declaration that is not accounted for, and for a line in headers.txt that is not
// needed.
//
//	witness -headers DIRECTORY -table headers.txt -layouts FILE,FILE
//
// It runs in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	headers := flag.String("headers", "", "the directory of the mingw-w64 headers")
	tablePath := flag.String("table", "", "the file of C names and exceptions")
	layouts := flag.String("layouts", "", "files of sizes and offsets that extract.go wrote")
	flag.Parse()
	complaints, count, err := run(*headers, *tablePath, strings.Split(*layouts, ","))
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, "witness:", c)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d declarations compared with the headers\n", count)
}

func run(headers, tablePath string, layouts []string) (complaints []string, count int, err error) {
	table, err := readTable(tablePath)
	if err != nil {
		return nil, 0, err
	}
	source, err := readSource()
	if err != nil {
		return nil, 0, err
	}
	claims, complaints := source.claims(table)
	more, err := layoutClaims(layouts)
	if err != nil {
		return complaints, 0, err
	}
	claims = append(claims, more...)
	for _, target := range []string{"x86_64-w64-windows-gnu", "aarch64-w64-windows-gnu"} {
		verdicts, err := judge(claims, headers, target)
		if err != nil {
			return complaints, 0, err
		}
		complaints = append(complaints, table.compare(claims, verdicts, target)...)
	}
	complaints = append(complaints, table.unused()...)
	return complaints, len(claims), nil
}

// compare returns a complaint for each verdict that the table does not expect.
func (t *table) compare(claims []claim, verdicts []verdict, target string) (complaints []string) {
	lacking := map[string]string{}
	for i, c := range claims {
		v := verdicts[i]
		switch {
		case v.lacks && t.listed("lack", c.subject):
		case v.lacks:
			lacking[c.subject] = c.text
		case v.differs && t.listed("differ", c.key):
		case v.differs:
			complaints = append(complaints, fmt.Sprintf("%s: the headers disagree: %s (claim %s)", target, c.text, c.key))
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(lacking)) {
		complaints = append(complaints, fmt.Sprintf("%s: the headers lack %s, and %s does not list it (%s)", target, subject,
			t.path, lacking[subject]))
	}
	return complaints
}
