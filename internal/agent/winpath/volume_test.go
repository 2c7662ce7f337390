// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"strings"
	"testing"
)

const (
	exampleGUID   = "01234567-89ab-cdef-0123-456789abcdef"
	exampleVolume = `\\?\Volume{` + exampleGUID + `}\`
)

func TestParseVolumeID(t *testing.T) {
	for _, text := range []string{
		exampleVolume,
		strings.TrimSuffix(exampleVolume, `\`),
		`Volume{` + exampleGUID + `}\`,
		`Volume{` + exampleGUID + `}`,
		`\\?\VOLUME{01234567-89AB-CDEF-0123-456789ABCDEF}\`,
		`volume{` + exampleGUID + `}`,
	} {
		got, err := ParseVolumeID(text)
		if err != nil || got.String() != exampleVolume || got.Device()+`\` != exampleVolume ||
			got.GUID.String() != exampleGUID {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"1", "C:", `C:\`, "{" + exampleGUID + "}", exampleGUID, `\\?\`, "Volume{}", "Volume",
		exampleVolume + `\`, exampleVolume + "x", exampleVolume + " ", " " + exampleVolume, exampleVolume + "\x00",
		`\\?\\\?\Volume{` + exampleGUID + "}", `\\.\Volume{` + exampleGUID + `}\`, `\??\Volume{` + exampleGUID + `}\`,
		"Volume{" + exampleGUID + ")", "Volume{" + exampleGUID[1:] + "}", "Volume{0" + exampleGUID + "}",
		"Volume{+1234567-89ab-cdef-0123-456789abcdef}", "Volume{0123456789abcdef0123456789abcdef----}",
		"Volume{g1234567-89ab-cdef-0123-456789abcdef}", "Volume{" + exampleGUID + `} OR 1=1 --`,
		"\u2228olume{" + exampleGUID + "}", strings.Repeat("x", 1<<20),
	} {
		got, err := ParseVolumeID(text)
		if err == nil {
			t.Errorf("%q accepted as %s", text, got)
		} else if len(err.Error()) > 1000 || !strings.Contains(err.Error(), `\\?\Volume{GUID}\`) {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if _, err := ParseVolumeID(""); err == nil || err.Error() != "volume id empty" {
		t.Errorf("no text: error %v", err)
	}
}
