// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed profiles/*.yaml
var profileFiles embed.FS // never changes

// Profiles returns the sorted names of the built-in scenarios: nodes with disks as clouds present them.
func Profiles() []string {
	entries, _ := profileFiles.ReadDir("profiles") // it is in the program
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	slices.Sort(names) // files are sorted with their suffix
	return names
}

func profile(name string) (Scenario, error) {
	file := path.Join("profiles", name+".yaml")
	text, err := profileFiles.ReadFile(file)
	if err != nil {
		return Scenario{}, err
	}
	return ParseScenario(file, text)
}
