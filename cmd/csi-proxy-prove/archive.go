// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// errNoPrograms is that of a kit that was built without its programs.
var errNoPrograms = errors.New("this program has no tests in it: build a whole kit with hack/build-prove.sh " +
	"windows-amd64 FILE, or take the released one")

// pack writes a kit: a program, and the files of a directory in a zip at its end, where archive/zip finds it. The same
// files give the same bytes.
func pack(program, directory, out string) error {
	entries, err := os.ReadDir(directory) // sorted
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // a program for everybody
	if err != nil {
		return err
	}
	err = func() error {
		if err := appendFile(file, program); err != nil {
			return err
		}
		w := zip.NewWriter(file)
		for _, e := range entries {
			header := &zip.FileHeader{Name: e.Name(), Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
			header.SetMode(0o755)
			entry, err := w.CreateHeader(header)
			if err != nil {
				return err
			}
			if err := appendFile(entry, filepath.Join(directory, e.Name())); err != nil {
				return err
			}
		}
		return w.Close()
	}()
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	return nil
}

func appendFile(to io.Writer, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}

// hashOf returns the SHA-256 of a file.
func hashOf(path string) (string, error) {
	hash := sha256.New()
	if err := appendFile(hash, path); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// maxProgram is the most that a program of the kit may have unpacked.
const maxProgram = 1 << 30

// unpack writes the programs of a kit into a directory, and returns their SHA-256 by name.
func unpack(kit, directory string) (map[string]string, error) {
	archive, err := zip.OpenReader(kit)
	if errors.Is(err, zip.ErrFormat) {
		return nil, errNoPrograms
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	hashes := map[string]string{}
	for _, f := range archive.File {
		if !filepath.IsLocal(f.Name) || filepath.Base(f.Name) != f.Name {
			return nil, fmt.Errorf("the kit has a file %q", f.Name)
		}
		if hashes[f.Name], err = unpackOne(f, filepath.Join(directory, f.Name)); err != nil { //nolint:gosec // checked above
			return nil, fmt.Errorf("unpacking %s: %w", f.Name, err)
		}
	}
	return hashes, nil
}

func unpackOne(f *zip.File, path string) (string, error) {
	from, err := f.Open()
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a program
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, hash), io.LimitReader(from, maxProgram+1))
	if err == nil && n > maxProgram {
		err = fmt.Errorf("it has more than %d bytes", maxProgram)
	}
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, to.Close())
}

// contents returns the names of the programs in a kit.
func contents(kit string) (names []string, err error) {
	archive, err := zip.OpenReader(kit)
	if errors.Is(err, zip.ErrFormat) {
		return nil, errNoPrograms
	}
	if err != nil {
		return nil, err
	}
	for _, f := range archive.File {
		names = append(names, f.Name)
	}
	return names, archive.Close()
}
