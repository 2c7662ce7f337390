// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ThisMachine returns the header of recordings of the Windows, or the Wine, that the program runs on.
func ThisMachine(program string) Header {
	v := windows.RtlGetVersion()
	h := Header{
		Host: Windows, Version: fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber),
		Architecture: runtime.GOARCH, Program: program,
	}
	version := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version") // which Windows lacks
	if version.Find() == nil {
		p, _, _ := version.Call()
		h.Host, h.WineVersion = Wine, windows.BytePtrToString(*(**byte)(unsafe.Pointer(&p)))
	}
	return h
}
