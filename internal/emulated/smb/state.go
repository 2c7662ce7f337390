// SPDX-License-Identifier: Apache-2.0

// Package smb is the file servers that an emulated node can reach, their accounts, and the node's mappings of shares.
package smb

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Server is a file server that the node can reach.
type Server struct {
	Name   string  `json:"name"`   // name or address; required
	Shares []Share `json:"shares"` // its shares
	// true unless it says false
	NoEncryption bool `yaml:"encryption" json:"noEncryption,omitempty"`
	Stopped      bool `json:"stopped,omitempty"` // it does not answer
}

// Share is a share. Its files are the plain directory shares/<server>/<share> of the state directory.
type Share struct {
	Name       string   `json:"name"`                 // required
	Users      []string `json:"users,omitempty"`      // accounts that may use it; left out: all
	ClosedRoot bool     `json:"closedRoot,omitempty"` // its root denies access, its folders do not
	// what its server reports, as of a disk; left out: 1 TiB; files are written all the same
	SizeBytes  setting.Size `json:"size,omitempty"`
	QuotaBytes setting.Size `json:"quota,omitempty"` // of each account; left out: none
}

// User is an account on all file servers. They compare verifiers, so that no password is stored.
type User struct {
	Name     string   `yaml:"name" json:"name"`                 // required
	Domains  []string `yaml:"domains" json:"domains,omitempty"` // the account may be `DOMAIN\name` too
	Password string   `yaml:"password" json:"-"`                // required; the node keeps a digest
	Salt     []byte   `yaml:"-" json:"salt"`                    // never changes
	Verifier []byte   `yaml:"-" json:"verifier"`
}

// State is the network's file servers and the node's mappings in node.json.
type State struct {
	Servers  []Server  `json:"servers,omitempty"`
	Users    []User    `json:"users,omitempty"`
	Mappings []Mapping `json:"mappings,omitempty"`
}

// Mapping is a global mapping and the session behind it.
type Mapping struct {
	Server   string `json:"server"`
	Share    string `json:"share"`
	User     string `json:"user"`              // as the client named it
	Verifier []byte `json:"verifier"`          // of the session's password
	Dropped  bool   `json:"dropped,omitempty"` // the server closed the session, and nothing has used it since
	Bare     bool   `json:"bare,omitempty"`    // a restart of Windows left it without its credentials
}

// ErrInvalid means that the description of a file server or account is not valid.
var ErrInvalid = errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "invalid file server or account")

// ErrNoSuch means that there is no file server or account of the name.
var ErrNoSuch = errdefs.NotFound.Errorf("NOT_FOUND", "no such file server or account")

// NewState returns the state of a new node, which has no mapping.
func NewState(servers []Server, users []User) State {
	s := State{Servers: slices.Clone(servers)}
	for _, u := range users {
		s.Add(u)
	}
	return s
}

// CheckPassword refuses an account that is to be added without one. ErrInvalid.
func (u User) CheckPassword() error {
	if u.Password == "" {
		return fmt.Errorf("%w: account %q has no password", ErrInvalid, u.Name)
	}
	return nil
}

// Add adds an account as the servers keep it.
func (s *State) Add(u User) {
	u.Salt = []byte(hostfiles.NewName())
	u.SetPassword(u.Password)
	u.Password = ""
	s.Users = append(s.Users, u)
}

