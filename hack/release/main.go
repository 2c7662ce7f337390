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
  go run . archives -version vX.Y.Z -out DIR -man DIR   the archives and bills of materials of a release
  go run . licenses                                     check the licences of everything that is linked
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
	r := release{root: filepath.Join("..", ".."), log: os.Stdout}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "the `version` that the commands report")
	flags.StringVar(&r.out, "out", "", "the `directory` for the files, emptied first")
	flags.StringVar(&r.man, "man", "", "the `directory` of the manual pages")
	if len(args) == 0 {
		return fmt.Errorf("no command is given\n%s", usage)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "licenses":
		return r.checkLicenses(ctx)
	case "archives":
		return r.all(ctx)
	}
	return fmt.Errorf("%q is not a command\n%s", args[0], usage)
}

// A release is a release in the making.
type release struct {
	root    string // of the repository
	out     string
	man     string
	version string
	time    time.Time // of every file in the archives
	log     io.Writer
}

// all writes everything but the checksums.
func (r *release) all(ctx context.Context) error {
	if !semver.IsValid(r.version) || semver.Canonical(r.version) != r.version {
		return fmt.Errorf("-version %q is not of the form vX.Y.Z or vX.Y.Z-rc.1", r.version)
	}
	if major := semver.Major(r.version); major != "v0" && major != "v1" {
		return fmt.Errorf("-version %q is to Go a version of the module v2, which has no files; a release is v0 or v1",
			r.version)
	}
	if r.out == "" || r.man == "" {
		return errors.New("-out and -man are required")
	}
	// https://reproducible-builds.org/specs/source-date-epoch/
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is not the commit's time in seconds since 1970: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	for _, t := range []target{{"windows", "amd64"}, {"windows", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}} {
		if err := r.archive(ctx, t); err != nil {
			return fmt.Errorf("%s/%s: %w", t.system, t.arch, err)
		}
	}
	if err := r.protos(); err != nil {
		return fmt.Errorf("the protos: %w", err)
	}
	return r.vex()
}

func (r *release) write(name string, content []byte) error {
	_, _ = fmt.Fprintf(r.log, "%10d %s\n", len(content), name)
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644) //nolint:gosec // public files
}

// command runs a program in a module of the repository, with variables in its environment, and returns what it prints.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	output, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return output, nil
}
