// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// works reports whether a mapping need not be made again. False, with no error, means that only other credentials can
// repair it, as the server refuses those that it has or it has none, and that no other user loses it by that: the
// table in docs/decisions/shares.md. After anything else pods may have to wait but lose nothing; a removed mapping is
// gone for good. So it is an error: the server cannot be reached, or Windows was short of memory.
func (s *sharing) works(share winpath.UNC, mapping *kernel.SMBGlobalMapping) (bool, error) {
	failure := s.openOnShare(winfs.ShareRoot(s.key), win32.FILE_DIRECTORY_FILE)
	opens, denied := failure == nil, errdefs.IsDenied(failure)
	loggedOn := opens || denied // the server has accepted the credentials of the mapping
	with, known := s.node.mapped.Load(s.key)
	same := known && with == s.run.Request.Credentials
	answers := opens || denied && (same || s.folderAnswers(share))
	others := sync.OnceValue(s.usedByOthers)
	mapping, err := s.mappingAfterUse(s.key, mapping, func() bool { return answers || denied && others() })
	if mapping == nil || err != nil {
		return false, err
	}
	connected := mapping.Status != win32.SMB_MAPPING_DISCONNECTED
	switch {
	case connected && answers, loggedOn && same:
		return true, nil
	case loggedOn && (connected || known) && others():
		if opens || !known { // since the agent was started again, it does not know the credentials of the mapping
			return true, nil
		}
		return false, errdefs.Unauthenticated.Errorf(reason.InvalidCredentials,
			"the share %s is mapped for other volumes of this node with other credentials, and its root denies access; use "+
				"the same credentials, or unstage the other volumes. Nothing was changed", s.key)
	case loggedOn, refusesLogon(failure):
		// After a restart of Windows a mapping can be left disconnected without its credentials. Files that still open are
		// opened with other ones. kubernetes-csi/csi-driver-smb#219, kubernetes-sigs/azurefile-csi-driver#3416
		s.log().Info("A share is mapped but its credentials do not work; it is mapped again", "share", s.key, "status",
			win32.SMBMappingStatusName(mapping.Status), "err", failure)
		return false, nil
	}
	class, why := errdefs.Unavailable, "could not be opened"
	switch cause, _ := errdefs.SMB(failure); cause {
	case errdefs.SMBShareMissing:
		class, why = errdefs.NotFound, "its server has no such share"
	case errdefs.SMBServerSilent:
		why = "its server does not answer"
	case errdefs.SMBDomainSilent:
		why = domainSilent
	}
	return false, smbError(class, failure, "the share %s is mapped but %s; the mapping is kept", s.key, why)
}

// mappingAfterUse returns the mapping of a share on which a file was just opened, nil if it is gone. Before is the
// mapping as it was listed before, nil if it was not. Opening a file reconnects an idle session, which Windows may list
// as disconnected for a moment longer.
func (o *op) mappingAfterUse(key string, before *kernel.SMBGlobalMapping,
	answers func() bool) (*kernel.SMBGlobalMapping, error) {
	mapping := before
	for late := (operation.Backoff{}); mapping == nil || mapping.Status != win32.SMB_MAPPING_OK; {
		var err error
		if mapping, err = o.fs.Mapping(key); mapping == nil || err != nil {
			return nil, err
		}
		if mapping.Status != win32.SMB_MAPPING_DISCONNECTED || !answers() || !late.Wait(statusTime) {
			break
		}
	}
	return mapping, nil
}

// openOnShare opens a file or directory of a share, never what a link there leads to, and closes it.
func (o *op) openOnShare(path string, options uint32) error {
	h, err := o.kernel.OpenFile(nil, path, kernel.OpenOptions{
		Access: win32.FILE_READ_ATTRIBUTES, Share: winfs.ShareAll, Disposition: win32.FILE_OPEN,
		Options: options | win32.FILE_OPEN_REPARSE_POINT,
	})
	if err == nil {
		_ = h.Close()
	}
	return err
}

// folderAnswers reports whether the directory that is asked for answers although the root of the share denies access.
// On many shares, accounts may open a folder and not the root.
func (o *op) folderAnswers(share winpath.UNC) bool {
	if len(share.Rest) == 0 {
		return false
	}
	err := o.openOnShare(winfs.ShareRoot(share.Key())+share.Rest[0], 0)
	return err == nil || errdefs.IsMissing(err)
}

// refusesLogon reports whether a code means that there is no session because of the credentials.
func refusesLogon(err error) bool {
	cause, _ := errdefs.SMB(err)
	return cause == errdefs.SMBLogonRefused ||
		errdefs.HasCode(err, win32.ERROR_SESSION_CREDENTIAL_CONFLICT, win32.ERROR_NOT_CONNECTED)
}
