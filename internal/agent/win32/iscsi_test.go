// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// sessionsBase is the address of the buffer of the golden session list.
const sessionsBase = 0x00007FF612340000

var goldenSessions = []ISCSISession{
	{ID: ISCSIUniqueID{0x1112131415161718, 0x2122232425262728}, TargetNodeName: "eui.1", TargetName: "eui.1",
		Connected: true},
	{ID: ISCSIUniqueID{0x5152535455565758, 0x6162636465666768}, TargetName: "eui.1"},
}

var goldenPortalInfos = []ISCSITargetPortalInfo{
	{`ROOT\ISCSIPRT\0000_0`, 0x11121314, ISCSITargetPortal{"s", "2001:db8::1", 0x2122}},
	{"", ISCSI_ANY_INITIATOR_PORT, ISCSITargetPortal{"", "array.example", 3260}},
}

var goldenISCSIDevices = []ISCSIDevice{
	{InterfaceName: `\\?\disk`, Number: StorageDeviceNumber{7, 3, 0x31323334}},
	{Number: StorageDeviceNumber{0, math.MaxUint32, math.MaxUint32}},
}

var goldenPersistentLogins = []PersistentISCSILogin{
	{TargetName: "iqn.b", Initiator: "ROOT", InitiatorPort: 0x11121314, Portal: ISCSITargetPortal{"s", "a", 0x2122}},
	{TargetName: "naa.5"},
}

// iscsiGoldenValues returns the values of this file's structures that TestGoldenBytes and others check.
func iscsiGoldenValues() []goldenValue {
	return []goldenValue{
		as("iscsi_unique_id", ISCSIUniqueID{0x1112131415161718, 0x2122232425262728}, fixed, written),
		is("iscsi_target_portal", ISCSITargetPortal{"rack 1", "192.0.2.10", 3260}, ParseISCSITargetPortal),
		as("iscsi_target_portals", goldenPortalInfos, each(deviceside.ISCSITargetPortalInfo),
			counted(2, ParseISCSITargetPortalInfos)),
		read("iscsi_session_list", goldenSessions, listSessions, parseSessions),
		read("iscsi_devices", goldenISCSIDevices, each(deviceside.ISCSIDevice), counted(2, ParseISCSIDevices)),
		read("iscsi_persistent_logins", goldenPersistentLogins, each(deviceside.PersistentISCSILogin),
			counted(2, ParsePersistentISCSILogins)),
	}
}

// each encodes structures one behind the other.
func each[T any](encode func(T) []byte) func([]T) []byte {
	return func(all []T) (b []byte) {
		for _, one := range all {
			b = append(b, encode(one)...)
		}
		return b
	}
}

func counted[T any](count int, parse func([]byte, int) (T, error)) func([]byte) (T, error) {
	return func(b []byte) (T, error) { return parse(b, count) }
}

func one[T any](parse func([]byte, int) ([]T, error)) func([]byte) (T, error) {
	return func(b []byte) (first T, err error) {
		all, err := parse(b, 1)
		if err == nil {
			first = all[0]
		}
		return first, err
	}
}

func listSessions(sessions []ISCSISession) []byte {
	return deviceside.ISCSISessionList(sessions, sessionsBase)
}

func parseSessions(b []byte) ([]ISCSISession, error) {
	return ParseISCSISessionList(b, sessionsBase, len(goldenSessions))
}

func TestISCSISessionListPointers(t *testing.T) {
	const target = 32 // offset of a pointer in the first session
	whole := listSessions(goldenSessions)
	for name, edit := range map[string]func(b cstruct.Buffer){
		"before the buffer": func(b cstruct.Buffer) { b.PutU64(target, sessionsBase-2) },
		"behind the buffer": func(b cstruct.Buffer) { b.PutU64(target, sessionsBase+uint64(len(b))+2) },
		"at the end":        func(b cstruct.Buffer) { b.PutU64(target, sessionsBase+uint64(len(b))) },
		"at the last byte":  func(b cstruct.Buffer) { b.PutU64(target, sessionsBase+uint64(len(b))-1) },
		"no NUL until the end": func(b cstruct.Buffer) {
			b.PutU64(target, sessionsBase+uint64(len(b))-2)
			b.PutU16(len(b)-2, 'x')
		},
	} {
		b := slices.Clone(whole)
		edit(b)
		got, err := parseSessions(b)
		if layout := (*cstruct.LayoutError)(nil); !errors.As(err, &layout) {
			t.Errorf("%s: got %+v, %v, want a *LayoutError", name, got, err)
		}
	}
	if got, err := ParseISCSISessionList(whole, sessionsBase, 4); err == nil {
		t.Errorf("more sessions than fit: %+v", got)
	}
	if got, err := ParseISCSISessionList(nil, 0, 0); err != nil || got != nil {
		t.Errorf("no sessions: %v, %v", got, err)
	}
	endless := append(cstruct.Buffer(nil), whole...)
	endless = append(endless, []byte(strings.Repeat("x\x00", 300)+"\x00\x00")...)
	endless.PutU64(target, sessionsBase+uint64(len(whole)))
	if got, err := parseSessions(endless); err == nil {
		t.Errorf("a name of 300 units: %+v", got)
	}
}

