// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `Usage:
  go run ./test/evidence record -level LEVEL -command TEXT [-system TEXT] [-commit TEXT] -o FILE <EVENTS
                                      make a record from the output of go test -json
  go run ./test/evidence page -o FILE DIR   write the page from the records in DIR
The levels: pure, emulated, wine-emulated, wine-windows, windows.
`

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "evidence: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string, stdin io.Reader) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command given: record or page")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var r record
	level := flags.String("level", "", "the `level` that was tested")
	flags.StringVar(&r.Command, "command", "", "the `command` that ran the tests, shown on the page")
	flags.StringVar(&r.System, "system", "", "the system that they ran on")
	flags.StringVar(&r.Commit, "commit", "", "the commit that was tested")
	flags.StringVar(&r.Date, "date", "", "the date of the run, as YYYY-MM-DD")
	out := flags.String("o", "", "the `file` to write")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("-o is required")
	}
	switch args[0] {
	case "record":
		r.Level = *level
		content, err := makeRecord(r, stdin)
		if err != nil {
			return err
		}
		return os.WriteFile(*out, content, 0o644) //nolint:gosec // a document for everybody
	case "page":
		if flags.NArg() != 1 {
			return errors.New("the directory of the records is required")
		}
		content, err := pageFrom(os.DirFS(flags.Arg(0)))
		if err != nil {
			return err
		}
		return os.WriteFile(*out, []byte(content), 0o644) //nolint:gosec // a document for everybody
	}
	return fmt.Errorf("%q is neither record nor page", strings.Join(args, " "))
}
