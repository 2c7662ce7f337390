// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// mappingWorks reports whether the share is mapped and need not be mapped again. False, with no error, means that there
// is no mapping, or one that only other credentials can repair: the server refuses those that it has, or it has none.
// After anything else pods may have to wait but lose nothing, while a mapping that is removed is gone for good. So it
// is an error: the server cannot be reached, or Windows was short of memory for a moment.
func (o *op) mappingWorks(share winpath.UNC) (bool, error) {
	key := winfs.ShareKey(share.Server, share.Share)
	mapping, err := o.fs.Mapping(key)
	if mapping == nil || err != nil {
		return false, err
	}
	failure := o.openOnShare(winfs.ShareRoot(key), win32.FILE_DIRECTORY_FILE)
	answers := failure == nil || errdefs.IsDenied(failure) && o.onlyRootDenies(share)
	if mapping, err = o.mappingAfterUse(key, mapping, answers); mapping == nil || err != nil {
		return false, err
	}
	switch {
	case answers && mapping.Status != win32.SMB_MAPPING_DISCONNECTED:
		return true, nil
	case failure == nil, errdefs.IsDenied(failure), refusesLogon(failure):
		// After a restart of Windows a mapping can be left disconnected without its credentials. Files that still open are
		// opened with other ones. kubernetes-csi/csi-driver-smb#219, kubernetes-sigs/azurefile-csi-driver#3416
		o.log().Info("A share is mapped but its credentials do not work; it is mapped again", "share", key, "status",
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
	return false, smbError(class, failure, "the share %s is mapped but %s; the mapping is kept", key, why)
}

// mappingAfterUse returns the mapping of a share that was just used, nil if it is gone. Before is what was known
// before; nil: nothing. An idle session is disconnected, and opening a file reconnects it. Windows may list that late.
func (o *op) mappingAfterUse(key string, before *kernel.SMBGlobalMapping, answers bool) (*kernel.SMBGlobalMapping,
	error) {
	mapping := before
	for late := (operation.Backoff{}); mapping == nil || mapping.Status != win32.SMB_MAPPING_OK; {
		var err error
		if mapping, err = o.fs.Mapping(key); mapping == nil || err != nil {
			return nil, err
		}
		if !answers || mapping.Status != win32.SMB_MAPPING_DISCONNECTED || !late.Wait(statusTime) {
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

// onlyRootDenies reports whether a denial at the root of a share says nothing about the mapping: these credentials are
// the ones that it was made with, or the directory that is asked for answers. Shares whose root is closed to those who
// may use its folders are common.
func (o *op) onlyRootDenies(share winpath.UNC) bool {
	key := winfs.ShareKey(share.Server, share.Share)
	if with, ok := o.node.mapped.Load(key); ok && with == o.run.Request.Credentials {
		return true
	}
	if len(share.Rest) == 0 {
		return false
	}
	err := o.openOnShare(winfs.ShareRoot(key)+share.Rest[0], 0)
	return err == nil || errdefs.IsMissing(err)
}

// refusesLogon reports whether a code means that there is no session because of the credentials.
func refusesLogon(err error) bool {
	cause, _ := errdefs.SMB(err)
	return cause == errdefs.SMBLogonRefused ||
		errdefs.HasCode(err, win32.ERROR_SESSION_CREDENTIAL_CONFLICT, win32.ERROR_NOT_CONNECTED)
}