func TestISCSITextIsCut(t *testing.T) {
	long := strings.Repeat("a", 300)
	got, err := ParseISCSITargetPortal(ISCSITargetPortal{Address: long, SymbolicName: long, Socket: 1}.Bytes())
	if want := (ISCSITargetPortal{long[:255], long[:255], 1}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestISCSIStatus(t *testing.T) {
	for status, want := range map[uint32]Errno{
		0: 0, 122: ERROR_INSUFFICIENT_BUFFER, 0x8007007A: ERROR_INSUFFICIENT_BUFFER, 0xEFFF003E: ISDSC_SERVICE_NOT_RUNNING,
		0xAFFF0048: ISDSC_SHORT_CHAP_SECRET, 0x80041002: 0x80041002,
	} {
		if got := ISCSIStatus(status); got != want {
			t.Errorf("%#x: got %v, want %v", status, got, want)
		}
	}
	if !ISDSC_SHORT_CHAP_SECRET.IsISCSIWarning() || ISDSC_INVALID_CHAP_SECRET.IsISCSIWarning() ||
		Errno(0).IsISCSIWarning() {
		t.Error("warnings and errors are mixed up")
	}
}

func TestParseSendTargets(t *testing.T) {
	for text, want := range map[string]ISCSITargetPortalInfo{
		`SendTargets:*10.61.169.28 0003260 Root\ISCSIPRT\0000_0`: {InitiatorName: `Root\ISCSIPRT\0000_0`,
			Portal: ISCSITargetPortal{Address: "10.61.169.28", Socket: 3260}},
		`SendTargets:nas.example 860`:        {Portal: ISCSITargetPortal{Address: "nas.example", Socket: 860}},
		`SendTargets:*[2001:db8::1] 0003260`: {Portal: ISCSITargetPortal{Address: "2001:db8::1", Socket: 3260}},
		`SendTargets:*`:                      {},
		`SendTargets:*10.61.169.28`:          {},
		`iSNS:10.61.169.28 0003260`:          {},
		``:                                   {},
	} {
		got, ok := ParseSendTargets(text)
		if ok != (want != ISCSITargetPortalInfo{}) || ok && got != want {
			t.Errorf("%q: got %+v, %v", text, got, ok)
		}
	}
	for _, port := range []string{"65536", "-1", "x"} {
		if got, ok := ParseSendTargets("SendTargets:*a " + port); ok {
			t.Errorf("port %s: got %+v", port, got)
		}
	}
}

// FuzzISCSI: whatever the initiator service answers, and wherever the buffer lay, parsers fail with *LayoutError or
// return a value that survives being encoded and parsed again.
func FuzzISCSI(f *testing.F) {
	for _, v := range iscsiGoldenValues() {
		f.Add(v.bytes, uint64(sessionsBase), 2)
		f.Add(v.bytes[:len(v.bytes)/2], uint64(math.MaxUint64-100), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, base uint64, count int) {
		roundTrip(t, in, ParseISCSITargetPortal)
		roundTripBy(t, in, one(ParseISCSITargetPortalInfos), deviceside.ISCSITargetPortalInfo)
		roundTripBy(t, in, one(ParseISCSIDevices), deviceside.ISCSIDevice)
		roundTripBy(t, in, one(ParsePersistentISCSILogins), deviceside.PersistentISCSILogin)
		accepts(t, in, counted(count, ParseISCSITargetPortals))
		accepts(t, in, counted(count, ParseISCSITargetPortalInfos))
		accepts(t, in, counted(count, ParseISCSIDevices))
		accepts(t, in, counted(count, ParsePersistentISCSILogins))
		sessions, ok := accepts(t, in,
			func(b []byte) ([]ISCSISession, error) { return ParseISCSISessionList(b, base, count) })
		if !ok {
			return
		}
		const elsewhere = 0x10000
		again, err := ParseISCSISessionList(deviceside.ISCSISessionList(sessions, elsewhere), elsewhere, len(sessions))
		if diff := cmp.Diff(again, sessions); err != nil || diff != "" {
			t.Errorf("%v, -again +first:\n%s", err, diff)
		}
	})
}
