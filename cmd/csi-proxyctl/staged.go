// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

// staged returns what kubelet wrote beside the globalmounts among the facts, as far as this process can read it.
func (a *connection) staged(ctx context.Context, f *doctor.Facts) map[string]doctor.Staged {
	var paths []string
	for _, p := range f.Tree.Volumes() {
		paths = append(paths, p.Volume.MountPoints...)
	}
	for _, u := range doctor.Unpublished(f.Seen) {
		paths = append(paths, u.GetPath())
	}
	all := map[string]doctor.Staged{}
	for _, path := range paths {
		key := doctor.GlobalmountKey(path)
		if _, known := all[key]; key == "" || known {
			continue
		}
		dir := path[:strings.LastIndexByte(strings.TrimSuffix(path, `\`), '\\')]
		if f.Emulated.Path != "" {
			at, err := partAt[string](ctx, a, "hostPath", dir)
			if err != nil {
				continue
			}
			dir = at
		} else if runtime.GOOS != "windows" {
			continue
		}
		if s, err := readStaged(dir); err == nil {
			all[key] = s
		}
	}
	return all
}

// maxVolumeData limits what is read of a vol_data.json; kubelet's have some 300 bytes.
const maxVolumeData = 64 << 10

// readStaged reads kubelet's vol_data.json in the directory of a globalmount, if it is there. A stage is as old as the
// newest of the file and the directory.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/csi/csi_attacher.go, MountDevice
func readStaged(dir string) (s doctor.Staged, err error) {
	made, err := os.Stat(dir)
	if err != nil {
		return s, err
	}
	s.Age = time.Since(made.ModTime())
	file, err := os.Open(filepath.Join(dir, "vol_data.json"))
	if err != nil {
		return s, nil // drivers may be called by others than kubelet
	}
	defer func() { _ = file.Close() }()
	if written, err := file.Stat(); err == nil {
		s.Age = min(s.Age, time.Since(written.ModTime()))
	}
	var data struct {
		DriverName string `json:"driverName"`
	}
	text, err := io.ReadAll(io.LimitReader(file, maxVolumeData))
	if err == nil && json.Unmarshal(text, &data) == nil {
		s.Driver = data.DriverName
	}
	return s, nil
}
