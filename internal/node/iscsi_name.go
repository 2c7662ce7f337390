// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

const (
	reasonTargetName = reason.InvalidTargetName
	reasonPortal     = reason.InvalidTargetPortal

	maxTargetName = 223 // bytes, RFC 3720 section 3.2.6.1
	maxAddress    = 253 // bytes of a DNS name
	maxLabel      = 63
	defaultPort   = 3260 // registered for iSCSI
)

// targetName is the name of an iSCSI target in lower case; names are compared without case (RFC 3722).
type targetName string

// parseTargetName reads an iSCSI name in one of its three forms: iqn.2001-04.com.example:disk, eui.02004567A425678D
// or naa.52004567BA64678D (RFC 3720 section 3.2.6.3, RFC 3980). Characters beyond ASCII are refused, as Windows does.
func parseTargetName(text string) (targetName, error) {
	name := lowerASCII(text)
	problem := ""
	switch {
	case name == "":
		return "", errdefs.InvalidArgument.Errorf(reasonTargetName, "the iSCSI qualified name of the target is empty")
	case len(name) > maxTargetName:
		problem = fmt.Sprintf("it is longer than %d bytes", maxTargetName)
	case strings.ContainsFunc(name, notInTargetName):
		problem = "it has a character other than letters, digits and - . :"
	default:
		kind, rest, _ := strings.Cut(name, ".")
		switch {
		case kind == "iqn" && isQualified(rest):
		case kind == "eui" && isHex(rest, 16):
		case kind == "naa" && (isHex(rest, 16) || isHex(rest, 32)):
		default:
			problem = "it is not like iqn.2001-04.com.example:disk, eui. and 16 hexadecimal digits, or naa. and 16 or 32"
		}
	}
	if problem != "" {
		return "", errdefs.InvalidArgument.Errorf(reasonTargetName, "%s is not the name of an iSCSI target: %s",
			winpath.Quote(text), problem)
	}
	return targetName(name), nil
}

// lowerASCII leaves other letters alone: the lower case of some of them is an ASCII letter.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

func notInTargetName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != ':'
}

// isQualified reports whether text is the rest of an iqn. name: year, month, a domain in reverse order and, after a
// colon, any text of its owner's choice.
func isQualified(text string) bool {
	const date = len("2001-04.")
	if len(text) <= date || !isDigits(text[:4]) || text[4] != '-' || !isDigits(text[5:7]) || text[7] != '.' {
		return false
	}
	if month := text[5:7]; month < "01" || month > "12" {
		return false
	}
	domain, _, _ := strings.Cut(text[date:], ":")
	return isDomain(domain)
}

// isDomain reports whether text is a DNS name in lower case.
func isDomain(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > maxLabel || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool { return notInTargetName(r) || r == ':' }) {
			return false
		}
	}
	return true
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// TargetPortal is an address at which a storage system answers.
type TargetPortal struct {
	Address string // IP address or DNS name
	Port    uint32 // TCP port; 0 is 3260
}

// portal is a checked TargetPortal.
type portal struct {
	address string // as the caller wrote it
	port    uint16
}

// parsePortal checks a portal. An address must be an IP address or a DNS name, because the agent looks it up with all
// its rights.
func parsePortal(p TargetPortal) (portal, error) {
	if p.Address == "" {
		return portal{}, errdefs.InvalidArgument.Errorf(reasonPortal, "the target portal is missing, or its address is empty")
	}
	if p.Port > 65535 {
		return portal{}, errdefs.InvalidArgument.Errorf(reasonPortal,
			"the target portal's port %d is more than 65535", p.Port)
	}
	if !isAddress(p.Address) {
		return portal{}, errdefs.InvalidArgument.Errorf(reasonPortal,
			"the target portal's address %s is neither an IP address nor a DNS name", winpath.Quote(p.Address))
	}
	port := uint16(p.Port)
	if port == 0 {
		port = defaultPort
	}
	return portal{p.Address, port}, nil
}

func isAddress(text string) bool {
	if len(text) > maxAddress {
		return false
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return isDomain("z" + lowerASCII(ip.Zone())) // a zone is a number or a short name
	}
	text = lowerASCII(text)
	// A name that ends in digits is a mistyped IPv4 address, and programs differ in how they read it.
	return isDomain(text) && !isDigits(text[strings.LastIndex(text, ".")+1:])
}

// key is the same for all spellings of a portal.
func (p portal) key() string {
	address := lowerASCII(p.address)
	if ip, err := netip.ParseAddr(address); err == nil {
		address = ip.String()
	}
	return fmt.Sprintf("%s %d", address, p.port)
}

func (p portal) String() string {
	if strings.Contains(p.address, ":") {
		return fmt.Sprintf("[%s]:%d", p.address, p.port)
	}
	return fmt.Sprintf("%s:%d", p.address, p.port)
}

func (p portal) win32() win32.ISCSITargetPortal {
	return win32.ISCSITargetPortal{Address: p.address, Socket: p.port}
}

// is reports whether w is this portal.
func (p portal) is(w win32.ISCSITargetPortal) bool {
	return p.key() == portal{w.Address, w.Socket}.key()
}
