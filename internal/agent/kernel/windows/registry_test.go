// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestRegistryStrings(t *testing.T) {
	const key = `SOFTWARE\csi-proxy-test`
	k, _, err := registry.CreateKey(registry.LOCAL_MACHINE, key, registry.SET_VALUE)
	must(t, err)
	t.Cleanup(func() { _ = k.Close(); _ = registry.DeleteKey(registry.LOCAL_MACHINE, key) })
	must(t, k.SetStringValue("one", `C:\one`))
	must(t, k.SetExpandStringValue("expanded", `%SystemRoot%\MEMORY.DMP`))
	must(t, k.SetStringsValue("several", []string{`C:\one`, `D:\two`}))
	must(t, k.SetDWordValue("number", 1))
	dir, err := Kernel{}.SystemWindowsDirectory()
	must(t, err)

	for value, want := range map[string][]string{"one": {`C:\one`}, "expanded": {dir + `\MEMORY.DMP`},
		"several": {`C:\one`, `D:\two`}} {
		got, err := Kernel{}.RegistryStrings(key, value)
		if err != nil || !slices.EqualFunc(got, want, strings.EqualFold) {
			t.Errorf("%s: got %q, %v, want %q", value, got, err, want)
		}
	}
	_, err = Kernel{}.RegistryStrings(key, "number")
	check(t, err, win32.ERROR_GEN_FAILURE)
	for _, missing := range [][2]string{{key, "missing"}, {key + `\missing`, "one"}} {
		if got, err := (Kernel{}).RegistryStrings(missing[0], missing[1]); len(got) > 0 || err != nil {
			t.Errorf("%v: got %q, %v", missing, got, err)
		}
	}
}
