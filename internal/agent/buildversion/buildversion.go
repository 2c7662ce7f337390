// SPDX-License-Identifier: Apache-2.0

// Package buildversion returns the version of the running binary.
package buildversion

import "runtime/debug"

// linked is set when a release is linked: -ldflags "-X …/internal/agent/buildversion.linked=v1.2.3".
var linked string

// String returns the release, else the module's version in the build information, or "unknown" without that.
func String() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
