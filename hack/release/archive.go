// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"time"
)

// A target is a system and an architecture that the commands are built for.
type target struct{ system, arch string }

func (t target) env() []string {
	return []string{"GOOS=" + t.system, "GOARCH=" + t.arch, "CGO_ENABLED=0"}
}

// A file is an entry of an archive.
type file struct {
	name    string // with slashes
	content []byte
	mode    os.FileMode
}

// archive writes the archive and the bill of materials of a target: csi-proxy-v1.2.3-windows-amd64.zip and .cdx.json.
func (r *release) archive(ctx context.Context, t target) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := command(ctx, r.root, t.env(), "hack/build.sh", dir, r.version); err != nil {
		return err
	}
	if t.system == "windows" {
		err = r.fetched(t, dir)
	} else { // where csi-proxy only says that it is for Windows
		err = os.Remove(filepath.Join(dir, "csi-proxy"))
	}
	if err != nil {
		return err
	}
	notices, bill, err := r.materials(ctx, t, "./cmd/csi-proxy", "./cmd/csi-proxy-emulated", commandLine)
	if err != nil {
		return err
	}
	files := []file{{"THIRD_PARTY_NOTICES.txt", notices, 0o644}, {"csi-proxy.cdx.json", bill, 0o644}}
	add := func(folder, pattern string, mode os.FileMode) error {
		names, err := filepath.Glob(pattern) // sorted
		if err == nil && len(names) == 0 {
			err = errors.New("there is no " + pattern)
		}
		for _, name := range names {
			content, readErr := os.ReadFile(name)
			files = append(files, file{path.Join(folder, filepath.Base(name)), content, mode})
			err = errors.Join(err, readErr)
		}
		return err
	}
	pack, suffix := tarred, ".tar.gz"
	if t.system == "windows" {
		pack, suffix = zipped, ".zip"
		err = add("", filepath.Join(r.root, "deploy", "windows", "*.ps1"), 0o644)
	}
	if err := errors.Join(err,
		add("", filepath.Join(r.root, "LICENSE"), 0o644), add("", filepath.Join(r.root, "NOTICE"), 0o644),
		add("", filepath.Join(r.root, "README.md"), 0o644),
		add("", filepath.Join(dir, "csi-proxy*"), 0o755), add("man/man1", filepath.Join(r.man, "*.1"), 0o644)); err != nil {
		return err
	}
	base := "csi-proxy-" + r.version + "-" + t.system + "-" + t.arch
	packed, err := pack(base, files, r.time)
	if err != nil {
		return err
	}
	return errors.Join(r.write(base+suffix, packed), r.write(base+".cdx.json", bill))
}

// zipped puts files below a folder into a zip archive whose bytes depend only on the arguments.
func zipped(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// tarred does the same with a compressed tar archive.
func tarred(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: path.Join(folder, f.name), Size: int64(len(f.content)), Mode: int64(f.mode), ModTime: at,
			Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), compressed.Close())
	return b.Bytes(), err
}
