// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// A refused document is answered with the place in it and what is wrong, never with a password, and changes nothing
// behind that place.
func TestDocuments(t *testing.T) {
	n, err := emulated.Open(t.TempDir(), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	add, change := func(l list) *step { return l.add }, func(l list) *step { return l.change }
	remove := func(l list) *step { return l.remove }
	const sizes = "it must be bytes, or a text such as 10GiB, at most 16TiB"
	for _, c := range []struct {
		verb           func(list) *step
		document, want string // the beginning of the error; empty: none
	}{
		{add, `{}`, "the document lists nothing"},
		{add, `{"disk": []}`, "disk: there is no such field; the fields are disks, services, switches, smbUsers,"},
		{add, `{"disks": {}}`, "disks: it must be a list"},
		{add, `{"disks": [{"size": -1}]}`, "disks[0].size: " + sizes},
		{add, `{"disks": [{"size": "1 GB"}]}`, `disks[0].size: it is "1 GB"; ` + sizes},
		{add, `{"disks": [{"number": 7, "size": "1GiB"}]}`, "disks[0].number: a disk that is added has none"},
		{add, `{"switches": {"msr": "never"}}`, "switches: this call does not take it"},
		{add, `{"smbUsers": [{"name": "a", "password": ["secret"]}]}`, "smbUsers[0].password: it must be a text"},
		{add, `{"smbUsers": [{"name": "a", "pasword": "secret"}]}`, "smbUsers[0].pasword: there is no such field"},
		{add, `{"smbUsers": [{"name": "a"}]}`, `account "a": invalid file server or account: account "a" has no password`},
		{add, `{"smbUsers": [{"name": "csi", "password": "secret"}]}`, `account "csi": it exists already`},
		{change, `{"disks": [{"number": 1}]}`, "disks[0]: it has only its name, so there is nothing to do"},
		{change, `{"disks": [{"offline": true}]}`, "disks[0]: it has no number"},
		{change, `{"disks": [{"number": 1, "serial": "x"}]}`, "disks[0].serial: this call does not take it"},
		{change, `{"disks": [{"number": 1, "readOnly": true, "size": "11GiB"}, {"number": 9, "offline": true}, ` +
			`{"number": 2, "readOnly": true}]}`, "disks[1]: disk 9: no such disk"},
		{change, `{"services": [{"name": "MSiSCSI", "state": "gone"}]}`,
			`services[0].state: it is "gone"; it must be one of stopped, start-pending,`},
		{remove, `{"disks": [{"number": 1, "size": "1GiB"}]}`, "disks[0].size: this call does not take it"},
		{remove, `{"smbServers": [{"name": "fs.emulated", "shares": [{"name": "share", "users": ["csi"]}]}]}`,
			"shares[0].users: this call does not take it"},
		{remove, `{"services": [{"name": "MSiSCSI"}]}`, "services: this call does not take it"},
		{add, `{"disks": [{"size": "1GiB", "serial": "new", "offline": true}]}`, ""},
	} {
		document := &structpb.Struct{}
		if err := document.UnmarshalJSON([]byte(c.document)); err != nil {
			t.Fatal(err)
		}
		_, err := eachOf(n, document, c.verb)
		if got := errorText(controlError(err)); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") ||
			strings.Contains(got, "secret") {
			t.Errorf("%s: got %q, want %q", c.document, got, c.want)
		}
	}
	type disk struct {
		Number            int
		Serial            string
		Size              int64
		Offline, ReadOnly bool
	}
	found, err := Get(n, "disks", "")
	if err != nil {
		t.Fatal(err)
	}
	document, err := structpb.NewStruct(found)
	if err != nil {
		t.Fatal(err)
	}
	disks, err := api.Part[[]disk](document, "disks")
	if err != nil || len(disks) != 4 || disks[1] != (disk{1, "vol0123456789abcdef1", 11 << 30, false, true}) ||
		disks[2].ReadOnly || disks[3] != (disk{3, "new", 1 << 30, true, false}) {
		t.Errorf("disks: %+v, %v", disks, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
