// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
)

// environ returns this process's environment for powershell.exe, without PSModulePath: where pwsh 7 set it, it
// leads Windows PowerShell 5.1 to modules that it cannot load. Without it, PowerShell builds its own.
func environ() []string { return withoutModulePath(os.Environ()) }

func withoutModulePath(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.EqualFold(name, "PSModulePath")
	})
}
