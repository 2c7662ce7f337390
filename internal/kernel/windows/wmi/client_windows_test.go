// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"errors"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

const cimv2 = `ROOT\CIMV2`

func TestEach(t *testing.T) {
	c := &Client{}
	for range 100 { // more often than an apartment a call would bear
		var names []string
		err := c.Each(cimv2, "SELECT * FROM Win32_OperatingSystem", func(i Instance) error {
			name, err := i.String("Caption")
			names = append(names, name)
			return err
		})
		if err != nil || len(names) != 1 || names[0] == "" {
			t.Fatalf("operating systems: %q, %v", names, err)
		}
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	want := errors.New("enough")
	visits := 0
	err := (&Client{}).Each(cimv2, "SELECT * FROM Win32_OperatingSystem", func(Instance) error { visits++; return want })
	if err == nil || visits != 1 {
		t.Errorf("got %v after %d visits", err, visits)
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	c := &Client{}
	if err := c.Each(`ROOT\none`, "SELECT * FROM Win32_OperatingSystem", func(Instance) error { return nil }); err == nil {
		t.Error("a namespace that does not exist")
	}
	if err := c.CallClass(cimv2, "No_SuchClass", "Create", nil); err == nil {
		t.Error("a class that does not exist")
	}
	if err := (*Client)(nil).CallClass(cimv2, "Win32_Process", "Create", nil); !errors.Is(err, win32.ERROR_NOT_READY) {
		t.Errorf("no client: %v", err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := &Client{}
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			if err := c.Each(cimv2, "SELECT * FROM Win32_OperatingSystem", func(Instance) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads < 1 || c.threads > maxThreads {
		t.Errorf("%d threads", c.threads)
	}
}

// The registry provider has static methods with in parameters, and tells Win32 codes in their return values.
func TestCallClass(t *testing.T) {
	const (
		namespace = `ROOT\DEFAULT`
		key       = `Software\csi-proxy-test`
	)
	currentUser := int32(-0x7FFFFFFF) // HKEY_CURRENT_USER, 0x80000001 in an int32
	c := &Client{}
	in := Parameters{"hDefKey": currentUser, "sSubKeyName": key}
	err := c.CallClass(namespace, "StdRegProv", "CreateKey", in)
	const notImplemented win32.Errno = 0x80004001 // E_NOTIMPL
	if errors.Is(err, notImplemented) {
		t.Skip("Wine has no SWbemObject.SpawnInstance_, so methods cannot be called there")
	}
	if err != nil {
		t.Fatal(err)
	}
	set := Parameters{"hDefKey": currentUser, "sSubKeyName": key, "sValueName": "name", "sValue": "value"}
	if err := c.CallClass(namespace, "StdRegProv", "SetStringValue", set); err != nil {
		t.Error(err)
	}
	if err := c.CallClass(namespace, "StdRegProv", "DeleteKey", in); err != nil {
		t.Error(err)
	}
	if err := c.CallClass(namespace, "StdRegProv", "DeleteKey", in); !errors.Is(err, win32.ERROR_FILE_NOT_FOUND) {
		t.Errorf("deleting a key that is not there: %v", err)
	}
	if err := c.CallClass(namespace, "StdRegProv", "NoSuchMethod", in); err == nil {
		t.Error("a method that does not exist")
	}
}