// Check refuses a state that is not valid, or in which two shares would have one directory. ErrInvalid.
func (s *State) Check() error {
	servers, users := map[string]bool{}, map[string]bool{}
	for i, server := range s.Servers {
		if !hostfiles.IsFileName(server.Name) || servers[Key(server.Name)] {
			return strictyaml.At(fmt.Errorf("%w: file server %q has no valid name, or appears twice", ErrInvalid, server.Name),
				"smbServers", i)
		}
		servers[Key(server.Name)] = true
		shares := map[string]bool{}
		for j, share := range server.Shares {
			if !hostfiles.IsFileName(share.Name) || hostfiles.IsReserved(share.Name) || shares[Key(share.Name)] {
				return strictyaml.At(fmt.Errorf("%w: share %q has no valid name, or appears twice", ErrInvalid, share.Name),
					"smbServers", i, "shares", j)
			}
			if err := share.checkSpace(); err != nil {
				return strictyaml.At(err, "smbServers", i, "shares", j)
			}
			shares[Key(share.Name)] = true
		}
	}
	for i, user := range s.Users {
		if user.Name == "" || users[Key(user.Name)] {
			return strictyaml.At(fmt.Errorf("%w: account %q has no name, or appears twice", ErrInvalid, user.Name),
				"smbUsers", i)
		}
		users[Key(user.Name)] = true
	}
	for _, m := range s.Mappings {
		if !hostfiles.IsFileName(m.Server) || !hostfiles.IsFileName(m.Share) {
			return fmt.Errorf(`mapping of \\%s\%s`, m.Server, m.Share)
		}
	}
	return nil
}

// CheckUsers refuses accounts that do not exist. ErrInvalid.
func (s *State) CheckUsers(names []string) error {
	for _, name := range names {
		if u := s.User(name, ""); u == nil || Key(u.Name) != Key(name) {
			return fmt.Errorf("%w: there is no account %q", ErrInvalid, name)
		}
	}
	return nil
}

// Key returns the form of a name that is the same for all spellings. The directories of shares are named by it.
func Key(name string) string { return winpath.Fold(name) }

// SharePath returns the directory of a share's files in the state directory of a node.
func SharePath(dir, server, share string) string {
	return filepath.Join(dir, SharesDir, Key(server), Key(share))
}

// SharesDir is the folder of the shares' files.
const SharesDir = "shares"

// Server returns the file server of a name, nil if there is none.
func (s *State) Server(name string) *Server {
	return setting.Find(s.Servers, func(o *Server) bool { return Key(o.Name) == Key(name) })
}

// Share returns the share of a name, nil if there is none.
func (s *Server) Share(name string) *Share {
	return setting.Find(s.Shares, func(o *Share) bool { return Key(o.Name) == Key(name) })
}

// Share returns a share of a file server, nil if there is none.
func (s *State) Share(server, share string) *Share {
	if of := s.Server(server); of != nil {
		return of.Share(share)
	}
	return nil
}

