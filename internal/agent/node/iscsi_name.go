// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

const (
	maxTargetName = 223  // bytes, RFC 3720 section 3.2.6.1
	maxAddress    = 253  // bytes of a DNS name
	defaultPort   = 3260 // registered for iSCSI
)

// targetName is the name of an iSCSI target in lower case; names are compared without case (RFC 3722).
type targetName string

// parseTargetName reads an iSCSI name in one of its three forms: iqn.2001-04.com.example:disk, eui.02004567A425678D
// or naa.52004567BA64678D (RFC 3720 section 3.2.6.3, RFC 3980). Characters beyond ASCII are refused, as Windows does.
func parseTargetName(text string) (targetName, error) {
	name := winpath.LowerASCII(text)
	problem := ""
	switch {
	case name == "":
		return "", errdefs.InvalidArgument.Errorf(reason.InvalidTargetName, "the iSCSI qualified name of the target is empty")
	case len(name) > maxTargetName:
		problem = fmt.Sprintf("it is longer than %d bytes", maxTargetName)
	case strings.ContainsFunc(name, notInTargetName):
		problem = "it has a character other than letters, digits and - . :"
	case !isTargetName(name):
		problem = "it is not like iqn.2001-04.com.example:disk, eui. and 16 hexadecimal digits, or naa. and 16 or 32"
	}
	if problem != "" {
		return "", errdefs.InvalidArgument.Errorf(reason.InvalidTargetName, "%s is not the name of an iSCSI target: %s",
			winpath.Quote(text), problem)
	}
	return targetName(name), nil
}

func notInTargetName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != ':'
}

// Names in lower case: of DNS, with labels of at most 63 characters, and of iSCSI. An iqn. name has a year, a month, a
// domain in reverse order and, after a colon, any text of its owner's choice.
const (
	label  = `[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?`
	domain = label + `(?:\.` + label + `)*`
)

var (
	isDomain     = regexp.MustCompile(`^` + domain + `$`).MatchString
	isTargetName = regexp.MustCompile(`^(?:iqn\.[0-9]{4}-(?:0[1-9]|1[0-2])\.` + domain + `(?::[a-z0-9.:-]*)?|` +
		`eui\.[0-9a-f]{16}|naa\.[0-9a-f]{16}(?:[0-9a-f]{16})?)$`).MatchString
)

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// portal is an address at which a storage system answers, checked.
type portal struct {
	address string // as the caller wrote it
	port    uint16
}

// parsePortal checks a portal. It wants an IP address or a DNS name: the agent looks it up with all its rights.
func parsePortal(p *api.TargetPortal) (portal, error) {
	address := p.GetTargetAddress()
	if address == "" {
		return portal{}, errdefs.InvalidArgument.Errorf(reason.InvalidTargetPortal,
			"the target portal is missing, or its address is empty")
	}
	if p.GetTargetPort() > 65535 {
		return portal{}, errdefs.InvalidArgument.Errorf(reason.InvalidTargetPortal,
			"the target portal's port %d is more than 65535", p.GetTargetPort())
	}
	if !isAddress(address) {
		return portal{}, errdefs.InvalidArgument.Errorf(reason.InvalidTargetPortal,
			"the target portal's address %s is neither an IP address nor a DNS name", winpath.Quote(address))
	}
	port := uint16(p.GetTargetPort())
	if port == 0 {
		port = defaultPort
	}
	return portal{address, port}, nil
}

func isAddress(text string) bool {
	if len(text) > maxAddress {
		return false
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return isDomain("z" + winpath.LowerASCII(ip.Zone())) // a zone is a number or a short name
	}
	text = winpath.LowerASCII(text)
	// A name that ends in digits is a mistyped IPv4 address, and programs differ in how they read it.
	return isDomain(text) && !isDigits(text[strings.LastIndex(text, ".")+1:])
}

// key is the same for all spellings of a portal.
func (p portal) key() string {
	address := winpath.LowerASCII(p.address)
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

func (p portal) object() operation.Object { return operation.Portal(p.String(), p.key()) }

func (p portal) win32() win32.ISCSITargetPortal {
	return win32.ISCSITargetPortal{Address: p.address, Socket: p.port}
}

// is reports whether w is this portal.
func (p portal) is(w win32.ISCSITargetPortal) bool {
	return p.key() == portal{w.Address, w.Socket}.key()
}
