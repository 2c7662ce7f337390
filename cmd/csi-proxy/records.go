// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
)

// recordsDir makes and returns the directory for the records of shares in use. It returns "" if there is no safe place;
// then no share is staged in one call.
func recordsDir(logger klog.Logger) string {
	data := os.Getenv("ProgramData")
	if data == "" {
		return ""
	}
	base := filepath.Join(data, "csi-proxy")
	dir := filepath.Join(base, "shares")
	err := fileowner.MakeDirectory(dir)
	for _, made := range []string{base, dir} {
		if err == nil {
			err = fileowner.Check(made)
		}
	}
	if err != nil {
		logger.Error(err, "StageShare is refused, as the records of shares are not safe: remove the directory, or let only "+
			"administrators change it, and start the agent again", "directory", dir)
		return ""
	}
	return dir
}
