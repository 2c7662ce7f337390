// SPDX-License-Identifier: Apache-2.0

package smb

import (
	"context"
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// SMB gives access to the SMB global mappings of a machine.
type SMB struct {
	hostAPI smbapi.HostAPI
	files   fs.Interface
}

// New returns the SMB global mappings of a machine. Our own HostAPI checks by itself whether a share answers; for any
// other, fsClient's PathValid does so, unless fsClient is nil.
func New(hostAPI smbapi.HostAPI, fsClient fs.Interface) (*SMB, error) {
	if hostAPI == nil {
		return nil, errors.New("smb.New needs a HostAPI")
	}
	return &SMB{hostAPI: hostAPI, files: fsClient}, nil
}

// NewSMBGlobalMapping maps a share for the whole node and, unless LocalPath is empty, makes a directory link there to
// the remote path. A mapping that works is left as it is, whatever the credentials, because pods may use it; one that
// does not work is replaced.
func (s *SMB) NewSMBGlobalMapping(ctx context.Context,
	request *NewSMBGlobalMappingRequest) (*NewSMBGlobalMappingResponse, error) {
	var err error
	if own, ok := s.hostAPI.(smbapi.SMBAPI); ok {
		err = own.WithContext(ctx).MapAndLink(request.RemotePath, request.LocalPath, request.Username, request.Password)
	} else {
		err = s.mapAndLink(ctx, request)
	}
	return &NewSMBGlobalMappingResponse{}, err
}

// mapAndLink is NewSMBGlobalMapping step by step.
func (s *SMB) mapAndLink(ctx context.Context, request *NewSMBGlobalMappingRequest) error {
	const method = "NewSMBGlobalMapping"
	remote, share, err := parse(method, request.RemotePath)
	if err != nil {
		return err
	}
	if request.LocalPath != "" {
		if err := fs.ValidatePathWindows(request.LocalPath); err != nil {
			return machine.Invalid("smb", method, "INVALID_PATH", err.Error())
		}
	}
	mapped, err := s.hostAPI.IsSMBMapped(share)
	if err != nil {
		return err
	}
	if mapped && s.files != nil {
		answer, err := s.files.PathValid(ctx, &fs.PathValidRequest{Path: share})
		if err != nil {
			return err
		}
		if !answer.Valid { // such as after a change of the password: it must be removed before it can be made again
			if err := s.hostAPI.RemoveSMBGlobalMapping(share); err != nil {
				return err
			}
			mapped = false
		}
	}
	if !mapped {
		if err := s.hostAPI.NewSMBGlobalMapping(share, request.Username, request.Password); err != nil {
			return err
		}
	}
	if request.LocalPath == "" {
		return nil
	}
	return s.hostAPI.NewSMBLink(remote, request.LocalPath)
}

// RemoveSMBGlobalMapping unmaps a share, even if files there are open. A share that is not mapped is success. Links to
// it stay.
func (s *SMB) RemoveSMBGlobalMapping(ctx context.Context,
	request *RemoveSMBGlobalMappingRequest) (*RemoveSMBGlobalMappingResponse, error) {
	var err error
	if own, ok := s.hostAPI.(smbapi.SMBAPI); ok {
		err = own.WithContext(ctx).RemoveSMBGlobalMapping(request.RemotePath)
	} else {
		var share string
		if _, share, err = parse("RemoveSMBGlobalMapping", request.RemotePath); err == nil {
			err = s.hostAPI.RemoveSMBGlobalMapping(share)
		}
	}
	return &RemoveSMBGlobalMappingResponse{}, err
}

// parse parses a remote path and returns it with backslashes, and its share in lower case, as it is mapped.
func parse(method, text string) (remote, share string, err error) {
	if text == "" {
		return "", "", machine.Invalid("smb", method, "INVALID_REMOTE_PATH", "remote path is empty")
	}
	path, err := winpath.ParseUNC(text)
	if err != nil {
		return "", "", machine.Invalid("smb", method, "INVALID_REMOTE_PATH",
			"remote path ("+winpath.Quote(text)+") is invalid: "+err.Error())
	}
	return path.String(), strings.ToLower(path.Root()), nil
}
