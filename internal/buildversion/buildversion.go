// SPDX-License-Identifier: Apache-2.0

// Package buildversion knows which version of this project a binary is.
package buildversion

import "runtime/debug"

// linked is set when a release is linked: -ldflags "-X …/internal/buildversion.linked=v1.2.3".
var linked string

// String is the release, or else what the go command knows of the module: a version when it was installed by one,
// "(devel)" or a pseudo-version when it was built in a checkout, and "unknown" in a binary without build information.
func String() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
