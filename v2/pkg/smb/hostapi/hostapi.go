// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// MapAndLink maps the share of a remote path and, unless localPath is empty, makes a directory link there to the remote
// path. The node does this in one operation: nothing is mapped if the link is not possible.
func (s SMBAPI) MapAndLink(remotePath, localPath, username, password string) error {
	_, err := call(s, smbv1.SmbClient.NewSmbGlobalMapping, &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: remotePath, LocalPath: localPath, Username: username, Password: password,
	})
	return err
}

// IsSMBMapped reports whether the share of a remote path is mapped and answers. It is an error if the share is mapped
// but its server does not answer.
func (s SMBAPI) IsSMBMapped(remotePath string) (bool, error) {
	// Without credentials the node maps nothing: it finds the share mapped and answering, or asks for them.
	err := s.MapAndLink(remotePath, "", "", "")
	if errors.Is(err, csiproxy.ErrCredentials) {
		return false, nil
	}
	return err == nil, err
}

// NewSMBLink makes localPath a directory link to a remote path whose share is mapped. If the same link exists, that is
// success.
func (s SMBAPI) NewSMBLink(remotePath, localPath string) error {
	return s.MapAndLink(remotePath, localPath, "", "")
}

// NewSMBGlobalMapping maps the share of a remote path for the whole node. A mapping that works is left as it is,
// whatever the credentials; one that does not work is replaced.
func (s SMBAPI) NewSMBGlobalMapping(remotePath, username, password string) error {
	return s.MapAndLink(remotePath, "", username, password)
}
