// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

const (
	serial  = "vol0123456789abcdef2"
	staging = `\var\lib\kubelet\plugins\example\globalmount`
)

// TestPipe runs the driver against an agent, twice: the second run keeps the result of the first.
func TestPipe(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{PlainPipes: true})
	n.Setenv()
	var first string
	for i := range 2 {
		var out strings.Builder
		if err := run(t.Context(), []string{"-serial", serial, "-staging", staging}, &out); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = out.String()
			n.WriteFile(staging+`\data`, "precious")
		}
		if got := out.String(); got != first || !strings.HasSuffix(got, "is mounted at "+staging+"\n") {
			t.Errorf("run %d says %q", i+1, got)
		}
	}
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume holds %q", got)
	}
}

// TestInProcess does the same work with the client that a HostProcess container has.
func TestInProcess(t *testing.T) {
	client := csiproxytest.Start(t, csiproxytest.Options{}).InProcess()
	volume, err := stage(t.Context(), client, serial, staging)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := stage(t.Context(), client, serial, staging); again != volume || err != nil {
		t.Errorf("staging again: %s, %v, want %s", again, err, volume)
	}
}

func TestFailures(t *testing.T) {
	csiproxytest.Start(t, csiproxytest.Options{PlainPipes: true}).Setenv()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-serial", "none", "-staging", staging}, `no disk has the serial number "none"`},
		{[]string{"-staging", staging}, `no disk has the serial number ""`},
		{[]string{"-serial", serial, "-staging", `C:\Windows`}, "is not within the working directories"},
		{[]string{"-host-process", "-serial", serial}, "this is not a Windows node"},
	} {
		if runtime.GOOS == "windows" && c.args[0] == "-host-process" {
			continue // there it works on this machine
		}
		if err := run(t.Context(), c.args, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error with %q", c.args, err, c.want)
		}
	}
}
