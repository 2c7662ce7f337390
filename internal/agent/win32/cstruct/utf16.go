// SPDX-License-Identifier: Apache-2.0

package cstruct

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Windows names are sequences of 16-bit units that need not be valid UTF-16. In Go they are WTF-8, where an unpaired
// surrogate has three bytes, so that every name survives the round trip (https://simonsapin.github.io/wtf-8/).

const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

// DecodeUTF16 turns UTF-16LE bytes, an even number of them, into WTF-8.
func DecodeUTF16(b []byte) string {
	s := make([]byte, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		u := rune(Buffer(b).U16(i))
		if u < surrogateMin || u > surrogateMax {
			s = utf8.AppendRune(s, u)
			continue
		}
		if i+3 < len(b) {
			if r := utf16.DecodeRune(u, rune(Buffer(b).U16(i+2))); r != utf8.RuneError {
				s = utf8.AppendRune(s, r)
				i += 2
				continue
			}
		}
		s = append(s, 0xE0|byte(u>>12), 0x80|byte(u>>6)&0x3F, 0x80|byte(u)&0x3F)
	}
	return string(s)
}

// EncodeUTF16 is the inverse of DecodeUTF16. Bytes that are not WTF-8 become U+FFFD.
func EncodeUTF16(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			if u, ok := surrogate(s); ok {
				r, size = u, 3
			}
		}
		s = s[size:]
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			b = append(b, byte(high), byte(high>>8), byte(low), byte(low>>8))
			continue
		}
		b = append(b, byte(r), byte(r>>8))
	}
	return b
}

// surrogate decodes the three bytes that stand for an unpaired surrogate at the beginning of s.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1]&0xE0 != 0xA0 || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// UntilNUL returns the UTF-16LE bytes before the first NUL unit.
func UntilNUL(b []byte) []byte {
	for i := 0; i+1 < len(b); i += 2 {
		if b[i] == 0 && b[i+1] == 0 {
			return b[:i]
		}
	}
	return b[:len(b)&^1]
}
