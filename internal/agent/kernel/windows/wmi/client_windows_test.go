// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const (
	cimv2   = `ROOT\CIMV2`
	systems = "SELECT * FROM Win32_OperatingSystem" // of which there is one
)

// nothing visits an instance.
func nothing(Instance) (done bool, err error) { return false, nil }

func TestRepeatedQueries(t *testing.T) {
	c := &Client{}
	for range 100 { // too often if each call had an apartment of its own
		var names []string
		err := c.Each(cimv2, systems, func(i Instance) (bool, error) {
			name, err := i.String("Caption")
			names = append(names, name)
			return false, err
		})
		if err != nil || len(names) != 1 || names[0] == "" {
			t.Fatalf("operating systems: %q, %v", names, err)
		}
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	want := errors.New("enough")
	instances := 0
	err := (&Client{}).Each(cimv2, systems,
		func(Instance) (bool, error) { instances++; return false, want })
	if err == nil || instances != 1 {
		t.Errorf("got %v after %d visits", err, instances)
	}
}

func TestEachStopsWhenDone(t *testing.T) {
	instances := 0
	err := (&Client{}).Each(cimv2, "SELECT * FROM Win32_Process",
		func(Instance) (bool, error) { instances++; return true, nil })
	if err != nil || instances != 1 {
		t.Errorf("got %v after %d visits", err, instances)
	}
}

func TestUnknownClassIsAnError(t *testing.T) {
	err := (&Client{}).Each(cimv2, "SELECT * FROM No_SuchClass", nothing)
	wine := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
	switch {
	case wine && err != nil:
		t.Errorf("Wine gives %v now; it used to return nothing for unknown classes", err)
	case wine:
		t.Skip("Wine treats an unknown class as an empty one")
	case err == nil:
		t.Error("a class that does not exist has no instances, and no error")
	}
}

// TestAMethodWithoutParameters calls one that has out parameters only.
func TestAMethodWithoutParameters(t *testing.T) {
	c, called := &Client{}, false
	query := fmt.Sprintf("SELECT * FROM Win32_Process WHERE ProcessId = %d", os.Getpid())
	err := c.Each(cimv2, query, func(i Instance) (bool, error) {
		called = true
		returned, err := i.Call("GetOwner", nil)
		if returned != 0 {
			t.Errorf("GetOwner: got %d, want 0", returned)
		}
		return true, err
	})
	if err != nil || !called {
		t.Errorf("got %v, called: %t", err, called)
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	c := &Client{}
	if err := c.Each(`ROOT\none`, systems, nothing); err == nil {
		t.Error("a namespace that does not exist")
	}
	if _, err := c.CallClass(cimv2, "No_SuchClass", "Create", nil); err == nil {
		t.Error("a class that does not exist")
	}
	if _, err := (*Client)(nil).CallClass(cimv2, "Win32_Process", "Create", nil); !errors.Is(err, win32.ERROR_NOT_READY) {
		t.Errorf("no client: %v", err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := &Client{Threads: 3, MaxWait: time.Minute}
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			if err := c.Each(cimv2, systems, nothing); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads < 1 || c.threads > 3 {
		t.Errorf("%d threads", c.threads)
	}
}

// The threads of a burst end when they are idle, but for one, and calls are made as before.
func TestIdleThreadsEnd(t *testing.T) {
	c := &Client{Threads: 4, MaxWait: time.Minute, Keep: 10 * time.Millisecond}
	for range 3 {
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				if err := c.Each(cimv2, systems, nothing); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		limit := time.Now().Add(time.Minute)
		for threads := 0; threads != 1; runtime.Gosched() {
			c.mu.Lock()
			threads = c.threads
			c.mu.Unlock()
			if time.Now().After(limit) {
				t.Fatalf("%d threads are left", threads)
			}
		}
	}
}

// Calls that hang keep their threads and nothing else: a further one is refused at once, and another client answers.
// Each asks for another class, because Wine locks a class while its instances are visited.
func TestHangingCalls(t *testing.T) {
	c, hang := &Client{Threads: 2}, make(chan struct{})
	var calls, reached sync.WaitGroup
	reached.Add(2)
	for _, class := range []string{"Win32_OperatingSystem", "Win32_ComputerSystem"} {
		calls.Go(func() {
			err := c.Each(cimv2, "SELECT * FROM "+class, func(i Instance) (bool, error) {
				reached.Done()
				for waiting := true; waiting; { // as COM waits for the answer of a call
					select {
					case <-hang:
						waiting = false
					default:
						handleMessages()
						runtime.Gosched()
					}
				}
				_, err := i.String("Name") // the thread still has its objects
				return true, err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	reached.Wait()
	if err := c.Each(cimv2, "SELECT * FROM Win32_BIOS", nothing); !errors.Is(err, win32.ERROR_BUSY) {
		t.Errorf("a third call: %v, want %v", err, win32.ERROR_BUSY)
	}
	if err := (&Client{}).Each(cimv2, "SELECT * FROM Win32_BIOS", nothing); err != nil {
		t.Errorf("another client: %v", err)
	}
	close(hang)
	calls.Wait()
}

// The registry provider has static methods with in parameters, which return Win32 codes.
func TestCallClass(t *testing.T) {
	const (
		namespace = `ROOT\DEFAULT`
		key       = `Software\csi-proxy-test`
	)
	currentUser := int32(-0x7FFFFFFF) // HKEY_CURRENT_USER, 0x80000001 in an int32
	c := &Client{}
	in := Parameters{"hDefKey": currentUser, "sSubKeyName": key}
	returned, err := c.CallClass(namespace, "StdRegProv", "CreateKey", in)
	const notImplemented win32.Errno = 0x80004001 // E_NOTIMPL
	if errors.Is(err, notImplemented) {
		t.Skip("Wine has no SWbemObject.SpawnInstance_, so methods cannot be called there")
	}
	if err != nil || returned != 0 {
		t.Fatal(returned, err)
	}
	set := Parameters{"hDefKey": currentUser, "sSubKeyName": key, "sValueName": "name", "sValue": "value"}
	if returned, err := c.CallClass(namespace, "StdRegProv", "SetStringValue", set); err != nil || returned != 0 {
		t.Error(returned, err)
	}
	if returned, err := c.CallClass(namespace, "StdRegProv", "DeleteKey", in); err != nil || returned != 0 {
		t.Error(returned, err)
	}
	if returned, err := c.CallClass(namespace, "StdRegProv", "DeleteKey", in); err != nil ||
		Code(returned) != win32.ERROR_FILE_NOT_FOUND {
		t.Errorf("deleting a key that is not there: %d, %v", returned, err)
	}
	if _, err := c.CallClass(namespace, "StdRegProv", "NoSuchMethod", in); err == nil {
		t.Error("a method that does not exist")
	}
}
