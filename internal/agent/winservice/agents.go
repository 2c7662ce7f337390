// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"slices"
	"strings"
)

// Agents returns the services that run a csi-proxy.exe, ours or the original, and those that distributions name so,
// which may run it by a wrapper such as nssm: docs/move.md has the sources.
func Agents(m Manager) (agents []Installed, err error) {
	names, err := m.ListServices()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		named := slices.Contains([]string{"csiproxy", "csi-proxy"}, strings.ToLower(name))
		s, err := m.Query(name)
		switch {
		case errors.Is(err, ErrNotInstalled): // it has gone meanwhile
		case err != nil && named: // others may be closed to this user
			return nil, err
		case err == nil && (named || runsAgent(s.Command)):
			agents = append(agents, s)
		}
	}
	return agents, nil
}

func runsAgent(command []string) bool {
	return len(command) > 0 && strings.HasSuffix(strings.ToLower(command[0]), `\csi-proxy.exe`)
}
