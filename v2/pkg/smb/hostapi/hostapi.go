// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// HostAPI gives access to the SMB global mappings of a machine, by which the whole node can reach shares. A remote path
// is \\server\share or \\server\share\dir.
type HostAPI interface {
	// IsSMBMapped reports whether the share of a remote path is mapped.
	IsSMBMapped(remotePath string) (bool, error)
	// NewSMBLink makes localPath a directory link to a remote path whose share is mapped.
	NewSMBLink(remotePath, localPath string) error
	// NewSMBGlobalMapping maps the share of a remote path.
	NewSMBGlobalMapping(remotePath, username, password string) error
	// RemoveSMBGlobalMapping unmaps the share of a remote path.
	RemoveSMBGlobalMapping(remotePath string) error
}

// SMBAPI is the HostAPI of this project: each call has the checks, locks and errors of the node. The zero value is that
// of New.
type SMBAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() HostAPI { return SMBAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) SMBAPI { return SMBAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (s SMBAPI) WithContext(ctx context.Context) SMBAPI { return SMBAPI{s.at.Within(ctx)} }

// call makes a call to the API's smb group.
func call[Q, R any](s SMBAPI, method func(smbv1.SmbClient, context.Context, *Q, ...grpc.CallOption) (*R, error),
	request *Q) (*R, error) {
	ctx, client, err := s.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.SMB, ctx, request)
}

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

// RemoveSMBGlobalMapping unmaps the share of a remote path. A share that is not mapped is success.
func (s SMBAPI) RemoveSMBGlobalMapping(remotePath string) error {
	_, err := call(s, smbv1.SmbClient.RemoveSmbGlobalMapping, &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: remotePath})
	return err
}
