// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// TestFunctions: a method missing from the list could not have faults.
func TestFunctions(t *testing.T) {
	var want []string
	for _, methods := range []reflect.Type{reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Handle]()} {
		for i := range methods.NumMethod() {
			if name := methods.Method(i).Name; name != "Close" {
				want = append(want, name)
			}
		}
	}
	slices.Sort(want)
	got := slices.Sorted(slices.Values(faults.Functions()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Functions differs from the interfaces (-methods +listed):\n%s", diff)
	}
}

// TestFunctionNamed: a name that errors show is one that a person may give.
func TestFunctionNamed(t *testing.T) {
	for name, want := range map[string]string{
		"NtCreateFile": "OpenFile", "CreateFileW": "OpenDevice", "createfile": "OpenDevice", "openDevice": "OpenDevice",
		"AddIScsiSendTargetPortalW": "AddISCSISendTargetPortal", "MSFT_Volume.Format": "FormatVolume", "CreateFileX": "",
	} {
		if got := faults.FunctionNamed(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	kernels, err := filepath.Glob("../../agent/kernel/windows/*.go")
	if err != nil || len(kernels) == 0 {
		t.Fatal(kernels, err)
	}
	shown := regexp.MustCompile(`(?:failure\(|function = )"([^"]+)"`)
	for _, file := range kernels {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range shown.FindAllSubmatch(text, -1) {
			if name := string(match[1]); name != "CloseHandle" && faults.FunctionNamed(name) == "" {
				t.Errorf("%s: errors show %s, which no fault takes", file, name)
			}
		}
	}
}
