// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fileowner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// everyone stands for all accounts.
const everyone = "everyone"

const remedy = "let root or the agent's user own it, and take the others' right away with chmod go-w"

// Cure returns nothing: Check's error has the command.
func Cure(string, bool) string { return "" }

func self() (string, error) { return userName(os.Geteuid()), nil }

func userName(uid int) string { return fmt.Sprintf("user %d", uid) }

// writers returns the owner, and the others by the mode. Only root is an administrator.
func writers(path, besides string) (names []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if owner := userName(int(stat.Uid)); stat.Uid != 0 && owner != besides {
		names = append(names, owner)
	}
	if info.Mode().Perm()&0o020 != 0 {
		names = append(names, fmt.Sprintf("group %d", stat.Gid))
	}
	if info.Mode().Perm()&0o002 != 0 {
		names = append(names, everyone)
	}
	return names, nil
}

// replacers returns the Others that may replace what is in a directory: under the sticky bit, only its owner may.
func replacers(dir string) ([]string, error) {
	names, err := Others(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&fs.ModeSticky == 0 {
		return names, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return slices.DeleteFunc(names, func(name string) bool { return name != userName(int(stat.Uid)) }), nil
}

// Exposed returns a directory above the path in which all accounts may replace what is there; "": there is none. A
// directory that only its owner can enter protects those below it.
func Exposed(path string) (dir string, err error) {
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		names, err := replacers(above)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(above)
		if err != nil {
			return "", err
		}
		if slices.Contains(names, everyone) {
			dir = above
		} else if info.Mode().Perm()&0o011 == 0 {
			dir = ""
		}
		if above == filepath.Dir(above) {
			return dir, nil
		}
	}
}
