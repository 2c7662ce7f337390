// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxNameUnits is how many UTF-16 units a file name may have on NTFS.
const maxNameUnits = 255

// IsFileName reports whether NTFS accepts a file name: streams and wildcards are not names.
func IsFileName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	forbidden := func(r rune) bool { return r < 0x20 || strings.ContainsRune(`<>:"/\|?*`, r) }
	return !strings.ContainsFunc(name, forbidden) && len(utf16.Encode([]rune(name))) <= maxNameUnits
}

// SameName compares names like NTFS: unit by unit in upper case.
func SameName(a, b string) bool { return a == b || Upper(a) == Upper(b) }

// Upper returns the upper-case form of a name. On NTFS, characters of two UTF-16 units have none.
func Upper(name string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); r <= 0xFFFF && up <= 0xFFFF {
			return up
		}
		return r
	}, name)
}

// ReservedPrefix begins the names of files with data that a plain directory cannot hold. Such names cannot be seen,
// opened or created through the kernel.
const ReservedPrefix = ".csi-proxy-reparse"

// IsReserved reports whether a name of the host is hidden from Windows.
func IsReserved(name string) bool {
	if runtime.GOOS == "windows" && !filepath.IsLocal(name) { // the host's own, such as CON
		return true
	}
	return len(name) >= len(ReservedPrefix) && strings.EqualFold(name[:len(ReservedPrefix)], ReservedPrefix)
}

// NewName returns a name that nothing has: 16 lower-case hexadecimal digits.
func NewName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// DroppedPrefix begins the names of directories and files that are being deleted or made.
const DroppedPrefix = "dropped-"

// IsName reports whether a name has the form of NewName: lower-case hexadecimal digits.
func IsName(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 8 && strings.ToLower(name) == name
}

// SameDir reports whether two paths lead to one directory.
func SameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
