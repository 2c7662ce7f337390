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

const usage = `Usage:
  go run ./test/evidence -level LEVEL -command TEXT [-system TEXT] [-commit TEXT] [-date DATE] -o FILE <EVENTS
                                      make a record from the output of go test -json
  go run ./test/evidence -o FILE DIR  write the page from the records in DIR
The levels: pure, emulated, wine-emulated, wine-windows.
`

func main() {
	if err := evidence(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "evidence: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func evidence(args []string, stdin io.Reader) error {
	flags := flag.NewFlagSet("evidence", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	var r record
	var out string
	for name, value := range map[string]*string{"level": &r.Level, "command": &r.Command, "system": &r.System,
		"commit": &r.Commit, "date": &r.Date, "o": &out} {
		flags.StringVar(value, name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if out == "" || (r.Level == "") != (flags.NArg() == 1) {
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
	return os.WriteFile(out, content, 0o644) //nolint:gosec // a public document
}
