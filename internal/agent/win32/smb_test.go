// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"bytes"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestSMBCredential(t *testing.T) {
	for _, c := range []struct{ user, password, want string }{
		{"csi", "secret", "csi:secret"},
		{`AZURE\csi`, "secret", `AZURE\\csi:secret`},
		{`a:b\c`, `p:w\d`, `a\:b\\c:p:w\d`},
		{"üser", "пароль", "üser:пароль"},
		{"", "", ":"},
	} {
		if got := string(win32.SMBCredential(c.user, []byte(c.password))); got != c.want {
			t.Errorf("SMBCredential(%q, %q): got %q, want %q", c.user, c.password, got, c.want)
		}
	}
}

// splitCredential splits a credential as Windows does, at the first colon that is not escaped.
func splitCredential(credential []byte) (user, password []byte, ok bool) {
	for i := 0; i < len(credential); i++ {
		switch credential[i] {
		case '\\':
			if i++; i == len(credential) {
				return nil, nil, false
			}
			user = append(user, credential[i])
		case ':':
			return user, credential[i+1:], true
		default:
			user = append(user, credential[i])
		}
	}
	return nil, nil, false
}

func FuzzSMBCredential(f *testing.F) {
	f.Add("csi", []byte("secret"))
	f.Add(`AZURE\csi`, []byte(`a\:b`))
	f.Add(`\:\`, []byte(""))
	f.Fuzz(func(t *testing.T, user string, password []byte) {
		gotUser, gotPassword, ok := splitCredential(win32.SMBCredential(user, password))
		if !ok || string(gotUser) != user || !bytes.Equal(gotPassword, password) {
			t.Errorf("SMBCredential(%q, %q) reads as %q, %q", user, password, gotUser, gotPassword)
		}
	})
}

func TestSMBMappingStatusName(t *testing.T) {
	for status, want := range map[uint32]string{
		win32.SMB_MAPPING_OK: "OK", win32.SMB_MAPPING_DISCONNECTED: "disconnected",
		win32.SMB_MAPPING_UNAVAILABLE: "unavailable", 7: "unknown",
	} {
		if got := win32.SMBMappingStatusName(status); got != want {
			t.Errorf("status %d: got %q, want %q", status, got, want)
		}
	}
}
