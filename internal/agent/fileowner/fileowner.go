// SPDX-License-Identifier: Apache-2.0

// Package fileowner says which accounts may change a file or directory, and makes directories for administrators alone.
package fileowner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Writers returns the accounts besides administrators that may change a file or directory, by name if it has one.
func Writers(path string) ([]string, error) { return writers(path, "") }

// Others returns the Writers without the user of this process.
func Others(path string) ([]string, error) {
	user, err := self()
	if err != nil {
		return nil, err
	}
	return writers(path, user)
}

// Check refuses a link, and what others than administrators and this process's user can change.
func Check(path string) error { return check(path, Others) }

// CheckAbove is Check for a path and the directories above it, where others could put another file in its place. Those
// come first: below a directory that others cannot change, nothing is replaced meanwhile.
func CheckAbove(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var above []string
	for dir := filepath.Dir(path); !slices.Contains(above, dir); dir = filepath.Dir(dir) {
		above = append(above, dir)
	}
	slices.Reverse(above)
	for _, dir := range above {
		if err := check(dir, replacers); err != nil {
			return err
		}
	}
	return Check(path)
}

func check(path string, accounts func(string) ([]string, error)) error {
	link, err := IsLink(path)
	if err != nil {
		return err
	}
	if link {
		return fmt.Errorf("%s is a link; give the path without links", path)
	}
	names, err := accounts(path)
	if err != nil {
		return fmt.Errorf("cannot read which accounts may change %s: %w", path, err)
	}
	if len(names) > 0 {
		return fmt.Errorf("%s can be changed by %s; %s", path, strings.Join(names, ", "), remedy)
	}
	return nil
}
