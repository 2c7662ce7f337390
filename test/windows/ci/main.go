// SPDX-License-Identifier: Apache-2.0

// Command ci is what the Windows workflow runs besides the kit, which needs no Go: it builds the commands, runs the
// unit tests natively, and installs and removes the service, by its tests and by the scripts for users. Off Windows the
// same steps except the service's can be tried. Every step runs, whatever the result of the others; their results are
// left in a folder.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "state/windows", "`folder` for the results")
	only := flag.String("only", "", "run these `steps` only, separated by commas (default: all)")
	list := flag.Bool("list", false, "list the steps and run nothing")
	flag.Parse()
	if err := run(os.Stdout, *out, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(w io.Writer, out, only string, list bool) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	steps := steps(out, runtime.GOOS == "windows")
	if only != "" {
		if steps, err = chosen(steps, strings.Split(only, ",")); err != nil {
			return err
		}
	}
	if list {
		for _, s := range steps {
			_, _ = fmt.Fprintf(w, "%-9s %s\n", s.name, s)
		}
		return nil
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	var failed []string
	for _, s := range steps {
		_, _ = fmt.Fprintf(w, "=== %s: %s\n", s.name, s)
		start := time.Now()
		err := s.run(out, w)
		_, _ = fmt.Fprintf(w, "=== %s: %v, %v\n", s.name, verdict(err), time.Since(start).Round(time.Second))
		if err != nil {
			failed = append(failed, s.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; see %s", strings.Join(failed, ", "), out)
	}
	return nil
}

func verdict(err error) string {
	if err != nil {
		return "FAILED: " + err.Error()
	}
	return "passed"
}

// chosen returns the steps with the given names.
func chosen(all []step, names []string) (some []step, err error) {
	for _, name := range names {
		found := false
		for _, s := range all {
			if s.name == name {
				some, found = append(some, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no step %q", name)
		}
	}
	return some, nil
}
