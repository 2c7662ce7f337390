// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func TestMessagesAsJSON(t *testing.T) {
	for _, test := range []struct {
		name string
		from message
		want string
	}{
		{"all fields are there", message{&admin.ListAPIsResponse{}}, `{"apis":[],"agentVersion":""}`},
		{
			"numbers are numbers, names are in camel case",
			message{&admin.Volume{Extents: []*admin.Extent{{Disk: 1, OffsetBytes: 1 << 40}}, MountPoints: []string{`C:\`}}},
			`{"id":"","unknown":"","unanswered":false,"extents":[{"disk":1,"offsetBytes":1099511627776}],"fileSystem":"","totalBytes":0,"usedBytes":0,"mountPoints":["C:\\"]}`,
		},
		{"what is not there is null", message{&admin.Operation{}}, `{"name":"","call":false,"object":"","server":"","age":null,"waiting":false}`},
		{
			"enums are words, times are texts",
			message{&csiproxy.GetServiceResponse{DisplayName: "x", Status: csiproxy.ServiceStatus_START_PENDING}},
			`{"displayName":"x","startType":"boot","status":"start-pending"}`,
		},
		{
			"of several kinds only the one that there is", message{&nodeapi.JournalEntry{
				Sequence: 7, Begin: timestamppb.New(time.Unix(0, 0)),
				Call: &nodeapi.JournalEntry_Kernel{Kernel: &nodeapi.KernelCall{Function: "DiskInterfaces"}},
			}},
			`{"sequence":7,"begin":"1970-01-01T00:00:00Z","duration":null,"requestId":"",` +
				`"kernel":{"function":"DiskInterfaces","object":"","controlCode":"","win32Code":0,"error":"","arguments":"","part":0,"changes":false}}`,
		},
	} {
		got, err := json.Marshal(test.from)
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", test.name, got, err, test.want)
		}
	}
}

// In every form, what came from outside neither steers the terminal nor looks like another text.
func TestOutputIsPrintable(t *testing.T) {
	const outside = "r\u202Egpj.exe\x1b[31m\u2066\u200B\u009b2J\rx"
	for _, form := range []string{"table", "wide", "name", "json", "yaml"} {
		a := &connection{}
		if err := a.output.Set(form); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		c := &cobra.Command{}
		c.SetOut(&got)
		err := a.printAnswer(c, answer{value: map[string]string{"name": outside}, rows: []string{"A\tB", outside + "\t1"}})
		if err != nil || !strings.Contains(got.String(), "gpj.exe") || strings.ContainsFunc(got.String(), steers) {
			t.Errorf("%s: got %q, %v", form, got.String(), err)
		}
	}
	var stderr strings.Builder
	if code := run(t.Context(), []string{"policy", "test", outside}, io.Discard, &stderr); code != 1 ||
		!strings.Contains(stderr.String(), "r<U+202E>gpj.exe<U+001B>[31m") || strings.ContainsFunc(stderr.String(), steers) {
		t.Errorf("an error: got %d, %q", code, stderr.String())
	}
}

func steers(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
