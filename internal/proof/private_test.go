// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A made-up machine: what is personal to it, and must be in no report, however it is written.
const (
	machineHost, machineDNS, machineDomain, machineNetBIOS = "Wk-Gråbo-07", "wk-gråbo-07.berlin.example.org",
		"berlin.example.org", "BERLIN-AD"
	machineUser, otherUser                   = "m.mustermann", "Erika.Musterfrau"
	machineSerial, diskSerial                = "MX-2UA9350ZQ7", "Wd-WCC4N5XK77L"
	fileServer, financeShare                 = "nas-keller", "lohnbuch$"
	otherTarget, otherInitiator, otherPortal = "iqn.2010-03.org.example:raid.42",
		"iqn.1991-05.com.microsoft:chef-laptop", "san.berlin.example.net"

	otherArray     = "array.berlin.example.net"
	sidOfMachine   = "1004336348-1177238915-682003330"
	ownShare       = "csiprove-0123456789"
	ownTarget      = "iqn.1991-05.com.microsoft:csiprove-abcdef0123-target"
	uniqueDiskNAA  = "60022480D1A2B3C4D5E6F708192A3B4C"
	identifierText = "ATA     WDC WD40EFRX " + diskSerial
)

func naa(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString(uniqueDiskNAA)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sid returns the bytes of the SID of an account of the machine.
func sid() []byte {
	b := []byte{1, 5, 0, 0, 0, 0, 0, 5}
	for _, number := range []uint32{21, 1004336348, 1177238915, 682003330, 1001} {
		b = binary.LittleEndian.AppendUint32(b, number)
	}
	return b
}

// madeUp returns a report of that machine, in which everything stands in every form that Windows has for it.
func madeUp(t *testing.T) *proof.Report {
	t.Helper()
	var calls []json.RawMessage
	add := func(c recording.Call) {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, line)
	}
	result := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	session := func(target string) []byte {
		const base = 0x10000
		return deviceside.ISCSISessionList([]win32.ISCSISession{{
			InitiatorName: otherInitiator, TargetName: target, TargetNodeName: target,
			Connections: []win32.ISCSIConnection{{TargetAddress: otherPortal}},
		}}, base)
	}
	texts := []string{
		machineHost, strings.ToUpper(machineHost), machineDNS, `\\` + machineNetBIOS + `\` + machineUser, machineUser + "@" +
			machineDomain, `C:\Users\` + otherUser + `\AppData`,
		machineSerial, diskSerial, strings.ToLower(diskSerial), `\\` + fileServer + `\` + financeShare, otherTarget,
		otherInitiator, otherPortal, otherArray, "S-1-5-21-" + sidOfMachine + "-1001",
		uniqueDiskNAA, identifierText,
	}
	add(recording.Call{Function: "SMBGlobalMappings",
		Result: result([]kernel.SMBGlobalMapping{{RemotePath: `\\` + fileServer + `\` + financeShare},
			{RemotePath: `\\` + machineHost + `\` + ownShare}})})
	add(recording.Call{Function: "ReportISCSITargets", Result: result([]string{otherTarget, ownTarget})})
	add(recording.Call{Function: "ISCSISessionList", Out: session(otherTarget), Base: 0x10000, Count: 1})
	add(recording.Call{Function: "ISCSIPersistentLogins", Count: 1,
		Result: result([]win32.PersistentISCSILogin{{TargetName: otherTarget,
			Portal: win32.ISCSITargetPortal{Address: otherPortal}}})})
	add(recording.Call{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_QUERY_PROPERTY,
		CodeName: "IOCTL_STORAGE_QUERY_PROPERTY",
		In:       win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceProperty}.Bytes(),
		Out:      deviceside.StorageDevice(win32.StorageDevice{SerialNumber: "  " + diskSerial})})
	ids := win32.StorageDeviceID{Identifiers: []win32.StorageIdentifier{
		{CodeSet: 1, Type: 3, Identifier: naa(t)}, {CodeSet: 2, Type: 1, Identifier: []byte(identifierText)},
		{CodeSet: 1, Type: 4, Identifier: []byte{0, 0, 0, 1}},
	}}
	add(recording.Call{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_QUERY_PROPERTY,
		CodeName: "IOCTL_STORAGE_QUERY_PROPERTY",
		In:       win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceIdProperty}.Bytes(), Out: deviceside.StorageDeviceID(ids)})
	add(recording.Call{Function: "ISCSIDiscoveryMechanisms", Object: ownTarget,
		Result: result([]string{"SendTargets:*" + otherArray + " 0003260 " + otherInitiator})})
	add(recording.Call{Function: "OpenFile", Object: `\\?\C:\Users\` + otherUser + `\x`})
	buffer := slices.Concat([]byte{7, 7, 7}, sid(), []byte{9}, naa(t))
	for _, text := range texts {
		add(recording.Call{Function: "OpenDevice", Object: text})
		buffer = slices.Concat(buffer, []byte(text), []byte{0}, wide(text), []byte{0, 0})
	}
	add(recording.Call{Function: "Information", Out: buffer})

	r := sample()
	all := strings.Join(texts, " ; ")
	answer := map[string]any{"on " + machineHost: texts, "disks": map[string]string{"SerialNumber": `"` + diskSerial + `"`}}
	r.Answers[0].Answer, r.Answers[1].Reason = result(answer), all
	r.Found = append(r.Found, proof.Finding{Name: "texts", Text: all})
	r.Parts[0].Reason, r.Parts[0].Output = all, all
	r.Parts[0].Checks[1].Output = texts
	r.Calls = calls
	return r
}

// base64Text matches what may be written in base 64.
var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{8,}={0,2}`)

// views returns what a search of a report would see: its text, and everything in base 64, decoded.
func views(text string) [][]byte {
	all := [][]byte{[]byte(text)}
	for _, encoded := range base64Text.FindAllString(text, -1) {
		if content, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			all = append(all, content)
		}
	}
	for i, view := range all {
		all[i] = bytes.ToLower(view)
	}
	return all
}

