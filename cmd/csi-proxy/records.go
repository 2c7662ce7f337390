// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/logfile"
	"github.com/kubernetes-csi/csi-proxy/internal/winservice"
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
	err := logfile.MakeDirectory(dir)
	for _, made := range []string{base, dir} {
		if err == nil {
			err = onlyAdministratorsChange(made)
		}
	}
	if err != nil {
		logger.Error(err, "StageShare is refused, as the records of shares are not safe: remove the directory, or let only "+
			"administrators change it, and start the agent again", "directory", dir)
		return ""
	}
	return dir
}

// onlyAdministratorsChange returns an error if others may change a directory, who could have put it there before the
// agent came, or if it leads elsewhere. What is in it decides which shares are unmapped, and it is written as SYSTEM.
func onlyAdministratorsChange(dir string) error {
	link, err := logfile.IsLink(dir)
	if err != nil {
		return err
	}
	if link {
		return fmt.Errorf("%s leads elsewhere", dir)
	}
	others, err := winservice.Writers(dir, ownSID())
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("%s may be changed by %s", dir, strings.Join(others, ", "))
	}
	return err
}
