// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// maxName is the limit of CreateServiceW, in UTF-16 units.
const maxName = 256

// CheckName refuses a text that cannot be the name of a service, before it reaches Windows or a log.
func CheckName(name string) error {
	invalid := func(why string) error {
		return errdefs.InvalidArgument.Errorf(reason.InvalidServiceName, "the service name %s", why)
	}
	switch {
	case name == "":
		return invalid("is empty")
	case !utf8.ValidString(name):
		return invalid("is not valid UTF-8")
	case len(name) > 3*maxName || len(utf16.Encode([]rune(name))) > maxName:
		return invalid("is longer than 256 characters")
	case strings.ContainsAny(name, `\/`):
		return invalid(fmt.Sprintf("%q has a slash", name))
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	}):
		return invalid(fmt.Sprintf("%q has a control character", name))
	}
	return nil
}
