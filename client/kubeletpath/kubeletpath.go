// SPDX-License-Identifier: Apache-2.0

// Package kubeletpath has the paths below kubelet's directory at which it has CSI drivers stage and publish volumes.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/csi/csi_attacher.go, makeDeviceMountPath
package kubeletpath

import (
	"regexp"
	"strings"
)

// Patterns of the paths, relative to kubelet's directory, with a slash between names. A * stands for one name: of a
// driver (pv before Kubernetes 1.24) and a volume, and of a pod and a PersistentVolume.
const (
	Staged    = "plugins/kubernetes.io/csi/*/*/globalmount"
	Published = "pods/*/volumes/kubernetes.io~csi/*/mount"
)

var staged = regexp.MustCompile(`(?i)^(.+)\\` +
	strings.NewReplacer("/", `\\`, ".", `\.`, "*", `([^\\]+)`).Replace(Staged) + `\\?$`)

// ParseStaged returns kubelet's directory and the driver's name of a Windows path at which a volume is staged, in any
// case and with or without a backslash at its end. It returns false for other paths.
func ParseStaged(path string) (kubelet, driver string, ok bool) {
	parts := staged.FindStringSubmatch(path)
	if len(parts) < 3 {
		return "", "", false
	}
	return parts[1], parts[2], true
}
