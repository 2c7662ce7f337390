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

// HostAPI is the SMB global mappings of a machine, by which the whole node reaches a share. A remote path is
// \\server\share or \\server\share\dir.
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

// New is the machine that the process runs on, which has to be a Windows node. All calls fail off Windows.
func New() HostAPI { return SMBAPI{} }

// Over is the node of a client: an emulated one, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) SMBAPI { return SMBAPI{machine.At(client)} }

// WithContext is the same machine for calls that end with a context.
func (s SMBAPI) WithContext(ctx context.Context) SMBAPI { return SMBAPI{s.at.Within(ctx)} }

// call makes a call of the API's smb group.
func call[Q, R any](s SMBAPI, method func(smbv1.SmbClient, context.Context, *Q, ...grpc.CallOption) (*R, error), request *Q) (*R, error) {
	ctx, client, err := s.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.SMB, ctx, request)
}

// MapAndLink maps the share of a remote path and, unless localPath is empty, makes a directory link there to the remote
// path. It is what the node does in one operation: nothing is mapped when the link is not possible.
func (s SMBAPI) MapAndLink(remotePath, localPath, username, password string) error {
	_, err := call(s, smbv1.SmbClient.NewSmbGlobalMapping, &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: remotePath, LocalPath: localPath, Username: username, Password: password,
	})
	return err
}

// IsSMBMapped reports whether the share of a remote path is mapped, and answers. That it is mapped and its server does not
// answer is an error.
func (s SMBAPI) IsSMBMapped(remotePath string) (bool, error) {
	// Without credentials the node maps nothing: it finds the share mapped and answering, or asks for them.
	err := s.MapAndLink(remotePath, "", "", "")
	if errors.Is(err, csiproxy.ErrCredentials) {
		return false, nil
	}
	return err == nil, err
}

// NewSMBLink makes localPath a directory link to a remote path whose share is mapped. The same link there already is
// success.
func (s SMBAPI) NewSMBLink(remotePath, localPath string) error {
	return s.MapAndLink(remotePath, localPath, "", "")
}

// NewSMBGlobalMapping maps the share of a remote path for the whole node. A mapping that works is left as it is, whatever
// the credentials; one that does not is made again.
func (s SMBAPI) NewSMBGlobalMapping(remotePath, username, password string) error {
	return s.MapAndLink(remotePath, "", username, password)
}

// RemoveSMBGlobalMapping unmaps the share of a remote path. One that is not mapped is success.
func (s SMBAPI) RemoveSMBGlobalMapping(remotePath string) error {
	_, err := call(s, smbv1.SmbClient.RemoveSmbGlobalMapping, &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: remotePath})
	return err
}
