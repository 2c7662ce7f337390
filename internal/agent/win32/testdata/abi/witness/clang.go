// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A claim is something that Go believes about Windows.
type claim struct {
	key       string // names it in a "differ" line
	subject   string // what the headers must have, for a "lack" line
	condition string // in C++
	text      string // for people
}

// A verdict is what the headers say to a claim.
type verdict struct{ lacks, differs bool }

//go:embed assertions.h
var assertions string

// headerSets are the headers that cannot be included together. A claim needs one that knows its subject.
var headerSets = []string{"USER_HEADERS", "KERNEL_HEADERS"}

// sentinel is the last claim. It must fail: otherwise clang gave up before it, and silence means nothing.
const sentinel = "static_assert(false, \"sentinel\");\n"

var diagnostic = regexp.MustCompile(`^claims:(\d+):\d+: (?:fatal )?error: (.*)$`)

// judge compiles the claims. Each has a line of its own, by which an error is attributed to it.
func judge(claims []claim, headers, target string) ([]verdict, error) {
	directory, err := os.MkdirTemp("", "witness")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	var text strings.Builder
	text.WriteString(assertions + "#line 1 \"claims\"\n")
	for _, c := range claims {
		fmt.Fprintf(&text, "static_assert(%s, %q);\n", c.condition, c.text)
	}
	text.WriteString(sentinel)
	path := filepath.Join(directory, "claims.cc")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(claims))
	for i := range verdicts {
		verdicts[i].lacks = true
	}
	for _, set := range headerSets {
		failed, err := compile(path, set, headers, target, len(claims))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", target, set, err)
		}
		for i, message := range failed {
			if v := &verdicts[i]; message == "" {
				v.lacks = false
			} else if strings.HasPrefix(message, "static_assert failed") ||
				strings.HasPrefix(message, "static assertion failed") {
				v.lacks, v.differs = false, true
			}
		}
	}
	return verdicts, nil
}

// compile returns the first error of each claim's line.
func compile(path, set, headers, target string, count int) ([]string, error) {
	command := exec.Command("clang", "--target="+target, "-D"+set, "-isystem", headers, "-isystem",
		filepath.Join(headers, "ddk"),
		"-std=c++17", "-fsyntax-only", "-w", "-ferror-limit=0", "-fno-caret-diagnostics", "-fno-spell-checking", path)
	output, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	failed := make([]string, count+1)
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		m := diagnostic.FindStringSubmatch(lines.Text())
		if m == nil {
			continue // in the headers
		}
		if n, err := strconv.Atoi(m[1]); err == nil && failed[n-1] == "" {
			failed[n-1] = m[2]
		}
	}
	if failed[count] == "" {
		return nil, fmt.Errorf("clang did not reach the last claim:\n%s", output)
	}
	return failed[:count], nil
}
