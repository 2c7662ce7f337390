// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// SMBServerSpec is a file server that the node can reach.
type SMBServerSpec struct {
	Name   string         `yaml:"name" json:"name"`
	Shares []SMBShareSpec `yaml:"shares" json:"shares"`
	// it lacks SMB encryption; in a file the key is true if it has it
	NoEncryption bool `yaml:"encryption" json:"noEncryption,omitempty"`
	Stopped      bool `yaml:"-" json:"stopped,omitempty"`
}

// SMBShareSpec is a share. Its files are the plain directory shares/<server>/<share> of the state directory.
type SMBShareSpec struct {
	Name string `yaml:"name" json:"name"`
	// that may use it, by SMBUserSpec.Name; none: all accounts
	Users []string `yaml:"users" json:"users,omitempty"`
	// its root directory denies access, its folders do not
	ClosedRoot bool         `yaml:"closedRoot" json:"closedRoot,omitempty"`
	SizeBytes  setting.Size `yaml:"size" json:"size,omitempty"`   // 0: 1 TiB
	QuotaBytes setting.Size `yaml:"quota" json:"quota,omitempty"` // of each account; 0: none
}

// SMBUserSpec is an account on all file servers.
type SMBUserSpec struct {
	Name     string   `yaml:"name"`
	Domains  []string `yaml:"domains"` // the account may also be named DOMAIN\Name
	Password string   `yaml:"password"`
}

// smbState is the network's file servers and the node's mappings in node.json.
type smbState struct {
	Servers  []SMBServerSpec   `json:"servers,omitempty"`
	Users    []smbUserState    `json:"users,omitempty"`
	Mappings []smbMappingState `json:"mappings,omitempty"`
}

// smbUserState is an account. Servers compare verifiers, so that no password is stored.
type smbUserState struct {
	Name     string   `json:"name"`
	Domains  []string `json:"domains,omitempty"`
	Salt     []byte   `json:"salt"` // never changes
	Verifier []byte   `json:"verifier"`
}

// smbMappingState is a global mapping and the session behind it.
type smbMappingState struct {
	Server   string `json:"server"`
	Share    string `json:"share"`
	User     string `json:"user"`              // as the client named it
	Verifier []byte `json:"verifier"`          // of the session's password
	Dropped  bool   `json:"dropped,omitempty"` // the server closed the session, and nothing has used it since
	Bare     bool   `json:"bare,omitempty"`    // a restart of Windows left it without its credentials
}

// ErrInvalidSMB means that the description of a file server or account is not valid.
var ErrInvalidSMB = errors.New("invalid file server or account")

// ErrNoSuchSMB means that there is no file server or account of the name.
var ErrNoSuchSMB = errors.New("no such file server or account")

func newSMBState(servers []SMBServerSpec, users []SMBUserSpec) smbState {
	s := smbState{Servers: slices.Clone(servers)}
	for _, u := range users {
		s.Users = append(s.Users, u.state())
	}
	return s
}

func (u SMBUserSpec) state() smbUserState {
	user := smbUserState{Name: u.Name, Domains: u.Domains, Salt: []byte(hostfiles.NewName())}
	user.Verifier = user.verifier([]byte(u.Password))
	return user
}

