// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestPipesFromARestrictedToken opens every pipe of an agent with tokens that its access control list admits, and with
// tokens that it does not. A token without the Administrators group may not even read, and one of low integrity may not
// write.
func TestPipesFromARestrictedToken(t *testing.T) {
	requireAdministrator(t)
	// As a service has it: an emulated node's agent also admits the user that it runs as.
	const administrators = "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)"
	testnode.LaunchEmulated(t, "-state-dir="+t.TempDir(), "-pipe-security="+administrators)
	pipes := []string{`\\.\pipe\csiproxy-admin`}
	for _, api := range testnode.Released(t) {
		pipes = append(pipes, `\\.\pipe\csi-proxy-`+api.Group+"-"+api.Version)
	}
	const reading, both = uint32(windows.GENERIC_READ), uint32(windows.GENERIC_READ | windows.GENERIC_WRITE)
	for _, test := range []struct {
		name   string
		token  func() (windows.Token, error)
		access uint32
		admits bool
		wine   bool // Wine admits it: it admits all users to every pipe
	}{
		{name: "the agent's list admits it", token: OwnToken, access: both, admits: true},
		{name: "without its privileges", token: UnprivilegedToken, access: both, admits: true},
		{name: "a stranger's", token: StrangersToken, access: both, wine: true},
		{name: "a stranger's, for reading", token: StrangersToken, access: reading, wine: true},
		{name: "of low integrity", token: LowIntegrityToken, access: both, wine: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, pipe := range pipes {
				opens(t, pipe, test.token, test.admits || test.wine && testnode.OnWine(),
					func() error { return openPipe(pipe, test.access) })
			}
		})
	}
	if !slices.ContainsFunc(pipes, func(p string) bool { return strings.HasSuffix(p, "csi-proxy-disk-v1") }) {
		t.Errorf("the pipes are %q", pipes)
	}
}

// requireAdministrator skips a test that the access control lists would keep out. Wine's only user is an administrator.
func requireAdministrator(t *testing.T) {
	t.Helper()
	if !testnode.OnWine() && !windows.GetCurrentProcessToken().IsElevated() {
		t.Skip("require an elevated administrator")
	}
}

// openPipe opens a pipe and closes it again. A pipe of which all instances are taken has one again in a moment.
func openPipe(path string, access uint32) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	for {
		h, err := windows.CreateFile(name, access, 0, nil, windows.OPEN_EXISTING, 0, 0)
		if err == nil {
			return windows.CloseHandle(h)
		}
		if !errors.Is(err, windows.ERROR_PIPE_BUSY) {
			return err
		}
	}
}

// TestTokens opens an object that has the access control list of the agent's pipes: Wine looks at that of an event.
func TestTokens(t *testing.T) {
	requireAdministrator(t)
	list, err := windows.SecurityDescriptorFromString("D:P(A;;GA;;;SY)(A;;GA;;;BA)")
	if err != nil {
		t.Fatal(err)
	}
	name, err := windows.UTF16PtrFromString(machine.RandomName())
	if err != nil {
		t.Fatal(err)
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: list}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	event, err := windows.CreateEvent(attributes, 1, 0, name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(event) }()
	for _, test := range []struct {
		name   string
		token  func() (windows.Token, error)
		admits bool
	}{{"own", OwnToken, true}, {"without privileges", UnprivilegedToken, true}, {"a stranger's", StrangersToken, false}} {
		t.Run(test.name, func(t *testing.T) {
			opens(t, "the event", test.token, test.admits, func() error {
				h, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name)
				if err == nil {
					err = windows.CloseHandle(h)
				}
				return err
			})
		})
	}
}

// opens opens something with a token, which the access control list admits or not.
func opens(t *testing.T, what string, made func() (windows.Token, error), admits bool, open func() error) {
	t.Helper()
	token, err := made()
	check(t, err)
	defer func() { _ = token.Close() }()
	var opened error
	check(t, AsToken(token, func() { opened = open() }))
	if admits && opened != nil || !admits && !errors.Is(opened, windows.ERROR_ACCESS_DENIED) {
		t.Errorf("%s: got %v", what, opened)
	}
}
