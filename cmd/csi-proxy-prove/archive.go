// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// errNoPrograms is that of a kit that was built without its programs.
var errNoPrograms = errors.New("this program has no tests in it: build a whole kit with hack/build-prove.sh " +
	"windows-amd64 FILE, or take the released one")

// pack writes a kit: a program, and the files of a directory in a zip at its end, where archive/zip finds it. Those are
// the names. The same files, with the same times, give the same bytes.
func pack(names [3]string) error {
	program, directory, out := names[0], names[1], names[2]
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // a program for everyone
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

// open opens the zip of a kit.
func open(kit string) (*zip.ReadCloser, error) {
	archive, err := zip.OpenReader(kit)
	if errors.Is(err, zip.ErrFormat) {
		err = errNoPrograms
	}
	return archive, err
}
