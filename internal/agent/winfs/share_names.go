// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// NotFileShare returns why a name does not lead to a share of a file server, "" if it does. Some names lead to other
// network providers, to pipes, or back to this machine's drives, and so out of the working directories. A share that an
// administrator published under the machine's own name is a share like any other.
//
// https://learn.microsoft.com/troubleshoot/windows-server/networking/remove-administrative-shares
func NotFileShare(server, share string) (why string) {
	if why := NeverShare(server, share); why != "" {
		return why
	}
	switch {
	case winpath.LooksASCII(server + share):
		return "the name has a letter that looks like k or s and is another one"
	case strings.Contains(server, ";"): // \\;WebDavRedirector\server\dir
		return "a server with a ; in its name chooses a network provider"
	case strings.EqualFold(share, "DavWWWRoot"):
		return share + " is WebDAV, not SMB"
	case isLoopback(server):
		return server + " is this machine"
	}
	switch upper := strings.ToUpper(share); {
	case upper == "ADMIN$", upper == "PRINT$", upper == "FAX$", len(upper) == 2 && upper[1] == '$' &&
		'A' <= upper[0] && upper[0] <= 'Z':
		return share + " is an administrative share"
	}
	return ""
}

// NeverShare is NotFileShare for names that no agent has ever mapped, so that none need be unmapped.
func NeverShare(server, share string) (why string) {
	if strings.Contains(server, "@") { // \\server@SSL\dir
		return "a server with an @ in its name is WebDAV, not SMB"
	}
	switch strings.ToUpper(share) {
	case "PIPE", "MAILSLOT", "IPC$":
		return share + " is not a file share"
	}
	return ""
}

// isLoopback reports whether a server's name is one of the names or addresses that every machine has for itself.
func isLoopback(server string) bool {
	name := strings.TrimRight(plainHost(server), ".")
	switch name {
	case "localhost", "loopback", "ip6-localhost", "ip6-loopback":
		return true
	}
	if strings.HasSuffix(name, ".localhost") || strings.HasPrefix(name, "localhost.") {
		return true
	}
	address, ok := addressOf(name)
	return ok && ThisMachine(address)
}

// ThisMachine reports whether an address is that of whichever machine uses it.
func ThisMachine(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsUnspecified()
}

// plainHost returns a host's name as a resolver of international names reads it: in lower case, with full-width and
// other compatible characters in their plain form, and without those that are not shown, such as soft hyphens.
//
// https://www.unicode.org/reports/tr46/#Mapping
func plainHost(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r == '\u3002': // a full stop, as are U+FF0E and U+FF61 in plain form
			return '.'
		case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return r
	}, norm.NFKC.String(name)))
}

// addressOf returns the address that a server's name is. In names, IPv6 addresses are written with dashes:
// 0--1.ipv6-literal.net, with s for the % of a zone. IPv4 addresses may have fewer than four parts, in any base.
//
// https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/62e862f4-2a51-452e-8eeb-dc4ff5ee33cc
// https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-inet_addr
func addressOf(name string) (netip.Addr, bool) {
	if literal, ok := strings.CutSuffix(name, ".ipv6-literal.net"); ok {
		literal, _, _ = strings.Cut(strings.ReplaceAll(literal, "-", ":"), "s")
		address, err := netip.ParseAddr(literal)
		return address.Unmap(), err == nil
	}
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, 0, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
