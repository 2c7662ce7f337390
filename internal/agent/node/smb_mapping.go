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
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// ensureMapped makes sure that the share is mapped: it keeps a mapping that works, else makes one with these
// credentials, if those can help.
func (o *op) ensureMapped(share winpath.UNC, userName string, password Secret) error {
	key := winfs.ShareKey(share.Server, share.Share)
	for again := false; ; again = true {
		works, err := o.mappingWorks(share)
		if works || err != nil {
			return err
		}
		if userName == "" || len(password) == 0 {
			return errdefs.Unauthenticated.Errorf(reason.InvalidCredentials,
				"the share %s is not mapped yet and needs a user name and a password", key)
		}
		if err := o.refuseThisMachine(key); err != nil {
			return err
		}
		err = o.mapAnew(key, userName, password)
		if err == nil {
			o.node.mapped.Store(key, o.run.Request.Credentials)
			return nil
		}
		// Another program has a session with the server: for this share, made a moment ago, or for another one. For a share
		// that is mapped WMI was seen to answer no more than "generic failure": kubernetes/kubernetes#73087.
		inTheWay := errdefs.HasCode(err, win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT)
		if !inTheWay && !errdefs.HasCode(err, win32.ERROR_GEN_FAILURE) {
			return o.notMapped(key, err, password)
		}
		if now, listErr := o.fs.Mapping(key); listErr == nil && now != nil && !again {
			continue
		}
		if inTheWay {
			return o.conflict(key, err)
		}
		return o.notMapped(key, err, password)
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

// unmap removes the mapping of the share, if there is one, once no walk is on the share. One that hangs there holds it
// up: what it opens next would go to the server without the mapping.
func (o *op) unmap(key string) error {
	release, err := o.fs.LockShare(key)
	if err != nil {
		return err
	}
	defer release()
	err = o.kernel.RemoveSMBGlobalMapping(key)
	if err == nil || errdefs.HasCode(err, win32.ERROR_NOT_CONNECTED, win32.ERROR_NOT_FOUND) {
		o.node.mapped.Delete(key)
		return nil
	}
	return errdefs.Errorf(err, "removing the mapping of %s", key)
}

// conflict returns an error that names the holder of other credentials for the server. None is removed: it is in use.
func (o *op) conflict(key string, cause error) error {
	server := serverOf(key)
	holder := "the session does not belong to a global mapping"
	mappings, _ := o.fs.Mappings() // on failure the message just says less
	for _, m := range mappings {
		if other := winfs.MappingKey(m); serverOf(other) == server && other != key {
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
func (o *op) notMapped(key string, err error, password Secret) error {
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
		text = "the server " + serverOf(key) + " refuses the user name or the password" + lineEndHint(password)
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

// WMI has few threads for the calls that map shares, and each keeps one until its server has answered.
const (
	mapsOfServer = 2                // calls to one server at a time
	mapsWait     = 10 * time.Second // of a further one
)

// mapAnew asks Windows to map a share, which takes as long as the server takes to answer. Windows does not map over a
// mapping, whatever its state, so that goes first.
func (o *op) mapAnew(key, userName string, password Secret) error {
	server := serverOf(key)
	wait, cancel := context.WithTimeout(o.run.Context, mapsWait)
	defer cancel()
	release, err := o.node.maps.Acquire(wait, server)
	if err != nil {
		return errdefs.Unavailable.Errorf(reason.NotAnswering,
			"cannot map %s: %d calls that map shares of the server %s hang in Windows; no more are begun until one of them ends",
			key, mapsOfServer, server)
	}
	defer release()
	if err := o.unmap(key); err != nil {
		return err
	}
	return o.kernel.CreateSMBGlobalMapping(key, userName, password, o.node.config.RequirePrivacy)
}
