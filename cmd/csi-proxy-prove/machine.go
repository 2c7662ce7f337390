// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A machine is what the first look found.
type machine struct {
	proof.Machine
	base          string // the directory of the kit's files
	freeBytes     uint64 // there
	administrator bool
	agentPipes    []string // that an agent serves
	service       string   // the state of a service csiproxy; "": there is none
	noDisks       string   // why no disks can be made; "": they can
	inUse         string   // why the machine is not one to try things on; "": it may be
	found         []proof.Finding
	machineSerial string
	diskSerials   []string
	hidden        proof.Hidden
}

// note adds a finding.
func (m *machine) note(name, text string) {
	m.found = append(m.found, proof.Finding{Name: name, Text: text})
}

// redact adds names that a report must not have. Those that any machine may have say nothing about this one.
func (m *machine) redact(by string, names ...string) {
	common := []string{
		"administrator", "administrators", "admin", "root", "system", "user", "users", "guest", "workgroup", "localhost",
		"builtin", "nt authority", "authority", "windows", "defaultaccount", "wine", "host", "domain", "windows user", "temp",
		"default", "public", "systemprofile",
	}
	if m.hidden.Names == nil {
		m.hidden.Names = map[string]string{}
	}
	for _, name := range names {
		name = strings.Trim(strings.TrimSpace(name), `\/.`)
		if name != "" && !slices.Contains(common, strings.ToLower(name)) && m.hidden.Names[name] == "" {
			m.hidden.Names[name] = by
		}
	}
}

// hidePersonal adds the names of the host and of the user that every system has, and makes the salt of the serials'
// hashes.
func (m *machine) hidePersonal() {
	host, _ := os.Hostname()
	first, domain, _ := strings.Cut(host, ".")
	m.redact("HOST", os.Getenv("COMPUTERNAME"), os.Getenv("LOGONSERVER"), host, first)
	m.redact("DOMAIN", os.Getenv("USERDNSDOMAIN"), os.Getenv("USERDOMAIN"), domain)
	m.redact("USER", os.Getenv("USERNAME"), os.Getenv("USER"), os.Getenv("LOGNAME"))
	if home, err := os.UserHomeDir(); err == nil {
		m.redact("USER", filepath.Base(home))
	}
	if me, err := user.Current(); err == nil {
		domain, name, qualified := strings.Cut(me.Username, `\`)
		if !qualified {
			domain, name = "", me.Username
		}
		m.redact("USER", name, me.Name)
		m.redact("DOMAIN", domain)
	}
	m.hidden.Salt = make([]byte, 16)
	_, _ = rand.Read(m.hidden.Salt) // it never fails
}
