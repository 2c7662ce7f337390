// SPDX-License-Identifier: Apache-2.0

package node

import (
	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// maxAccess is how many entries a request may add to an access list.
const maxAccess = 16

// masks are the sets of rights of a request, as icacls has them: RX, M and F.
// https://learn.microsoft.com/windows-server/administration/windows-commands/icacls
func masks() map[api.AccessRights]uint32 {
	const (
		read   = win32.FILE_GENERIC_READ | win32.FILE_GENERIC_EXECUTE
		modify = read | win32.FILE_GENERIC_WRITE | win32.DELETE
	)
	return map[api.AccessRights]uint32{api.AccessRights_ACCESS_RIGHTS_READ: read,
		api.AccessRights_ACCESS_RIGHTS_MODIFY: modify, api.AccessRights_ACCESS_RIGHTS_FULL: win32.FILE_ALL_ACCESS}
}

// parseAccess returns the entries of a request as an access list has them.
func parseAccess(access []*api.AccessEntry) ([]win32.AccessEntry, error) {
	if len(access) > maxAccess {
		return nil, errdefs.InvalidArgument.Errorf(reason.InvalidAccess,
			"the request has %d entries for the access list of the volume, and may have %d", len(access), maxAccess)
	}
	var entries []win32.AccessEntry
	for _, a := range access {
		sid, err := win32.ParseSID(a.GetSid())
		if err != nil {
			return nil, errdefs.InvalidArgument.Errorf(reason.InvalidAccess,
				"the account %s of the access list is not a SID such as S-1-5-93-2-2: %v", winpath.Quote(a.GetSid()), err)
		}
		mask := masks()[a.GetRights()]
		if mask == 0 {
			return nil, errdefs.InvalidArgument.Errorf(reason.InvalidAccess,
				"the entry for %s in the access list has no rights: use read, modify or full", sid)
		}
		entries = append(entries, win32.NewAccessEntry(sid, mask))
	}
	return entries, nil
}

// addAccess adds entries to the access list of the root directory of a volume that holds nothing, and leaves alone one
// that holds anything. It changes nothing below the root. SYSTEM and Administrators have full control afterwards.
func (o *op) addAccess(id winpath.VolumeID, entries []win32.AccessEntry) (api.AccessResult, error) {
	extents, err := o.volumeExtents(id)
	if err != nil {
		return 0, err
	}
	if err := o.refuseSystemExtents(id, extents, "given another access list"); err != nil {
		return 0, err
	}
	root, err := o.openToList(nil, id.String(), win32.READ_CONTROL|win32.WRITE_DAC)
	if err != nil {
		return 0, errdefs.Errorf(err, "opening the root directory of volume %s to set its access list", id)
	}
	defer root.Close()
	holds, err := o.rootHoldsFiles(root)
	if err != nil {
		return 0, errdefs.Errorf(err, "looking for files on volume %s", id)
	}
	var list win32.AccessList
	descriptor, err := root.AccessList()
	if err == nil {
		list, err = win32.ParseAccessList(descriptor)
	}
	if err != nil {
		return 0, errdefs.Errorf(err, "reading the access list of volume %s", id)
	}
	result := api.AccessResult_ACCESS_RESULT_PRESENT
	for _, e := range entries {
		if list.Add(e) {
			result = api.AccessResult_ACCESS_RESULT_ADDED
		}
	}
	if holds {
		if result == api.AccessResult_ACCESS_RESULT_ADDED {
			o.log().V(2).Info("A volume that holds files keeps its access list", "volume", id)
			result = api.AccessResult_ACCESS_RESULT_NOT_ADDED
		}
		return result, nil
	}
	ours := list.Add(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS))
	ours = list.Add(win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS)) || ours
	if result == api.AccessResult_ACCESS_RESULT_PRESENT && !ours {
		return result, nil
	}
	if descriptor = list.Bytes(); descriptor == nil {
		return 0, errdefs.FailedPrecondition.Errorf(reason.InvalidAccess, "the access list of volume %s has no room for the "+
			"entries: it has 64 KiB at most; remove some with icacls, or format the volume", id)
	}
	return result, errdefs.Errorf(root.SetAccessList(descriptor), "setting the access list of volume %s", id)
}
