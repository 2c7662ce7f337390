// SPDX-License-Identifier: Apache-2.0

// Package powershell is what running powershell.exe needs, wherever it is called from.
package powershell

import (
	"os"
	"slices"
	"strings"
)

// Environ is this process's environment for powershell.exe. PSModulePath is left out: where pwsh 7 set it, it leads Windows
// PowerShell 5.1 to modules that it cannot load. Without it, it builds its own.
func Environ() []string { return withoutModulePath(os.Environ()) }

func withoutModulePath(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.EqualFold(name, "PSModulePath")
	})
}
