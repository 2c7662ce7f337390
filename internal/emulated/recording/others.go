// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// profile matches the directory of a user's profile.
var profile = regexp.MustCompile(`(?i)\\Users\\([^\\/:*?"<>|]+)`)

// Others maps names that a call shows of a machine, and that were not made for the recording, to what stands for them:
// "SHARE". They are those of file servers, shares, targets, initiators, portals and users. Own reports whether a name
// was made for the recording.
func (c *Call) Others(own func(name string) bool) map[string]string {
	others := map[string]string{}
	add := func(by string, names ...string) {
		for _, name := range names {
			if name != "" && !own(name) {
				others[name] = by
			}
		}
	}
	for _, text := range []string{c.Object, c.Argument, string(c.Result)} {
		for _, m := range profile.FindAllStringSubmatch(strings.ReplaceAll(text, `\\`, `\`), -1) {
			add("USER", m[1])
		}
	}
	host := func(name string) {
		if _, err := netip.ParseAddr(name); err != nil { // addresses stay
			add("PORTAL", name)
		}
	}
	portal := func(p win32.ISCSITargetPortal) { add("PORTAL", p.SymbolicName); host(p.Address) }
	switch c.Function {
	case "SMBGlobalMappings":
		var mappings []kernel.SMBGlobalMapping
		_ = json.Unmarshal(c.Result, &mappings)
		for _, m := range mappings {
			server, share, _ := strings.Cut(strings.TrimLeft(m.RemotePath, `\`), `\`)
			if share, below, _ := strings.Cut(share, `\`); !own(share) {
				add("SERVER", server)
				add("SHARE", share, below)
			}
		}
	case "ReportISCSITargets":
		var targets []string
		_ = json.Unmarshal(c.Result, &targets)
		add("TARGET", targets...)
	case "ISCSISessionList":
		sessions, _ := win32.ParseISCSISessionList(c.Out, c.Base, c.Count)
		for _, s := range sessions {
			add("TARGET", s.TargetName, s.TargetNodeName)
			add("INITIATOR", s.InitiatorName)
			for _, connection := range s.Connections {
				host(connection.TargetAddress)
			}
		}
	case "ISCSIPersistentLogins":
		var logins []win32.PersistentISCSILogin
		_ = json.Unmarshal(c.Result, &logins)
		for _, l := range logins {
			add("TARGET", l.TargetName)
			add("INITIATOR", l.Initiator)
			portal(l.Portal)
		}
	case "ReportISCSISendTargetPortals":
		infos, _ := win32.ParseISCSITargetPortalInfos(c.Out, c.Count)
		for _, p := range infos {
			add("INITIATOR", p.InitiatorName)
			portal(p.Portal)
		}
	case "ReportISCSITargetPortals":
		add("TARGET", c.Object)
		portals, _ := win32.ParseISCSITargetPortals(c.Out, c.Count)
		for _, p := range portals {
			portal(p)
		}
	case "ISCSIDiscoveryMechanisms":
		add("TARGET", c.Object)
		var mechanisms []string
		_ = json.Unmarshal(c.Result, &mechanisms)
		for _, m := range mechanisms {
			if p, ok := win32.ParseSendTargets(m); ok {
				add("INITIATOR", p.InitiatorName)
				portal(p.Portal)
			}
		}
	case "DevicesForISCSISession":
		devices, _ := win32.ParseISCSIDevices(c.Out, c.Count)
		for _, d := range devices {
			add("TARGET", d.TargetName)
			add("INITIATOR", d.InitiatorName)
		}
	}
	return others
}
