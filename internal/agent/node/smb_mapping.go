// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// ensureMapped makes sure that the share is mapped: it keeps a mapping that works, else makes one with these
// credentials, if those can help.
func (s *sharing) ensureMapped(share winpath.UNC, userName string, password Secret) error {
	mapping, err := s.look()
	for again := false; ; again = true {
		if err != nil {
			return err
		}
		if s.by.IsZero() {
			s.ask(true)
		}
		if mapping != nil {
			works, err := s.works(share, mapping)
			if err != nil {
				return err
			}
			if works {
				errdefs.NotDone(s.run.Context, s.key+" is mapped already; these credentials were not tried")
				return nil
			}
		}
		// Without credentials, Windows would log in as SYSTEM, which a server of the node's domain knows as the node's
		// account. No source shows that it maps shares for guests, whose sessions are neither signed nor encrypted; its
		// cmdlet requires -Credential. Users want it: microsoft/K8s-Storage-Plugins 17, NetApp/trident 827.
		if userName == "" || len(password) == 0 {
			return errdefs.Unauthenticated.Errorf(reason.InvalidCredentials,
				"the share %s is not mapped yet and needs a user name and a password", s.key)
		}
		if err := s.refuseThisMachine(s.key); err != nil {
			return err
		}
		failure := s.mapOver(mapping != nil, userName, password)
		if failure == nil {
			return nil
		}
		mapping, err = s.look()
		// Another program has a session with the server: for another share, or since a moment ago for this one. WMI was seen
		// to report a share that is mapped already as a "generic failure": kubernetes/kubernetes#73087.
		inTheWay := errdefs.HasCode(failure, win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT)
		switch {
		case (inTheWay || errdefs.HasCode(failure, win32.ERROR_GEN_FAILURE)) && err == nil && mapping != nil && !again:
		case inTheWay:
			return s.conflict(s.key, failure)
		default:
			return s.notMapped(s.key, failure, userName, password)
		}
	}
}

// resolveTime limits the lookup of a file server's addresses.
const resolveTime = 5 * time.Second

// refuseThisMachine refuses a server whose name resolves to a loopback address. Windows refuses one without an address.
func (o *op) refuseThisMachine(key string) error {
	if o.node.config.Resolve == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(o.run.Context, resolveTime)
	defer cancel()
	addresses, _ := o.node.config.Resolve(ctx, "ip", serverOf(key))
	if i := slices.IndexFunc(addresses, winfs.ThisMachine); i >= 0 {
		return invalidRemote(key, "%s is this machine: its address is %s", serverOf(key), addresses[i])
	}
	return nil
}

// unreachable reports whether a code means that the server does not answer now, for whatever reason.
func unreachable(err error) bool {
	cause, _ := errdefs.SMB(err)
	return cause == errdefs.SMBServerSilent
}

const domainSilent = "no domain controller accepts the logon, which this node and the server need"

// remove removes the mapping of the share. It first waits for operations that walk a path on the share, even for one
// that hangs: the rest of its walk would reach the server without the mapping.
func (s *sharing) remove() error {
	release, err := s.fs.LockShare(s.key)
	if err != nil {
		return err
	}
	defer release()
	leave, err := s.turn(&s.node.unmaps, "remove mappings")
	if err != nil {
		return err
	}
	defer leave()
	err = s.kernel.RemoveSMBGlobalMapping(s.key)
	if err == nil || errdefs.HasCode(err, win32.ERROR_NOT_CONNECTED, win32.ERROR_NOT_FOUND) {
		s.node.mapped.Delete(s.key)
		return nil
	}
	return errdefs.Errorf(err, "removing the mapping of %s", s.key)
}

// conflict returns an error that names the holder of other credentials for the server. None is removed: it is in use.
func (o *op) conflict(key string, cause error) error {
	server := serverOf(key)
	holder := "the session does not belong to a global mapping"
	mappings, _ := o.fs.Mappings() // on failure the message just says less
	for _, m := range mappings {
		if other := winfs.MappingKey(m.RemotePath); serverOf(other) == server && other != key {
			holder = "the share " + other + " is mapped with those"
			break
		}
	}
	return smbError(errdefs.FailedPrecondition, cause,
		"cannot map %s: this node has a session with the server %s under other credentials, and Windows keeps one set for "+
			"each server: %s; use the same credentials, or end that session first", key, server, holder)
}

