// SPDX-License-Identifier: Apache-2.0

// Command csi-proxy-prove tries CSI Proxy on the machine that it runs on and writes one report. It is one file: the
// agent and this project's own compiled tests are in a zip at its end. docs/prove.md shows how to run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/kubernetes-csi/csi-proxy/internal/buildversion"
)

// Exit codes.
const (
	exitHeld    = 0 // all that was tried held, and nothing is left on the machine
	exitFailed  = 1 // something did not hold, or is left
	exitNothing = 2 // nothing was done
)

func main() {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "csi-proxy-prove: %v\n", err)
		os.Exit(exitNothing)
	}
	out := newConsole(os.Stdout)
	k := &kit{
		self: self, parts: parts(), base: baseDirectory(), records: recordsDirectory(), stdin: os.Stdin,
		asked: term.IsTerminal(int(os.Stdin.Fd())), out: out,
		inspect: inspectMachine, reports: reportDirectory,
	}
	code := k.main(os.Args[1:], os.Stderr)
	out.end()
	os.Exit(code)
}

// main runs the kit until it is done or Ctrl-C ends it.
func (k *kit) main(args []string, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the kit at once; the next start cleans up
	code, err := k.run(ctx, args)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "csi-proxy-prove: %v\n", err)
	}
	return code
}

// options are the command line.
type options struct {
	yes         bool
	list        bool
	clean       bool
	only        []string
	report      string
	upstream    string
	hashSerials bool
	chap        bool
}

const usage = `csi-proxy-prove tries CSI Proxy on this machine and writes one report about it.

Run it as administrator. It looks at the machine first, says what it will do and what it cannot do here, and asks once.
It touches nothing that it did not make, and takes away what it made: also after a failure, after Ctrl-C, and, started
again, after it was killed or the power failed.

Usage:
  csi-proxy-prove [flags]
  csi-proxy-prove version
  csi-proxy-prove show REPORT >FILE.html       write the page of a report
  csi-proxy-prove pack PROGRAM DIRECTORY KIT   make KIT: PROGRAM, with the files of DIRECTORY in a zip at its end

Exit codes: 0 all that was tried held and nothing is left, 1 something did not hold or is left, 2 nothing was done.

Flags:
`

// parse reads the command line.
func parse(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("csi-proxy-prove", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints errors, once
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.list, "list", false, "list the parts, and what each would do here, and do nothing")
	flags.BoolVar(&o.clean, "clean", false, "remove what an earlier run left, and do nothing else")
	only := flags.String("only", "", "`parts` to run, with commas (default: all that can run here)")
	flags.StringVar(&o.report, "report", "",
		"`file` for the report; a page for people is written beside it (default: csi-proxy-prove-SYSTEM-BUILD-TIME.json.gz "+
			"beside this program, or else in your own directory)")
	flags.StringVar(&o.upstream, "upstream", "",
		"another `csi-proxy.exe` to measure beside this project's, by the same calls")
	flags.BoolVar(&o.hashSerials, "hash-serials", false,
		"write hashes in place of the serial numbers and page 83 identifiers of disks")
	flags.BoolVar(&o.chap, "chap", false,
		"set the iSCSI initiator's secret for mutual CHAP, too, and clear it: one that was set in advance is lost")
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; csi-proxy-prove -help lists the flags", flags.Arg(0))
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, err
}

// run is main with its surroundings in the kit. It returns the exit code.
func (k *kit) run(ctx context.Context, args []string) (int, error) {
	switch {
	case len(args) == 1 && args[0] == "version":
		k.print("csi-proxy-prove %s", buildversion.String())
		return exitHeld, nil
	case len(args) == 2 && args[0] == "show":
		return k.show(args[1])
	case len(args) > 0 && args[0] == "pack":
		var names [3]string // which the linter counts, unlike those of args
		if copy(names[:], args[1:]) != len(names) || len(args) != 1+len(names) {
			return exitNothing, errors.New("pack needs PROGRAM, DIRECTORY and KIT")
		}
		if err := pack(names[0], names[1], names[2]); err != nil {
			return exitNothing, err
		}
		return exitHeld, nil
	}
	o, err := parse(args, k.out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitHeld, nil
	case err != nil:
		return exitNothing, err
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(k.parts, func(p part) bool { return p.name == name }) {
			return exitNothing, fmt.Errorf("no part %q; csi-proxy-prove -list names the parts", name)
		}
	}
	return k.prove(ctx, o)
}
