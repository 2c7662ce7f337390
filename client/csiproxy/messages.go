// SPDX-License-Identifier: Apache-2.0

//nolint:revive // the names are those of the protos, whose comments the stubs have
package csiproxy

import (
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// The type of [Client].Disk, and the messages of its methods.
type (
	DiskClient = diskapi.DiskClient

	ListDiskLocationsRequest  = diskapi.ListDiskLocationsRequest
	ListDiskLocationsResponse = diskapi.ListDiskLocationsResponse
	PartitionDiskRequest      = diskapi.PartitionDiskRequest
	PartitionDiskResponse     = diskapi.PartitionDiskResponse
	RescanRequest             = diskapi.RescanRequest
	RescanResponse            = diskapi.RescanResponse
	ListDiskIDsRequest        = diskapi.ListDiskIDsRequest
	ListDiskIDsResponse       = diskapi.ListDiskIDsResponse
	GetDiskStatsRequest       = diskapi.GetDiskStatsRequest
	GetDiskStatsResponse      = diskapi.GetDiskStatsResponse
	SetDiskStateRequest       = diskapi.SetDiskStateRequest
	SetDiskStateResponse      = diskapi.SetDiskStateResponse
	GetDiskStateRequest       = diskapi.GetDiskStateRequest
	GetDiskStateResponse      = diskapi.GetDiskStateResponse
	DiskLocation              = diskapi.DiskLocation
	DiskIDs                   = diskapi.DiskIDs
)

// The type of [Client].Filesystem, and the messages of its methods.
type (
	FilesystemClient = filesystemapi.FilesystemClient

	PathExistsRequest     = filesystemapi.PathExistsRequest
	PathExistsResponse    = filesystemapi.PathExistsResponse
	MkdirRequest          = filesystemapi.MkdirRequest
	MkdirResponse         = filesystemapi.MkdirResponse
	RmdirRequest          = filesystemapi.RmdirRequest
	RmdirResponse         = filesystemapi.RmdirResponse
	RmdirContentsRequest  = filesystemapi.RmdirContentsRequest
	RmdirContentsResponse = filesystemapi.RmdirContentsResponse
	CreateSymlinkRequest  = filesystemapi.CreateSymlinkRequest
	CreateSymlinkResponse = filesystemapi.CreateSymlinkResponse
	IsSymlinkRequest      = filesystemapi.IsSymlinkRequest
	IsSymlinkResponse     = filesystemapi.IsSymlinkResponse
)

// The type of [Client].ISCSI, and the messages of its methods.
type (
	IscsiClient = iscsiapi.IscsiClient

	AddTargetPortalRequest       = iscsiapi.AddTargetPortalRequest
	AddTargetPortalResponse      = iscsiapi.AddTargetPortalResponse
	DiscoverTargetPortalRequest  = iscsiapi.DiscoverTargetPortalRequest
	DiscoverTargetPortalResponse = iscsiapi.DiscoverTargetPortalResponse
	RemoveTargetPortalRequest    = iscsiapi.RemoveTargetPortalRequest
	RemoveTargetPortalResponse   = iscsiapi.RemoveTargetPortalResponse
	ListTargetPortalsRequest     = iscsiapi.ListTargetPortalsRequest
	ListTargetPortalsResponse    = iscsiapi.ListTargetPortalsResponse
	ConnectTargetRequest         = iscsiapi.ConnectTargetRequest
	ConnectTargetResponse        = iscsiapi.ConnectTargetResponse
	DisconnectTargetRequest      = iscsiapi.DisconnectTargetRequest
	DisconnectTargetResponse     = iscsiapi.DisconnectTargetResponse
	GetTargetDisksRequest        = iscsiapi.GetTargetDisksRequest
	GetTargetDisksResponse       = iscsiapi.GetTargetDisksResponse
	SetMutualChapSecretRequest   = iscsiapi.SetMutualChapSecretRequest
	SetMutualChapSecretResponse  = iscsiapi.SetMutualChapSecretResponse
	AuthenticationType           = iscsiapi.AuthenticationType
	TargetPortal                 = iscsiapi.TargetPortal
)

// The values of AuthenticationType.
const (
	AuthenticationType_NONE         = iscsiapi.AuthenticationType_NONE
	AuthenticationType_ONE_WAY_CHAP = iscsiapi.AuthenticationType_ONE_WAY_CHAP
	AuthenticationType_MUTUAL_CHAP  = iscsiapi.AuthenticationType_MUTUAL_CHAP
)

// The type of [Client].NodeSteps, and the messages of its methods.
type (
	NodestepsClient = nodestepsapi.NodestepsClient

	StageDiskRequest   = nodestepsapi.StageDiskRequest
	ISCSIDisk          = nodestepsapi.ISCSIDisk
	StageDiskResponse  = nodestepsapi.StageDiskResponse
	StageShareRequest  = nodestepsapi.StageShareRequest
	StageShareResponse = nodestepsapi.StageShareResponse
	UnstageRequest     = nodestepsapi.UnstageRequest
	UnstageResponse    = nodestepsapi.UnstageResponse
	PublishRequest     = nodestepsapi.PublishRequest
	PublishResponse    = nodestepsapi.PublishResponse
	ExpandRequest      = nodestepsapi.ExpandRequest
	ExpandResponse     = nodestepsapi.ExpandResponse
	GetVolumeRequest   = nodestepsapi.GetVolumeRequest
	GetVolumeResponse  = nodestepsapi.GetVolumeResponse
)

// The type of [Client].SMB, and the messages of its methods.
type (
	SmbClient = smbapi.SmbClient

	NewSmbGlobalMappingRequest     = smbapi.NewSmbGlobalMappingRequest
	NewSmbGlobalMappingResponse    = smbapi.NewSmbGlobalMappingResponse
	RemoveSmbGlobalMappingRequest  = smbapi.RemoveSmbGlobalMappingRequest
	RemoveSmbGlobalMappingResponse = smbapi.RemoveSmbGlobalMappingResponse
)

// The type of [Client].System, and the messages of its methods.
type (
	SystemClient = systemapi.SystemClient

	GetBIOSSerialNumberRequest  = systemapi.GetBIOSSerialNumberRequest
	GetBIOSSerialNumberResponse = systemapi.GetBIOSSerialNumberResponse
	StartServiceRequest         = systemapi.StartServiceRequest
	StartServiceResponse        = systemapi.StartServiceResponse
	StopServiceRequest          = systemapi.StopServiceRequest
	StopServiceResponse         = systemapi.StopServiceResponse
	GetServiceRequest           = systemapi.GetServiceRequest
	GetServiceResponse          = systemapi.GetServiceResponse
	ServiceStatus               = systemapi.ServiceStatus
	StartType                   = systemapi.StartType
)

// The values of ServiceStatus.
const (
	ServiceStatus_UNKNOWN          = systemapi.ServiceStatus_UNKNOWN
	ServiceStatus_STOPPED          = systemapi.ServiceStatus_STOPPED
	ServiceStatus_START_PENDING    = systemapi.ServiceStatus_START_PENDING
	ServiceStatus_STOP_PENDING     = systemapi.ServiceStatus_STOP_PENDING
	ServiceStatus_RUNNING          = systemapi.ServiceStatus_RUNNING
	ServiceStatus_CONTINUE_PENDING = systemapi.ServiceStatus_CONTINUE_PENDING
	ServiceStatus_PAUSE_PENDING    = systemapi.ServiceStatus_PAUSE_PENDING
	ServiceStatus_PAUSED           = systemapi.ServiceStatus_PAUSED
)

// The values of StartType.
const (
	StartType_BOOT      = systemapi.StartType_BOOT
	StartType_SYSTEM    = systemapi.StartType_SYSTEM
	StartType_AUTOMATIC = systemapi.StartType_AUTOMATIC
	StartType_MANUAL    = systemapi.StartType_MANUAL
	StartType_DISABLED  = systemapi.StartType_DISABLED
)

// The type of [Client].Volume, and the messages of its methods.
type (
	VolumeClient = volumeapi.VolumeClient

	ListVolumesOnDiskRequest                 = volumeapi.ListVolumesOnDiskRequest
	ListVolumesOnDiskResponse                = volumeapi.ListVolumesOnDiskResponse
	MountVolumeRequest                       = volumeapi.MountVolumeRequest
	MountVolumeResponse                      = volumeapi.MountVolumeResponse
	UnmountVolumeRequest                     = volumeapi.UnmountVolumeRequest
	UnmountVolumeResponse                    = volumeapi.UnmountVolumeResponse
	IsVolumeFormattedRequest                 = volumeapi.IsVolumeFormattedRequest
	IsVolumeFormattedResponse                = volumeapi.IsVolumeFormattedResponse
	FormatVolumeRequest                      = volumeapi.FormatVolumeRequest
	FormatVolumeResponse                     = volumeapi.FormatVolumeResponse
	ResizeVolumeRequest                      = volumeapi.ResizeVolumeRequest
	ResizeVolumeResponse                     = volumeapi.ResizeVolumeResponse
	GetVolumeStatsRequest                    = volumeapi.GetVolumeStatsRequest
	GetVolumeStatsResponse                   = volumeapi.GetVolumeStatsResponse
	GetDiskNumberFromVolumeIDRequest         = volumeapi.GetDiskNumberFromVolumeIDRequest
	GetDiskNumberFromVolumeIDResponse        = volumeapi.GetDiskNumberFromVolumeIDResponse
	GetVolumeIDFromTargetPathRequest         = volumeapi.GetVolumeIDFromTargetPathRequest
	GetVolumeIDFromTargetPathResponse        = volumeapi.GetVolumeIDFromTargetPathResponse
	GetClosestVolumeIDFromTargetPathRequest  = volumeapi.GetClosestVolumeIDFromTargetPathRequest
	GetClosestVolumeIDFromTargetPathResponse = volumeapi.GetClosestVolumeIDFromTargetPathResponse
	WriteVolumeCacheRequest                  = volumeapi.WriteVolumeCacheRequest
	WriteVolumeCacheResponse                 = volumeapi.WriteVolumeCacheResponse
)
