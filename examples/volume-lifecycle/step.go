// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/status"
)

// A step is one call, or a change by another program.
type step struct {
	why  string // the purpose, for people
	call string // the methods that are called; empty: the step prints its own output and is not numbered
	do   func(ctx context.Context) (outcome string, err error)
}

// column is the column in which the time of a step ends.
const column = 72

// do runs one step and prints it: number and purpose, then the call, its duration and its outcome.
func (l *lifecycle) do(ctx context.Context, s step) error {
	if s.call == "" {
		_, err := s.do(ctx)
		return plain(err)
	}
	l.number++
	fmt.Printf("%3d. %s\n", l.number, s.why)
	begin := time.Now()
	outcome, err := s.do(ctx)
	took := time.Since(begin)
	if err != nil {
		return fmt.Errorf("step %d: %s: %w", l.number, s.call, plain(err))
	}
	line := "     " + s.call
	fmt.Printf("%s%*s\n", line, max(2, column-utf8.RuneCountInString(line)),
		fmt.Sprintf("%.1f ms", float64(took.Microseconds())/1000))
	fmt.Printf("     → %s\n", outcome)
	return nil
}

// plain returns an error without gRPC's framing.
func plain(err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return errors.New(s.Message())
	}
	return err
}

// bold returns a heading in bold on a terminal, and unchanged where the output goes elsewhere.
func bold(text string) string {
	if info, err := os.Stdout.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
