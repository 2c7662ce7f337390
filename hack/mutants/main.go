// SPDX-License-Identifier: Apache-2.0

// Command mutants breaks the security-relevant code, one small change at a time, and checks that the tests notice. The
// changes and the tests that must fail are in table/*.txt; the work tree is not touched.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := flags.String("run", "", "try only the mutants whose title or file matches this `regexp`")
	wine := flags.Bool("wine", false, "try also those that only tests under Wine can kill (root)")
	verbose := flags.Bool("v", false, "show what the tests print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	matching, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	all, err := readTables(filepath.Join(root, "hack", "mutants", "table"))
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !matching.MatchString(m.title) && !matching.MatchString(m.file) })
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l := &laboratory{root: root, dir: dir, wine: *wine, sound: map[trial]error{}}
	if *verbose {
		l.output = out
	}
	count := map[verdict]int{}
	for _, m := range all {
		began := time.Now()
		v, err := l.try(m)
		count[v]++
		_, _ = fmt.Fprintf(out, "%-9s %5.1f s  %s (%s)\n", v, time.Since(began).Seconds(), m.title, m.file)
		if err != nil {
			_, _ = fmt.Fprintf(out, "          %s\n", strings.ReplaceAll(err.Error(), "\n", "\n          "))
		}
	}
	_, _ = fmt.Fprintf(out, "%d mutants:", len(all))
	for _, v := range []verdict{killed, hung, explained, unseen, skipped, survived, broken} {
		if count[v] > 0 {
			_, _ = fmt.Fprintf(out, " %d %s", count[v], v)
		}
	}
	_, _ = fmt.Fprintln(out)
	if count[survived]+count[broken] > 0 {
		return errors.New("the tests do not notice every change, or a change cannot be made any more")
	}
	return nil
}

// repository returns the top of the work tree.
func repository() (string, error) {
	file, err := exec.Command("go", "env", "GOWORK").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(file))), nil
}
