// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// everything is the pattern that every text fits.
const everything = "*"

// fitsName compares the names of services, without case.
func fitsName(pattern, text string) bool {
	return pattern == everything || winpath.Fold(pattern) == winpath.Fold(text)
}

// fitsServer compares the names of servers. *.example.com is every name below example.com, at any depth.
func fitsServer(pattern, text string) bool {
	text = winpath.Fold(text)
	if domain, below := strings.CutPrefix(pattern, "*"); below && domain != "" {
		return len(text) > len(domain) && strings.HasSuffix(text, domain) && text[0] != '.'
	}
	return pattern == everything || pattern == text
}

// fitsPortal compares addresses as addresses, and names as those of servers.
func fitsPortal(pattern, text string) bool {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return fitsServer(pattern, text)
	}
	if prefix, err := netip.ParsePrefix(pattern); err == nil {
		return address.Zone() == "" && prefix.Contains(address.Unmap())
	}
	listed, err := netip.ParseAddr(pattern)
	return pattern == everything || err == nil && listed.Unmap() == address.Unmap()
}

// fitsTarget compares the names of targets. With * at its end, a pattern is their beginning.
func fitsTarget(pattern, text string) bool {
	if beginning, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(winpath.LowerASCII(text), beginning)
	}
	return pattern == winpath.LowerASCII(text)
}

// The checks of patterns return what is wrong with one, or "". One that never fits anything is a mistake.

func plainName(text string) (problem string) {
	if text != everything && strings.ContainsAny(text, `*?\/`) {
		return "is not the name of a service, nor * alone"
	}
	return ""
}

func serverPattern(text string) (problem string) {
	name := strings.TrimPrefix(text, "*.")
	if text != everything && (name == "" || strings.ContainsAny(name, `*?\/@; `)) {
		return `is not the name of a server, nor *.DOMAIN, nor * alone`
	}
	if winpath.LooksASCII(text) {
		return "has a letter that looks like k or s and is another one"
	}
	return ""
}

func portalPattern(text string) (problem string) {
	if _, err := netip.ParsePrefix(text); err == nil {
		return ""
	}
	if serverPattern(text) != "" {
		return "is not an address, a network such as 192.0.2.0/24, a name, *.DOMAIN, nor * alone; a port is not part of it"
	}
	if address, err := netip.ParseAddr(text); err != nil && strings.Contains(text, ":") || address.Zone() != "" {
		return "is not an address; a port is not part of it"
	}
	return ""
}

func targetPattern(text string) (problem string) {
	if strings.Contains(strings.TrimSuffix(text, "*"), "*") {
		return "has a * that is not at its end"
	}
	return ""
}
