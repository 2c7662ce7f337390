// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads the policy of an agent. Whoever can change the file can give himself every right, so it is refused if it
// is a link, or if it or a directory above it can be changed by others than the agent's user and the machine's
// administrators.
func Load(path string) (*Policy, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Guard returns why an agent would refuse the file, whatever is in it; nil: it would not.
func Guard(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	file, err := open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// open opens the file itself, looks at it through the handle, and then at the directories above it.
func open(path string) (_ *os.File, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|notFollowing, 0)
	if err != nil {
		if info, statErr := os.Lstat(path); statErr == nil && !info.Mode().IsRegular() {
			return nil, notRegular(path)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	if err := guardFile(file, info); err != nil {
		return nil, err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return nil, err
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return nil, fmt.Errorf("the policy %s is refused: the directory %s is a link; give the path without links", path,
				dir)
		}
		if err := guardDirectory(path, dir, info); err != nil {
			return nil, err
		}
		if dir == filepath.Dir(dir) {
			return file, nil
		}
	}
}

func notRegular(path string) error {
	return fmt.Errorf("the policy %s is refused: it is a link or not a regular file, which is not followed; give the "+
		"path of a plain file", path)
}
