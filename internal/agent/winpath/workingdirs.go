// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"fmt"
	"slices"
	"strings"
)

// WorkingDirs are the directories in and below which callers may work. The zero value has none and permits nothing.
type WorkingDirs struct {
	dirs []Path // longest first
}

// NewWorkingDirs parses the directories that the operator configured; / is read as \. Duplicates are dropped.
func NewWorkingDirs(texts []string) (WorkingDirs, error) {
	var w WorkingDirs
	for _, text := range texts {
		dir, err := Parse(text, Options{ForwardSlash: true})
		if err != nil {
			return WorkingDirs{}, fmt.Errorf("working directory: %w", err)
		}
		if !slices.ContainsFunc(w.dirs, dir.Equal) {
			w.dirs = append(w.dirs, dir)
		}
	}
	slices.SortStableFunc(w.dirs, func(a, b Path) int { return len(b.Components()) - len(a.Components()) })
	return w, nil
}

// Find returns the innermost working directory that the path is in, in the operator's spelling, and the components
// below it, none for the directory itself. Names are compared whole and without regard to case. To open the path, walk
// rest from root: the operator's spelling, never the caller's, decides where the walk begins.
func (w WorkingDirs) Find(p Path) (root Path, rest []string, ok bool) {
	if p.IsZero() {
		return Path{}, nil, false
	}
	for _, dir := range w.dirs {
		if rest, ok := p.Below(dir); ok {
			return dir, rest, true
		}
	}
	return Path{}, nil, false
}

// Check is Find with an error, an *Error with the phrase that operators search for.
func (w WorkingDirs) Check(p Path) (root Path, rest []string, err error) {
	root, rest, ok := w.Find(p)
	if !ok {
		return Path{}, nil, refuse(p.text, "is not within the working directories (%s)", w)
	}
	return root, rest, nil
}

// Dirs returns the working directories, those with more components first. The caller may change the slice.
func (w WorkingDirs) Dirs() []Path { return slices.Clone(w.dirs) }

// String lists the directories for people.
func (w WorkingDirs) String() string {
	var texts []string
	for _, dir := range w.dirs {
		texts = append(texts, dir.text)
	}
	return strings.Join(texts, ", ")
}
