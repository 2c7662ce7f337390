// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// releaseTimeout is how long Windows, or an antivirus program, may hold the file of a virtual disk that was made or
// detached.
// https://github.com/RedpointGames/uet/issues/121
const releaseTimeout = 20 * time.Second

// heldByOthers reports whether an error is a transient sharing violation of a file or disk.
func heldByOthers(err error) bool {
	codes := []win32.Errno{win32.ERROR_SHARING_VIOLATION, win32.ERROR_ACCESS_DENIED, win32.ERROR_NOT_READY}
	return slices.ContainsFunc(codes, func(code win32.Errno) bool { return IsCode(err, code) })
}

// IsCode reports whether an error is a Win32 code, of the kernel or of a call of these tests.
func IsCode(err error, code win32.Errno) bool {
	return errors.Is(err, code) || errors.Is(err, syscall.Errno(code))
}

// Retry repeats a call while it fails with a transient sharing violation.
func Retry(ctx context.Context, call func() error) error {
	return repeat(ctx, releaseTimeout, heldByOthers, call)
}

// repeat makes a call until it succeeds, fails with an error that is not worth another try, or its time is over.
func repeat(ctx context.Context, limit time.Duration, again func(error) bool, call func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	next := time.NewTicker(100 * time.Millisecond)
	defer next.Stop()
	begun := time.Now()
	for {
		err := call()
		if err == nil || !again(err) {
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return fmt.Errorf("%w, for %v", err, time.Since(begun).Round(time.Second))
		}
	}
}

// LogonRefused returns an Unavailable if a policy of the machine refused a local account's logon from the network. Any
// other error it returns as it is.
// https://learn.microsoft.com/windows/win32/secauthz/account-rights-constants
func LogonRefused(err error) error {
	const logonTypeNotGranted = win32.Errno(1385) // ERROR_LOGON_TYPE_NOT_GRANTED
	switch {
	case IsCode(err, logonTypeNotGranted):
		return Unavailable("local accounts may not log on to this machine from the network (ERROR_LOGON_TYPE_NOT_GRANTED): " +
			`they have the user right "Deny access to this computer from the network" (SeDenyNetworkLogonRight), ` +
			`or lack "Access this computer from the network" (SeNetworkLogonRight)`)
	case IsCode(err, win32.ERROR_ACCOUNT_RESTRICTION):
		return Unavailable("a policy of this machine restricts local accounts (ERROR_ACCOUNT_RESTRICTION)")
	}
	return err
}
