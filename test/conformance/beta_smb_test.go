// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	stdcontext "context"
	"errors"
	"strings"
	"testing"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystembeta "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbbeta "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
)

// TestSMBBeta plays the SMB and Azure File drivers on the beta versions that they fall back to.
func TestSMBBeta(t *testing.T) {
	n := startBeta(t, "disk=off", "volume=off", "filesystem=v1beta1", "smb=v1beta1")
	absent(t, filesystemv1.NewClient)
	absent(t, smbv1.NewClient)
	d := &smbBeta{ctx: t.Context(), node: n, filesystem: present(t, filesystembeta.NewClient),
		smb: present(t, smbbeta.NewClient)}
	for range 2 { // each step twice, as kubelet does when an answer is lost
		noError(t, d.stage(`\\fs.emulated\share`, betaStaging))
	}
	n.makeParent()
	for range 2 {
		noError(t, d.publish(betaStaging, betaPublish))
	}
	n.write(betaPublish+`\data`, "precious")
	noError(t, d.rmdir(betaPublish))
	noError(t, d.rmdir(betaPublish))
	noError(t, d.unstage(betaStaging))
	noError(t, d.stage(`\\fs.emulated\share`, betaStaging))
	n.holds(betaStaging+`\data`, "precious")
	noError(t, d.unstage(betaStaging))
	if err := d.stage(`\\fs.emulated\none`, betaStaging); err == nil {
		t.Error("a missing share was staged")
	}
}

// smbBeta sends context POD for every path, staging paths included, and takes an error in a response for a failure.
type smbBeta struct {
	ctx        stdcontext.Context //nolint:containedctx // drivers pass one context everywhere
	node       *betaNode
	filesystem *filesystembeta.Client
	smb        *smbbeta.Client
}

// answered returns the failure of a call, or the one that its response reports.
func answered(text string, err error) error {
	if err == nil && text != "" {
		return errors.New("in the response: " + text)
	}
	return err
}

func (d *smbBeta) exists(path string) (bool, error) {
	reply, err := d.filesystem.PathExists(d.ctx, &filesystemapi.PathExistsRequest{Path: withDrive(path),
		Context: filesystemapi.PathContext_POD})
	return reply.GetExists(), answered(reply.GetError(), err)
}

func (d *smbBeta) rmdir(path string) error {
	reply, err := d.filesystem.Rmdir(d.ctx,
		&filesystemapi.RmdirRequest{Path: withDrive(path), Context: filesystemapi.PathContext_POD, Force: true})
	return answered(reply.GetError(), err)
}

func (d *smbBeta) stage(remote, staging string) error {
	there, err := d.exists(staging)
	if err != nil {
		return err
	}
	if there {
		link, err := d.filesystem.IsMountPoint(d.ctx, &filesystemapi.IsMountPointRequest{Path: withDrive(staging)})
		if err := answered(link.GetError(), err); err != nil {
			return err
		}
		if link.GetIsMountPoint() {
			return nil
		}
		if err := d.rmdir(staging); err != nil {
			return err
		}
	}
	parent := staging[:strings.LastIndex(staging, `\`)]
	made, err := d.filesystem.Mkdir(d.ctx,
		&filesystemapi.MkdirRequest{Path: withDrive(parent), Context: filesystemapi.PathContext_PLUGIN})
	if err := answered(made.GetError(), err); err != nil {
		return err
	}
	mapped, err := d.smb.NewSmbGlobalMapping(d.ctx, &smbapi.NewSmbGlobalMappingRequest{
		RemotePath: strings.ReplaceAll(remote, `\`, "/"), LocalPath: withDrive(staging), Username: `AZURE\csi`,
		Password: "csi-password",
	})
	return answered(mapped.GetError(), err)
}

func (d *smbBeta) publish(staging, publish string) error {
	if there, err := d.exists(publish); err != nil {
		return err
	} else if there {
		if err := d.rmdir(publish); err != nil {
			return err
		}
	}
	reply, err := d.filesystem.LinkPath(d.ctx, &filesystemapi.LinkPathRequest{SourcePath: withDrive(staging),
		TargetPath: withDrive(publish)})
	return answered(reply.GetError(), err)
}

// unstage reads the link in the driver's container, and makes the mapping's key of its first two components.
func (d *smbBeta) unstage(staging string) error {
	target, err := d.node.Readlink(withDrive(staging))
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimPrefix(target, `\\`), `\`)
	removed, err := d.smb.RemoveSmbGlobalMapping(d.ctx,
		&smbapi.RemoveSmbGlobalMappingRequest{RemotePath: `\\` + parts[0] + `\` + parts[1]})
	if err := answered(removed.GetError(), err); err != nil {
		return err
	}
	return d.rmdir(staging)
}
