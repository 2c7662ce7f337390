// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	nodestepsv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/nodesteps/v1alpha1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta3"
	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
)

// closer is common to all clients.
type closer interface{ Close() error }

func client[C closer](open func(string) (C, error)) func(string) (closer, error) {
	return func(socket string) (closer, error) { return open(socket) }
}

// clients returns, for each group and version, the function that opens the client that drivers use.
func clients() map[string]func(socket string) (closer, error) {
	return map[string]func(string) (closer, error){
		"disk v1alpha1":       client(diskv1alpha1.NewClientWithPipePath),
		"disk v1beta1":        client(diskv1beta1.NewClientWithPipePath),
		"disk v1beta2":        client(diskv1beta2.NewClientWithPipePath),
		"disk v1beta3":        client(diskv1beta3.NewClientWithPipePath),
		"disk v1":             client(diskv1.NewClientWithPipePath),
		"filesystem v1alpha1": client(filesystemv1alpha1.NewClientWithPipePath),
		"filesystem v1beta1":  client(filesystemv1beta1.NewClientWithPipePath),
		"filesystem v1beta2":  client(filesystemv1beta2.NewClientWithPipePath),
		"filesystem v1":       client(filesystemv1.NewClientWithPipePath),
		"filesystem v2alpha1": client(filesystemv2alpha1.NewClientWithPipePath),
		"iscsi v1alpha1":      client(iscsiv1alpha1.NewClientWithPipePath),
		"iscsi v1alpha2":      client(iscsiv1alpha2.NewClientWithPipePath),
		"nodesteps v1alpha1":  client(nodestepsv1alpha1.NewClientWithPipePath),
		"smb v1alpha1":        client(smbv1alpha1.NewClientWithPipePath),
		"smb v1beta1":         client(smbv1beta1.NewClientWithPipePath),
		"smb v1beta2":         client(smbv1beta2.NewClientWithPipePath),
		"smb v1":              client(smbv1.NewClientWithPipePath),
		"system v1alpha1":     client(systemv1alpha1.NewClientWithPipePath),
		"volume v1alpha1":     client(volumev1alpha1.NewClientWithPipePath),
		"volume v1beta1":      client(volumev1beta1.NewClientWithPipePath),
		"volume v1beta2":      client(volumev1beta2.NewClientWithPipePath),
		"volume v1beta3":      client(volumev1beta3.NewClientWithPipePath),
		"volume v1":           client(volumev1.NewClientWithPipePath),
		"volume v2alpha1":     client(volumev2alpha1.NewClientWithPipePath),
	}
}
