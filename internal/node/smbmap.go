// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// ensureMapped leaves the share mapped, with what there was if that works, else with these credentials.
func (o *op) ensureMapped(share winpath.UNC, userName string, password Secret) error {
	key := shareKey(share.Server, share.Share)
	for again := false; ; again = true {
		works, err := o.mappingWorks(key)
		if works || err != nil {
			return err
		}
		if userName == "" || len(password) == 0 {
			return errorf(Unauthenticated, reason.InvalidCredentials, "the share %s is not mapped yet and needs a user name and a password", key)
		}
		// Windows does not map over a mapping, whatever its state.
		if err := o.unmap(key); err != nil {
			return err
		}
		err = o.k.CreateSMBGlobalMapping(key, userName, password, o.node.requirePrivacy)
		if err == nil {
			return nil
		}
		if !hasCode(err, win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT) {
			return o.notMapped(key, err)
		}
		// Somebody else has a session with the server: for this share since a moment ago, or for another one.
		if now, listErr := o.mapping(key); listErr != nil || now == nil || again {
			return o.conflict(key, err)
		}
	}
}

// mappingWorks reports whether the share is mapped and answers. Where the server cannot be reached it is an error, and not
// a broken mapping: mapping again could not succeed either, and pods that wait for the server would lose theirs for good.
func (o *op) mappingWorks(key string) (bool, error) {
	mapping, err := o.mapping(key)
	if mapping == nil || err != nil {
		return false, err
	}
	h, err := o.k.OpenFile(nil, shareRoot(key), kernel.OpenHow{
		Access: win32.FILE_READ_ATTRIBUTES, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
	})
	if err == nil {
		_ = h.Close()
	}
	status := mapping.Status
	if status != win32.SMB_MAPPING_OK { // a session that rested is disconnected; opening wakes it
		if mapping, listErr := o.mapping(key); listErr == nil && mapping != nil {
			status = mapping.Status
		}
	}
	switch {
	case err == nil && status == win32.SMB_MAPPING_OK:
		return true, nil
	case noServer(err) || status == win32.SMB_MAPPING_OK && unreachable(err):
		return false, smbError(Unavailable, err, "the share %s is mapped, and its server does not answer; the mapping is kept", key)
	}
	klog.FromContext(o.ctx).Info("A share is mapped, but not usable; it is mapped again", "share", key, "status", win32.SMBMappingStatusName(status), "err", err)
	return false, nil
}

// noServer reports whether a code says that there is no way to the server.
func noServer(err error) bool {
	return hasCode(err, win32.ERROR_BAD_NETPATH, win32.ERROR_NETWORK_UNREACHABLE, win32.ERROR_HOST_UNREACHABLE)
}

// unreachable reports whether a code says that the server does not answer now, for whatever reason.
func unreachable(err error) bool {
	return noServer(err) || hasCode(err, win32.ERROR_NETNAME_DELETED, win32.ERROR_UNEXP_NET_ERR, win32.ERROR_NETWORK_BUSY, win32.ERROR_SEM_TIMEOUT)
}

// unmap removes the mapping of the share, if there is one.
func (o *op) unmap(key string) error {
	err := o.k.RemoveSMBGlobalMapping(key)
	if err == nil || hasCode(err, win32.ERROR_NOT_CONNECTED, win32.ERROR_NOT_FOUND) {
		return nil
	}
	return fail(err, "removing the mapping of %s", key)
}

// conflict says who holds other credentials for the server. Nothing is removed to make room: it is in use.
func (o *op) conflict(key string, cause error) error {
	server := serverOf(key)
	holder := "something else than a global mapping has the session"
	mappings, _ := o.mappings() // without them the message says less
	for _, m := range mappings {
		if other := mappingKey(m); serverOf(other) == server && other != key {
			holder = "the share " + other + " is mapped with them"
			break
		}
	}
	return smbError(FailedPrecondition, cause,
		"cannot map %s: this node has a session with the server %s with other credentials, and Windows holds one set for a server: %s; use the same ones, or unmap that first",
		key, server, holder)
}

// serverOf is the server of \\server\share.
func serverOf(key string) string {
	server, _, _ := strings.Cut(strings.TrimPrefix(key, `\\`), `\`)
	return server
}

// notMapped says what a failure of CreateSMBGlobalMapping means, and never which user was named.
func (o *op) notMapped(key string, err error) error {
	switch {
	case unreachable(err) || hasCode(err, win32.ERROR_NO_LOGON_SERVERS, win32.ERROR_NO_NET_OR_BAD_PATH):
		return smbError(Unavailable, err, "cannot map %s: the server %s does not answer", key, serverOf(key))
	case hasCode(err, win32.ERROR_BAD_NET_NAME):
		return smbError(NotFound, err, "cannot map %s: the server %s has no such share", key, serverOf(key))
	case hasCode(err, win32.ERROR_NOT_SUPPORTED) && o.node.requirePrivacy:
		return smbError(FailedPrecondition, err, "cannot map %s: the server %s cannot encrypt, and mappings have to be encrypted here; the agent's flag -require-privacy=false allows others", key, serverOf(key))
	case hasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED):
		return smbError(PermissionDenied, err, "cannot map %s: the server lets the user in, but not to this share%s", key, o.privacyHint())
	case hasCode(err, win32.ERROR_INVALID_PARAMETER):
		return smbError(InvalidArgument, err, "cannot map %s: Windows takes the path or the user name for malformed; a user of a domain is DOMAIN\\user", key)
	}
	failure := fail(err, "cannot map %s", key)
	var e *Error
	if errors.As(failure, &e) && e.Class == Unauthenticated {
		return smbError(Unauthenticated, err, "cannot map %s: the server %s refuses the user name or the password", key, serverOf(key))
	}
	return failure
}

// privacyHint is for codes that may also mean that a server does not encrypt.
func (o *op) privacyHint() string {
	if o.node.requirePrivacy {
		return ", or does not encrypt, which -require-privacy asks for"
	}
	return ""
}

// smbError is fail with a class and words of its own; the reason stays that of the code.
func smbError(class Class, cause error, format string, args ...any) error {
	e := &Error{Class: class, Reason: "SMB", Message: fmt.Sprintf(format, args...), Err: cause}
	var plain *Error
	if errors.As(fail(cause, "smb"), &plain) {
		e.Reason = plain.Reason
	}
	if code := win32.Errno(0); errors.As(cause, &code) {
		e.Message += ": " + code.Error()
	}
	return e
}
