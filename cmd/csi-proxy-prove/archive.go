// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// errNoPrograms is that of a kit that was built without its programs.
var errNoPrograms = errors.New("this program has no tests in it: build a whole kit with hack/build-prove.sh " +
	"windows-amd64 FILE, or take the released one")

// pack writes a kit: a program, and the files of a directory in a zip at its end, where archive/zip finds it. The same
// files, with the same times, give the same bytes.
func pack(program, directory, out string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // a program for everybody
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	w := zip.NewWriter(file)
	return errors.Join(err, w.AddFS(os.DirFS(directory)), w.Close(), file.Close())
}

// hashOf returns the SHA-256 of a file.
func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// unpack writes the programs of a kit into a directory, and returns their SHA-256 by name.
func unpack(kit, directory string) (map[string]string, error) {
	archive, err := zip.OpenReader(kit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	if err := os.CopyFS(directory, archive); err != nil { // it refuses names that lead out
		return nil, err
	}
	entries, err := os.ReadDir(directory)
	hashes := map[string]string{}
	for _, e := range entries {
		hash, hashErr := hashOf(filepath.Join(directory, e.Name()))
		hashes[e.Name()], err = hash, errors.Join(err, hashErr)
	}
	return hashes, err
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