// check refuses a state that is not valid, or in which two shares would have one directory. ErrInvalidSMB.
func (s *smbState) check() error {
	servers, users := map[string]bool{}, map[string]bool{}
	for i, server := range s.Servers {
		if !hostfiles.IsFileName(server.Name) || servers[smbKey(server.Name)] {
			return strictyaml.At(fmt.Errorf("%w: file server %q has no valid name, or appears twice", ErrInvalidSMB, server.Name),
				"smbServers", i)
		}
		servers[smbKey(server.Name)] = true
		shares := map[string]bool{}
		for j, share := range server.Shares {
			if !hostfiles.IsFileName(share.Name) || hostfiles.IsReserved(share.Name) || shares[smbKey(share.Name)] {
				return strictyaml.At(fmt.Errorf("%w: share %q has no valid name, or appears twice", ErrInvalidSMB, share.Name),
					"smbServers", i, "shares", j)
			}
			if err := share.checkSpace(); err != nil {
				return strictyaml.At(err, "smbServers", i, "shares", j)
			}
			shares[smbKey(share.Name)] = true
		}
	}
	for i, user := range s.Users {
		if user.Name == "" || users[smbKey(user.Name)] {
			return strictyaml.At(fmt.Errorf("%w: account %q has no name, or appears twice", ErrInvalidSMB, user.Name), "smbUsers", i)
		}
		users[smbKey(user.Name)] = true
	}
	for _, m := range s.Mappings {
		if !hostfiles.IsFileName(m.Server) || !hostfiles.IsFileName(m.Share) {
			return fmt.Errorf(`mapping of \\%s\%s`, m.Server, m.Share)
		}
	}
	return nil
}

// checkUsers refuses accounts that do not exist. ErrInvalidSMB.
func (s *smbState) checkUsers(names []string) error {
	for _, name := range names {
		if u := s.user(name, ""); u == nil || smbKey(u.Name) != smbKey(name) {
			return fmt.Errorf("%w: there is no account %q", ErrInvalidSMB, name)
		}
	}
	return nil
}

// smbKey returns the form of a name that is the same for all spellings. The directories of shares are named by it.
func smbKey(name string) string { return strings.ToLower(name) }

func sharePath(dir, server, share string) string {
	return filepath.Join(dir, sharesDir, hostfiles.HostName(smbKey(server)), hostfiles.HostName(smbKey(share)))
}

// sharesDir is the folder of the shares' files.
const sharesDir = "shares"

func (s *smbState) server(name string) *SMBServerSpec {
	return find(s.Servers, func(o *SMBServerSpec) bool { return smbKey(o.Name) == smbKey(name) })
}

func (s *SMBServerSpec) share(name string) *SMBShareSpec {
	return find(s.Shares, func(o *SMBShareSpec) bool { return smbKey(o.Name) == smbKey(name) })
}

// user returns the account of a name, with a domain or without, as a server knows it: its own name is a domain, too.
// Without a server only the account's domains count.
func (s *smbState) user(name, server string) *smbUserState {
	domain, account, ok := strings.Cut(name, `\`)
	if !ok {
		domain, account = "", name
	}
	return find(s.Users, func(o *smbUserState) bool {
		known := func(d string) bool { return smbKey(d) == smbKey(domain) }
		return smbKey(o.Name) == smbKey(account) && (!ok || server != "" && known(server) ||
			slices.ContainsFunc(o.Domains, known))
	})
}

func (s *smbState) mapping(server, share string) *smbMappingState {
	return find(s.Mappings, func(o *smbMappingState) bool { return o.of(server, share) })
}

func (m *smbMappingState) of(server, share string) bool {
	return smbKey(m.Server) == smbKey(server) && smbKey(m.Share) == smbKey(share)
}

// reboot leaves the mappings without their credentials, or removes them.
func (s *smbState) reboot(mappingsStay bool) {
	if !mappingsStay {
		s.Mappings = nil
	}
	for i := range s.Mappings {
		s.Mappings[i].Bare = true
	}
}

// find returns a pointer to the first element that fits, or nil.
func find[T any](list []T, fits func(*T) bool) *T {
	for i := range list {
		if fits(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// verifier returns what the server keeps instead of a password. It need not resist an attacker with the file: these
// passwords protect nothing.
func (u *smbUserState) verifier(password kernel.Secret) []byte {
	mac := hmac.New(sha256.New, u.Salt)
	mac.Write(password)
	return mac.Sum(nil)
}

// createShares makes the directories of the shares.
func createShares(h *hostfiles.Host, dir string, s smbState) error {
	for _, server := range s.Servers {
		for _, share := range server.Shares {
			if err := h.MkdirAll(sharePath(dir, server.Name, share.Name), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}
