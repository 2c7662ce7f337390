// SPDX-License-Identifier: Apache-2.0

//go:build unix

package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replaceByLink replaces an open log by a link, which Windows does not allow.
func replaceByLink(t *testing.T, l link, target, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.plant(t, target, path)
}

// The link itself is set aside, and a new file begins.
func TestALinkPlantedBetweenTwoReplacements(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			target, f := makeTarget(t), open(t, Options{MaxBytes: 1})
			write(t, f, "one", "two")
			replaceByLink(t, l, target, f.path)
			write(t, f, "three", "four")
			wantContents(t, f, "one\n", secret, "three\n", "four\n")
			wantUntouched(t, target)
		})
	}
}

// If the link cannot be set aside, its target is not written to.
func TestALinkPlantedBetweenTwoReplacementsThatCannotBeRenamed(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			target := makeTarget(t)
			// A name so long that there is none for an old file.
			f := openAt(t, filepath.Join(t.TempDir(), strings.Repeat("a", 250)), Options{MaxBytes: 1})
			write(t, f, "one")
			replaceByLink(t, l, target, f.path)
			_, err := f.Write([]byte("two\n"))
			wantError(t, err, l.refused)
			wantUntouched(t, target)
		})
	}
}