// serverOf returns the server of \\server\share.
func serverOf(key string) string {
	server, _, _ := strings.Cut(strings.TrimPrefix(key, `\\`), `\`)
	return server
}

// notMapped explains a failure of CreateSMBGlobalMapping. It never names the user.
func (o *op) notMapped(key string, err error, userName string, password Secret) error {
	failure := errdefs.Errorf(err, "cannot map %s", key)
	var e *errdefs.Error
	if !errors.As(failure, &e) {
		return failure
	}
	class, text := e.Class, domainSilent
	switch cause, means := errdefs.SMB(err); {
	case means != "":
		return smbError(class, err, "cannot map %s", key)
	case cause == errdefs.SMBServerSilent:
		class, text = errdefs.Unavailable, "the server "+serverOf(key)+" does not answer"
	case cause == errdefs.SMBDomainSilent:
	case cause == errdefs.SMBShareMissing:
		class, text = errdefs.NotFound, "the server "+serverOf(key)+" has no such share"
	case cause == errdefs.SMBShareDenied:
		text = "the server admits the user, but not to this share" + o.privacyHint()
	case cause == errdefs.SMBLogonRefused:
		text = "the server " + serverOf(key) + " refuses the user name or the password" + lineEndHint(password) +
			userHint(userName)
	case errdefs.HasCode(err, win32.ERROR_NOT_SUPPORTED) && o.node.config.RequirePrivacy:
		class, text = errdefs.FailedPrecondition, "the server "+serverOf(key)+" cannot encrypt, and this agent requires "+
			"encryption; its flag -require-privacy=false allows unencrypted mappings"
	case errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER):
		text = "Windows considers the path or the user name malformed; write a domain user as DOMAIN\\user"
	default:
		return failure
	}
	return smbError(class, err, "cannot map %s: %s", key, text)
}

// privacyHint returns an addition for codes that may also mean that a server does not encrypt.
func (o *op) privacyHint() string {
	if o.node.config.RequirePrivacy {
		return ", or it does not encrypt, which -require-privacy demands"
	}
	return ""
}

// smbError is errdefs.Errorf with a class and text of its own; the reason stays that of the code.
func smbError(class errdefs.Class, cause error, format string, args ...any) error {
	e := class.WrapErrorf(cause, "SMB", format, args...)
	var plain *errdefs.Error
	if errors.As(errdefs.Errorf(cause, "smb"), &plain) {
		e.Reason = plain.Reason
	}
	if code := win32.Errno(0); errors.As(cause, &code) {
		e.Message += ": " + code.Error()
	}
	if _, means := errdefs.SMB(cause); means != "" {
		e.Message += "; " + means
	}
	e.Message += errdefs.DFSHint(cause)
	return e
}

// WMI has few threads for the calls that map and unmap shares. Each call keeps a thread until its server answers, or
// the redirector gives up.
const (
	callsOfServer = 2                // that map shares of one server at a time, and that unmap some
	callsWait     = 10 * time.Second // how long a further call waits
)

// turn waits until another call of the kind of calls may be made for the share's server.
func (s *sharing) turn(calls *operation.KeyedLocks, what string) (leave func(), err error) {
	server := serverOf(s.key)
	wait, cancel := context.WithTimeout(s.run.Context, callsWait)
	defer cancel()
	leave, err = calls.Acquire(wait, server)
	if err != nil {
		return nil, errdefs.Unavailable.Errorf(reason.NotAnswering,
			"the mapping of %s is left as it is: %d calls that %s of the server %s hang in Windows; no more are begun until "+
				"one of them ends", s.key, callsOfServer, what, server)
	}
	return leave, nil
}

// mapAnew asks Windows to map a share, which takes as long as the server takes to answer. Windows maps no share twice,
// whatever the state of its mapping: one that is listed is removed first.
func (s *sharing) mapAnew(listed bool, userName string, password Secret) error {
	leave, err := s.turn(&s.node.maps, "map shares")
	if err != nil {
		return err
	}
	defer leave()
	if listed {
		if err := s.remove(); err != nil {
			return err
		}
	}
	return s.kernel.CreateSMBGlobalMapping(s.key, userName, password, s.node.config.RequirePrivacy)
}
