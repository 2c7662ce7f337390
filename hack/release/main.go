// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

const usage = `Usage, in hack/release:
  go run . all -version vX.Y.Z -out DIR              all files of a release
  go run . binaries -version VERSION -out DIR TARGET…  the commands alone, in DIR/ARCH for each of the targets
  go run . licenses                                  check the licences of all that is linked
  go run . reproduce                                 build twice, in different places, and compare
A target is a system and an architecture, such as windows/amd64.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is main, and stop has been called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("which?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	version := flags.String("version", "", "the `version` that the binaries say they are")
	out := flags.String("out", "", "the `directory` for the files, made when it is missing")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	r := release{root: root, version: *version, log: os.Stdout}
	switch args[0] {
	case "licenses":
		return r.checkLicenses(ctx)
	case "reproduce":
		return r.reproduce(ctx)
	case "binaries", "all":
	default:
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("there is no %q", args[0])
	}
	if *version == "" || *out == "" {
		return errors.New("-version and -out are needed")
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if args[0] == "binaries" {
		return r.binaries(ctx, flags.Args())
	}
	if !semver.IsValid(*version) || semver.Canonical(*version) != *version {
		return fmt.Errorf("the version %q is none of the form vX.Y.Z or vX.Y.Z-rc.1", *version)
	}
	return r.all(ctx)
}

// A release is one that is being made.
type release struct {
	root    string // of the repository
	out     string
	version string
	time    time.Time // of every file in the archives
	log     io.Writer
}

// all makes everything.
func (r *release) all(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var err error
	if r.time, err = r.commitTime(ctx); err != nil {
		return err
	}
	for _, t := range targets() {
		if err := r.archive(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.chart(ctx); err != nil {
		return fmt.Errorf("the chart: %w", err)
	}
	return writeSums(r.out)
}

// commitTime is the time of what is released: SOURCE_DATE_EPOCH, or the commit's.
// https://reproducible-builds.org/specs/source-date-epoch/
func (r *release) commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		output, err := command(ctx, r.root, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("the commit's time, which SOURCE_DATE_EPOCH replaces where there is no git: %w", err)
		}
		text = strings.TrimSpace(string(output))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q are no seconds since 1970: %w", text, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// command runs a program and returns what it prints.
func command(ctx context.Context, dir string, name string, args ...string) ([]byte, error) {
	return commandWith(ctx, dir, nil, name, args...)
}

func commandWith(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = append(os.Environ(), append([]string{"GOWORK=off"}, env...)...)
	output, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return output, nil
}
