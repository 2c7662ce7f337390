// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// reportLimit is how long the report of a failed test may take: the node may hang, perhaps because the test asked for
// it.
const reportLimit = 10 * time.Second

// How many lines each part of the report has at most. With the heads that is below 200: more is not read, and pushes
// what the test itself printed off the screen.
const (
	callLines  = 100 // API calls, and the kernel calls of those that failed
	under      = 8   // kernel calls of one call that failed
	treeLines  = 50
	logShown   = 30
	lineLength = 400
)

// The -v of the agent's log: with a line for each call where no journal has the calls.
const (
	besideJournal  = 0
	withoutJournal = 2
)

// report returns what helps to understand a failed test: the API calls first, then the storage and the end of the
// agent's log. All of it goes into files, whose directory the last line names.
func (n *Node) report() string {
	var entries []*nodeapi.JournalEntry
	var text strings.Builder
	if n.emulated != nil {
		entries = n.Journal() // first: the tree adds to it
		n.emulated.Faults.Release()
		calls, left := callsText(entries)
		fmt.Fprintf(&text, "API calls%s, with the Windows functions of those that failed:\n%s\n", newest(left), calls)
	}
	drawing := n.drawing()
	text.WriteString(first(drawing, treeLines))
	if lines := n.log.all(); len(lines) > 0 {
		shown := lines[max(0, len(lines)-logShown):]
		fmt.Fprintf(&text, "\nThe agent's log%s:\n%s", newest(len(lines)-len(shown)), clipped(shown))
	}
	dir, err := n.keep(map[string]string{"journal.txt": journalText(entries), "tree.txt": drawing,
		"agent.log": strings.Join(n.log.all(), "")})
	if err != nil {
		fmt.Fprintf(&text, "\nThe whole journal could not be kept: %v\n", err)
		return text.String()
	}
	fmt.Fprintf(&text, "\nThe whole journal, tree and log are in %s\n", dir)
	return text.String()
}

// callsText returns the newest API calls, with the kernel calls of those that failed, and how many calls it leaves out.
func callsText(entries []*nodeapi.JournalEntry) (text string, left int) {
	kernel := map[string][]string{} // by request id
	for _, e := range entries {
		if e.GetKernel() != nil && e.GetRequestId() != "" {
			kernel[e.GetRequestId()] = append(kernel[e.GetRequestId()], journal.Line(e)+"\n")
		}
	}
	var blocks [][]string
	lines := 0
	for _, e := range slices.Backward(entries) {
		if e.GetApi() == nil {
			continue
		}
		block := []string{journal.Line(e) + "\n"}
		if code := e.GetApi().GetCode(); code != "OK" { // or it still runs
			below := kernel[e.GetRequestId()]
			block = append(block, below[max(0, len(below)-under):]...)
		}
		if lines += len(block); lines > callLines {
			left++
			continue
		}
		blocks = append(blocks, block)
	}
	slices.Reverse(blocks)
	return clipped(slices.Concat(blocks...)), left
}

// newest returns the words for a part of which some of the beginning is left out.
func newest(left int) string {
	if left <= 0 {
		return ""
	}
	return fmt.Sprintf(", without the first %d", left)
}

// first returns the first lines of a text.
func first(text string, most int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= most+1 {
		return clipped(lines)
	}
	return clipped(lines[:most]) + fmt.Sprintf("… and %d lines more\n", len(lines)-most-1)
}

// clipped joins lines, of which none is too long to be read.
func clipped(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		if len(line) > lineLength {
			end := lineLength
			for !utf8.RuneStart(line[end]) {
				end--
			}
			line = line[:end] + "…\n"
		}
		text.WriteString(line)
	}
	return text.String()
}

// drawing returns the node's storage as csi-proxyctl tree draws it.
func (n *Node) drawing() string {
	ctx, cancel := context.WithTimeout(n.context(), reportLimit)
	defer cancel()
	var drawing strings.Builder
	facts, err := n.facts(ctx)
	if err == nil {
		err = treeview.Write(&drawing, treeview.FromFacts(facts))
	}
	if err != nil {
		fmt.Fprintf(&drawing, "no tree: %v\n", err)
	}
	return drawing.String()
}

// keep writes the report's files: into the test's artifacts with go test -artifacts, else into a temporary directory
// that stays.
func (n *Node) keep(files map[string]string) (dir string, err error) {
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		dir = n.t.ArtifactDir()
	} else if dir, err = os.MkdirTemp("", "csiproxytest-"); err != nil { // which outlives the test
		return "", err
	}
	var errs []error
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir, errors.Join(errs...)
}

// logLines keeps the lines of the agent's log, which may write them from any goroutine, even when the test is over.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxLogKept bounds the log of a test that runs for long: it goes on without its beginning.
const maxLogKept = 8 << 20

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() > maxLogKept {
		l.text.Next(maxLogKept / 2)
		_, _ = l.text.ReadBytes('\n')
	}
	return l.text.Write(line)
}

// all returns the lines.
func (l *logLines) all() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		return nil
	}
	return strings.SplitAfter(strings.TrimSuffix(l.text.String(), "\n")+"\n", "\n")
}
