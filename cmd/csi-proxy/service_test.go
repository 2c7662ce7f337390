// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsService(t *testing.T) {
	for _, test := range []struct {
		args string
		want bool
	}{
		{"-windows-service", true},
		{"--windows-service=true -v=2", true},
		{"-v=2 -windows-service=1", true},
		{"-windows-service=false", false},
		{"-working-dir windows-service", false},
		{"", false},
	} {
		// As when the rest of the command line is wrong.
		if got := asService(nil, strings.Fields(test.args)); got != test.want {
			t.Errorf("%q: got %v, want %v", test.args, got, test.want)
		}
	}
	if got := asService(&options{}, []string{"-windows-service"}); got {
		t.Error("the flags as they were read do not count")
	}
}

// What csi-proxy service install adds makes it what the documented sc.exe lines make.
func TestAgentFlags(t *testing.T) {
	const log, stderr = `-log_file=\etc\kubernetes\logs\csi-proxy.log`, "-logtostderr=false"
	for _, test := range []struct {
		name        string
		given, want []string
	}{
		{"none", nil, []string{"-windows-service", log, stderr}},
		{"others", []string{"-v=4", "-api", "iscsi=off"}, []string{"-windows-service", log, stderr, "-v=4", "-api", "iscsi=off"}},
		{"a log file", []string{"--log_file=C:\\x.log", stderr}, []string{"-windows-service", "--log_file=C:\\x.log", stderr}},
		{"a log directory", []string{"-log_dir", `C:\logs`}, []string{"-windows-service", "-log_dir", `C:\logs`}},
		{"the flag of services", []string{"--windows-service", "-logtostderr"}, []string{"--windows-service", "-logtostderr"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, agentFlags(test.given)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBeforeDashes(t *testing.T) {
	for args, want := range map[string]int{"": 0, "-start": 1, "-start -- -v=2 -- x": 1, "-- -start": 0} {
		if got := beforeDashes(strings.Fields(args)); got != want {
			t.Errorf("%q: got %d, want %d", args, got, want)
		}
	}
}
