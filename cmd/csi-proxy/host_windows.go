// SPDX-License-Identifier: Apache-2.0

package main

import (
	syscalls "golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
)

// thisMachine returns the kernel of the node that the agent runs on. It opens nothing before its first call.
func thisMachine() kernel.Kernel { return windows.New() }

// ownSID returns the SID of the account that the agent runs as, "" if it cannot be found out.
func ownSID() string {
	user, err := syscalls.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return ""
	}
	return user.User.Sid.String()
}
