// SPDX-License-Identifier: Apache-2.0

// Command evidence writes docs/evidence.md, which lists for each method of the API the level at which it was proved. It
// reads nothing but records of test runs in docs/evidence, which it makes from the output of go test, and the reports
// of csi-proxy-prove there.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := evidence(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "evidence: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func evidence(args []string, stdin io.Reader) error {
	flags := flag.NewFlagSet("evidence", flag.ContinueOnError)
	var r record
	flags.StringVar(&r.Level, "level", "", "make the record of this `level` from the output of go test -json: "+
		"pure, emulated, wine-emulated or wine-windows")
	flags.StringVar(&r.Command, "command", "", "the `command` that the record names")
	flags.StringVar(&r.System, "system", "", "the `system` that the record names")
	flags.StringVar(&r.Commit, "commit", "", "the `commit` that the record names")
	flags.StringVar(&r.Date, "date", "", "the `date` that the record names")
	out := flags.String("o", "", "`file` to write: a record, or the page from the directory of the records")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || (r.Level == "") != (flags.NArg() == 1) {
		flags.Usage()
		return errors.New("-o is required, and either -level or the directory of the records")
	}
	var content []byte
	var err error
	if r.Level != "" {
		content, err = makeRecord(r, stdin)
	} else {
		content, err = pageFrom(os.DirFS(flags.Arg(0)))
	}
	if err != nil {
		return err
	}
	return os.WriteFile(*out, content, 0o644) //nolint:gosec // a public document
}
