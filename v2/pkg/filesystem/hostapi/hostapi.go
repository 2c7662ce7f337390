// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"strings"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// PathValid is PathExists for a path on a drive. A path on the network, \\server\share\dir, is valid if its share is
// mapped and answers. It is an error if the server does not answer. The content of the share is not examined.
func (f FilesystemAPI) PathValid(path string) (bool, error) {
	if !strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, `//`) {
		return f.PathExists(path)
	}
	ctx, client, err := f.at.Client()
	if err != nil {
		return false, err
	}
	// Without credentials nothing is mapped: the call finds the share mapped and answering, or asks for them.
	_, err = client.SMB.NewSmbGlobalMapping(ctx, &smbv1.NewSmbGlobalMappingRequest{RemotePath: path})
	if errors.Is(err, csiproxy.ErrCredentials) {
		return false, nil
	}
	return err == nil, err
}
