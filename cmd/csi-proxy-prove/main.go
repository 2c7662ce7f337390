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
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
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
	k := &kit{self: self, parts: parts(), base: baseDirectory(), records: recordsDirectory(), stdin: os.Stdin,
		out: os.Stdout, inspect: inspectMachine}
	os.Exit(k.main(os.Args[1:], os.Stderr))
}

func (k *kit) main(args []string, stderr io.Writer) int {
	code, err := k.run(context.Background(), args)
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
func (k *kit) parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("csi-proxy-prove", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints errors, once
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.list, "list", false, "list the parts, and what each would do here, and do nothing")
	flags.BoolVar(&o.clean, "clean", false, "remove what an earlier run left, and do nothing else")
	flags.Func("only", "`parts` to run, with commas (default: all that can run here)", func(names string) error {
		o.only = strings.Split(names, ",")
		for _, name := range o.only {
			if !slices.ContainsFunc(k.parts, func(p part) bool { return p.name == name }) {
				return fmt.Errorf("no part %q; csi-proxy-prove -list names the parts", name)
			}
		}
		return nil
	})
	flags.StringVar(&o.report, "report", "", "`file` for the report; a page for people is written beside it (default: "+
		"csi-proxy-prove-SYSTEM-BUILD-TIME.json.gz beside this program)")
	flags.BoolVar(&o.hashSerials, "hash-serials", false, "write hashes in place of the serial numbers of disks")
	flags.BoolVar(&o.chap, "chap", false,
		"set the iSCSI initiator's secret for mutual CHAP, too, and clear it: one that was set in advance is lost")
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(k.out, usage)
		flags.SetOutput(k.out)
		flags.PrintDefaults()
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; csi-proxy-prove -help lists the flags", flags.Arg(0))
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
	case len(args) == 4 && args[0] == "pack":
		if err := pack([3]string(args[1:])); err != nil {
			return exitNothing, err
		}
		return exitHeld, nil
	}
	o, err := k.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return exitHeld, nil
	}
	if err != nil {
		return exitNothing, err
	}
	return k.prove(ctx, o)
}