// Nothing of the machine is in its report: in no text, in no buffer, neither in UTF-8 nor in UTF-16, in whatever case.
func TestNothingPersonalIsInAReport(t *testing.T) {
	personal := [][]byte{sid()[12:24]}
	for _, text := range []string{
		machineHost, machineDomain, machineNetBIOS, machineUser, otherUser, machineSerial, fileServer, financeShare,
		otherTarget, otherInitiator, otherPortal,
		otherArray, "1004336348", "1177238915", "682003330",
	} {
		personal = append(personal, []byte(text), wide(text))
	}
	disks := [][]byte{[]byte(diskSerial), wide(diskSerial), []byte(identifierText)}
	for _, hashed := range []bool{false, true} {
		r := madeUp(t)
		before := len(bufferOf(t, r))
		serials := []string{machineSerial}
		if hashed {
			serials = append(serials, diskSerial)
		}
		err := r.Hide(proof.Hidden{
			Names: map[string]string{
				machineHost: "HOST", machineDNS: "HOST", machineDomain: "DOMAIN", machineNetBIOS: "DOMAIN", machineUser: "USER",
			},
			Serials: serials, Salt: []byte("salt"),
			Own: func(name string) bool { return strings.Contains(name, "csiprove-") },
		})
		if err != nil {
			t.Fatal(err)
		}
		text := plain(t, written(t, r))
		found := func(what []byte) bool {
			return slices.ContainsFunc(views(text), func(view []byte) bool { return bytes.Contains(view, bytes.ToLower(what)) })
		}
		for _, what := range personal {
			if found(what) {
				t.Errorf("%q is in the report", what)
			}
		}
		for _, what := range disks {
			if found(what) == hashed {
				t.Errorf("hashes %t: %q is in the report: %t", hashed, what, !hashed)
			}
		}
		for _, kept := range []string{ownShare, ownTarget, "disk v1 Rescan", `"SMBGlobalMappings"`,
			"IOCTL_STORAGE_QUERY_PROPERTY"} {
			if !strings.Contains(text, kept) {
				t.Errorf("%s is missing from the report", kept)
			}
		}
		if after := bufferOf(t, r); len(after) != before {
			t.Errorf("a buffer has %d bytes, it had %d", len(after), before)
		}
		if hashed {
			sameHashes(t, r)
		}
	}
}

// bufferOf returns what the last call filled.
func bufferOf(t *testing.T, r *proof.Report) []byte {
	t.Helper()
	var c recording.Call
	if err := json.Unmarshal(r.Calls[len(r.Calls)-1], &c); err != nil {
		t.Fatal(err)
	}
	return c.Out
}

// sameHashes checks that a disk can still be told from others: its serial number has one hash, in texts and in buffers,
// and its identifiers stay.
func sameHashes(t *testing.T, r *proof.Report) {
	t.Helper()
	var disk, page recording.Call
	for i, to := range map[int]*recording.Call{4: &disk, 5: &page} {
		if err := json.Unmarshal(r.Calls[i], to); err != nil {
			t.Fatal(err)
		}
	}
	described, err := win32.ParseStorageDevice(disk.Out)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := win32.ParseStorageDeviceID(page.Out)
	if err != nil {
		t.Fatal(err)
	}
	hash := strings.TrimSpace(described.SerialNumber)
	for _, text := range []string{r.Parts[0].Output, string(r.Answers[0].Answer), string(ids.Identifiers[1].Identifier)} {
		if !strings.Contains(text, hash) {
			t.Errorf("the hash %s of a buffer is not in %s", hash, text)
		}
	}
	if got := ids.Identifiers[0].Identifier; !bytes.Equal(got, naa(t)) {
		t.Errorf("the identifier is %x", got)
	}
}
