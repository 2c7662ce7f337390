// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"os"

	"golang.org/x/sys/windows/svc"
)

// Own returns the name of the service whose process is this one or, under a wrapper such as nssm, its parent; "": none.
func Own() string {
	m, err := connect()
	if err != nil {
		return ""
	}
	defer func() { _ = m.Close() }()
	names, _ := m.ListServices() // those that this user may see
	for _, name := range names {
		s, err := m.Query(name)
		if err == nil && s.PID != 0 && (int(s.PID) == os.Getpid() || int(s.PID) == os.Getppid()) {
			return name
		}
	}
	return ""
}

// Started reports whether the Service Control Manager started this process.
func Started() bool {
	is, err := svc.IsWindowsService()
	return is && err == nil
}
