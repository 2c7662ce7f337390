// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// Complete returns an error if the entries of a journal after a sequence number begin later: it keeps only the newest,
// and a comparison of the rest would mean nothing.
func Complete(entries []*nodeapi.JournalEntry, after uint64) error {
	if len(entries) == 0 || entries[0].GetSequence() <= after+1 { // a running call has the number 0
		return nil
	}
	return fmt.Errorf("the journal has lost #%d to #%d; compare a shorter part of it, after a later number", after+1,
		entries[0].GetSequence()-1)
}

// Compare compares a transcript with the one in a file and returns the difference as lines to remove from the file and
// lines to add, empty if there is none. In the file, empty lines and lines that begin with # do not count. With update,
// it writes the transcript to the file instead, below the remarks at its beginning.
func Compare(file, got string, update bool) (difference string, err error) {
	content, err := os.ReadFile(file)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && !update:
		return "", fmt.Errorf("%w; -csiproxytest.update writes it", err)
	case err != nil && !missing:
		return "", err
	}
	head, want := split(strings.ReplaceAll(string(content), "\r\n", "\n"))
	if !update {
		return string(diff.Diff(file, []byte(want), "the journal", []byte(got))), nil
	}
	return "", os.WriteFile(file, []byte(head+got), 0o644) //nolint:gosec // a file of the test's source, as others can read it
}

// split separates the remarks at the beginning of a file from its calls, without further remarks.
func split(content string) (head, calls string) {
	for line := range strings.Lines(content) {
		switch remark := strings.TrimSpace(line) == "" || line[0] == '#'; {
		case !remark:
			calls += strings.TrimSuffix(line, "\n") + "\n"
		case calls == "":
			head += line
		}
	}
	return head, calls
}