// User returns the account of a name, with a domain or without, as a server knows it: its own name is a domain, too.
// Without a server only the account's domains count.
func (s *State) User(name, server string) *User {
	domain, account, ok := strings.Cut(name, `\`)
	if !ok {
		domain, account = "", name
	}
	return setting.Find(s.Users, func(o *User) bool {
		known := func(d string) bool { return Key(d) == Key(domain) }
		return Key(o.Name) == Key(account) && (!ok || server != "" && known(server) ||
			slices.ContainsFunc(o.Domains, known))
	})
}

// Mapping returns the mapping of a share, nil if there is none.
func (s *State) Mapping(server, share string) *Mapping {
	return setting.Find(s.Mappings, func(o *Mapping) bool { return o.Of(server, share) })
}

// Of reports whether it is the mapping of a share.
func (m *Mapping) Of(server, share string) bool {
	return Key(m.Server) == Key(server) && Key(m.Share) == Key(share)
}

// Reboot leaves the mappings without their credentials, or removes them.
func (s *State) Reboot(mappingsStay bool) {
	if !mappingsStay {
		s.Mappings = nil
	}
	for i := range s.Mappings {
		s.Mappings[i].Bare = true
	}
}

// SetPassword changes the password.
func (u *User) SetPassword(password string) { u.Verifier = u.verifier(kernel.Secret(password)) }

// verifier returns what the server keeps instead of a password. It need not resist an attacker with the file: these
// passwords protect nothing.
func (u *User) verifier(password kernel.Secret) []byte {
	mac := hmac.New(sha256.New, u.Salt)
	mac.Write(password)
	return mac.Sum(nil)
}

// CreateShares makes the directories of the shares.
func CreateShares(h *hostfiles.Host, dir string, s State) error {
	for _, server := range s.Servers {
		for _, share := range server.Shares {
			if err := h.MkdirAll(SharePath(dir, server.Name, share.Name), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// ParseRemotePath parses \\server\share; a folder below a share cannot be mapped.
func ParseRemotePath(path string) (server, share string, err error) {
	rest, ok := strings.CutPrefix(path, `\\`)
	server, share, _ = strings.Cut(rest, `\`)
	if !ok || !hostfiles.IsFileName(server) || !hostfiles.IsFileName(share) {
		return "", "", win32.ERROR_INVALID_PARAMETER
	}
	return server, share, nil
}

// Connect returns a new mapping with its session.
func (s *State) Connect(serverName, shareName, userName string, password kernel.Secret,
	requirePrivacy bool) (m Mapping, err error) {
	server := s.Server(serverName)
	if server == nil || server.Stopped {
		return m, win32.ERROR_BAD_NETPATH
	}
	for _, other := range s.Mappings {
		switch {
		case Key(other.Server) != Key(serverName):
		case other.Bare && !other.Of(serverName, shareName): // whether it is in the way is not known
		case other.Bare:
			return m, win32.ERROR_SESSION_CREDENTIAL_CONFLICT // https://github.com/kubernetes-csi/csi-driver-smb/issues/219
		case Key(other.User) != Key(userName):
			return m, win32.ERROR_SESSION_CREDENTIAL_CONFLICT
		case other.Of(serverName, shareName):
			return m, win32.ERROR_GEN_FAILURE // WBEM_E_FAILED: kubernetes/kubernetes#73087, Azure/aksArc#111
		}
	}
	if requirePrivacy && server.NoEncryption {
		return m, win32.ERROR_NOT_SUPPORTED
	}
	user := s.User(userName, serverName)
	if user == nil {
		return m, win32.ERROR_LOGON_FAILURE
	}
	m = Mapping{Server: serverName, Share: shareName, User: userName, Verifier: user.verifier(password)}
	if !bytes.Equal(m.Verifier, user.Verifier) {
		return m, win32.ERROR_INVALID_PASSWORD
	}
	return m, server.admits(user, shareName)
}

// Connectable returns nil if the node can reach a share now, else the error of opening a file there. Without a mapping
// the node logs on by its computer's account, which the servers here do not know.
// https://learn.microsoft.com/windows/win32/services/localsystem-account
func (s *State) Connectable(serverName, shareName string) error {
	server := s.Server(serverName)
	if server == nil || server.Stopped {
		return win32.ERROR_BAD_NETPATH
	}
	m := s.Mapping(serverName, shareName)
	if m == nil {
		return win32.ERROR_LOGON_FAILURE
	}
	if m.Bare { // https://github.com/kubernetes-csi/csi-driver-smb/issues/733
		return win32.ERROR_ACCESS_DENIED
	}
	user := s.User(m.User, serverName)
	if user == nil || !bytes.Equal(m.Verifier, user.Verifier) {
		return win32.ERROR_LOGON_FAILURE
	}
	return server.admits(user, shareName)
}

// admits returns nil if an account may use a share, else the reason why not.
func (s *Server) admits(u *User, shareName string) error {
	share := s.Share(shareName)
	if share == nil {
		return win32.ERROR_BAD_NET_NAME
	}
	if len(share.Users) > 0 && !slices.ContainsFunc(share.Users,
		func(name string) bool { return Key(name) == Key(u.Name) }) {
		return win32.ERROR_ACCESS_DENIED
	}
	return nil
}

// ShareName is a share of a file server, in the server's spelling. The zero value is none.
type ShareName struct{ Server, Share string }

func (s ShareName) String() string { return s.Server + `\` + s.Share }

// Drop removes a share.
func (s *Server) Drop(share string) {
	s.Shares = slices.DeleteFunc(s.Shares, func(o Share) bool { return Key(o.Name) == Key(share) })
}

// checkSpace refuses impossible sizes. ErrInvalid.
func (s *Share) checkSpace() error {
	for name, bytes := range map[string]setting.Size{"size": s.SizeBytes, "quota": s.QuotaBytes} {
		if bytes < 0 || bytes > setting.MaxSize {
			return fmt.Errorf("%w: share %q has the %s %d; it must be at most 16 TiB", ErrInvalid, s.Name, name, bytes)
		}
	}
	return nil
}
