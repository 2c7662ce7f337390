// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// newShare makes a share of the account of all shares.
func newShare(t testing.TB) Share { t.Helper(); return shareOf(t, machine.ShareOptions{}) }

// newEncryptedShare makes a share that refuses clients which do not encrypt.
func newEncryptedShare(t testing.TB) Share {
	t.Helper()
	return shareOf(t, machine.ShareOptions{Encrypted: true})
}

// newStrangersShare makes a share of an account of its own.
func newStrangersShare(t testing.TB) Share {
	t.Helper()
	a, err := machine.NewAccount(t)
	check(t, err)
	return shareOf(t, machine.ShareOptions{Account: &a})
}

func shareOf(t testing.TB, o machine.ShareOptions) Share {
	t.Helper()
	made, err := machine.NewShare(t, o)
	check(t, err)
	return made
}
