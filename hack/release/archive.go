// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A file is one in an archive.
type file struct {
	name    string // with slashes
	content []byte
	program bool
}

func (f file) mode() os.FileMode {
	if f.program {
		return 0o755
	}
	return 0o644
}

// archive makes the archive and the bill of materials of a target: csi-proxy-v1.2.3-windows-amd64.zip and .cdx.json.
func (r *release) archive(ctx context.Context, t target) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(ctx, r.root, dir, r.version, t); err != nil {
		return err
	}
	linked, err := linkedModules(ctx, r.root, t, "./cmd/csi-proxy", "./cmd/csi-proxyctl")
	if err != nil {
		return err
	}
	if err := allowed(linked); err != nil {
		return err
	}
	bill, err := bill(r.version, r.time, t, linked)
	if err != nil {
		return err
	}
	base := "csi-proxy-" + r.version + "-" + t.system + "-" + t.arch
	files := []file{{name: "THIRD_PARTY_NOTICES.txt", content: notices(linked)}, {name: "csi-proxy.cdx.json", content: bill}}
	sources := []string{"LICENSE", "README.md"}
	if t.system == "windows" {
		sources = append(sources, "deploy/windows/install.ps1", "deploy/windows/uninstall.ps1")
	}
	for _, name := range sources {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files = append(files, file{name: path.Base(name), content: content})
	}
	for _, name := range commands() {
		content, err := os.ReadFile(filepath.Join(dir, t.exe(name)))
		if err != nil {
			return err
		}
		files = append(files, file{t.exe(name), content, true})
	}
	pack, suffix := tarred, ".tar.gz"
	if t.system == "windows" {
		pack, suffix = zipped, ".zip"
	}
	packed, err := pack(base, files, r.time)
	if err != nil {
		return err
	}
	return errors.Join(r.write(base+suffix, packed), r.write(base+".cdx.json", bill))
}

func (r *release) write(name string, content []byte) error {
	_, _ = fmt.Fprintf(r.log, "%10d %s\n", len(content), name)
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644) //nolint:gosec // files for everybody
}

// zipped puts files below a folder into a zip archive whose bytes depend on the arguments alone.
func zipped(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
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

// tarred does so with a compressed tar archive. Without a folder the names are used as they are.
func tarred(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(folder, f.name), Size: int64(len(f.content)), Mode: int64(f.mode()),
			ModTime: at, Format: tar.FormatUSTAR,
		}
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

// untarred returns the files of a compressed tar archive.
func untarred(packed []byte) (files []file, err error) {
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%s is no plain file", header.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: header.Name, content: content})
	}
}

// chart packs the Helm chart with the release's version. Its own has no v, which Helm wants; the agent's has it, since the chart
// asks for the image of that tag. Helm writes the present time into the archive, so it is packed anew.
func (r *release) chart(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "chart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	helm, err := command(ctx, r.root, "go", "tool", "-modfile="+filepath.Join(r.root, "tools", "helm", "go.mod"), "-n", "helm")
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(r.version, "v")
	if _, err := command(ctx, r.root, strings.TrimSpace(string(helm)), "package", "charts/csi-proxy",
		"--version", version, "--app-version", r.version, "--destination", dir); err != nil {
		return err
	}
	name := "csi-proxy-" + version + ".tgz"
	packed, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	files, err := untarred(packed)
	if err != nil {
		return err
	}
	if packed, err = tarred("", files, r.time); err != nil {
		return err
	}
	return r.write("csi-proxy-chart-"+version+".tgz", packed)
}

// writeSums writes SHA256SUMS of a directory's files, as sha256sum -c reads them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644) //nolint:gosec // files for everybody
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}
