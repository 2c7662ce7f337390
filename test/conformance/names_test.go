// SPDX-License-Identifier: Apache-2.0

package conformance

// The tests speak of operations and of the meaning of fields. These tables give the versions' names for them. They
// are written here and not taken from the agent's own tables, which these tests are to prove.

// operation returns the hub's name for a method of any version.
func operation(group, method string) string {
	old := map[string]string{
		"disk DiskStats":              "GetDiskStats",
		"disk SetAttachState":         "SetDiskState",
		"disk GetAttachState":         "GetDiskState",
		"filesystem LinkPath":         "CreateSymlink",
		"filesystem IsMountPoint":     "IsSymlink",
		"volume DismountVolume":       "UnmountVolume",
		"volume VolumeStats":          "GetVolumeStats",
		"volume GetVolumeDiskNumber":  "GetDiskNumberFromVolumeID",
		"volume GetVolumeIDFromMount": "GetVolumeIDFromTargetPath",
	}
	if name, renamed := old[group+" "+method]; renamed {
		return name
	}
	return method
}

// A meaning is what a field of a request or response holds, whatever a version calls the field.
type meaning string

const (
	disk      meaning = "disk number"
	diskName  meaning = "page 83 identifier"
	partition meaning = "partition number"
	volume    meaning = "volume id"
	path      meaning = "path"
	source    meaning = "path that a link leads to"
	size      meaning = "size of a partition"
	online    meaning = "disk is online"
	force     meaning = "by force"
	context   meaning = "path context"

	remote       meaning = "path of a share"
	local        meaning = "path of the link to a share"
	user         meaning = "user"
	password     meaning = "password"
	portal       meaning = "target portal"
	target       meaning = "target"
	auth         meaning = "authentication"
	chapUser     meaning = "CHAP user"
	chapSecret   meaning = "CHAP secret"
	mutualSecret meaning = "mutual CHAP secret"
	serviceName  meaning = "name of a service"

	portals     meaning = "target portals"
	targets     meaning = "targets"
	serial      meaning = "serial number"
	displayName meaning = "display name"
	startType   meaning = "start type"
	state       meaning = "state of a service"

	locations meaning = "disk locations"
	ids       meaning = "disk ids"
	volumes   meaning = "volume ids"
	total     meaning = "total bytes"
	used      meaning = "used bytes"
	available meaning = "available bytes"
	formatted meaning = "formatted"
	exists    meaning = "exists"
	symlink   meaning = "is a link"
	inBand    meaning = "error in the response"

	page83     meaning = "page 83 identifier to look for"
	model      meaning = "model to look for"
	unit       meaning = "logical unit number"
	azureUnit  meaning = "LUN of Azure"
	ebsVolume  meaning = "EBS volume"
	gceDevice  meaning = "device name"
	eui64      meaning = "EUI-64"
	diskUUID   meaning = "UUID of a virtual disk"
	iscsiDisk  meaning = "logical unit of a target"
	readOnly   meaning = "read-only"
	keepSize   meaning = "size is kept"
	access     meaning = "entries of an access list"
	expected   meaning = "marks that a disk must have"
	diskTotal  meaning = "total bytes of the disk"
	abnormal   meaning = "something is wrong"
	condition  meaning = "condition in words"
	conditions meaning = "condition for programs"
	sizeCode   meaning = "code without sizes"
)

// meaningOf returns the meaning of a field, "" for a field that these tests do not know.
func meaningOf(field string) meaning {
	return map[string]meaning{
		"disk_number": disk, "diskNumber": disk, "diskID": disk, "disk_id": disk,
		"disk_name":        diskName,
		"partition_number": partition,
		"volume_id":        volume,
		"path":             path, "target_path": path, "mount": path,
		"source_path": source,
		"size":        size, "size_bytes": size,
		"is_online": online, "isOnline": online,
		"force":          force,
		"context":        context,
		"disk_locations": locations,
		"diskIDs":        ids,
		"volume_ids":     volumes,
		"total_bytes":    total, "diskSize": total, "volumeSize": total,
		"used_bytes": used, "volumeUsedSize": used, "available_bytes": available,
		"formatted":  formatted,
		"exists":     exists,
		"is_symlink": symlink, "is_mount_point": symlink,
		"error":       inBand,
		"remote_path": remote, "local_path": local, "username": user, "password": password,
		"target_portal": portal, "iqn": target, "auth_type": auth, "chap_username": chapUser, "chap_secret": chapSecret,
		"MutualChapSecret": mutualSecret, "target_portals": portals, "iqns": targets,
		"page83_id": page83, "lun": unit, "azure_lun": azureUnit, "ebs_volume_id": ebsVolume, "gce_device_name": gceDevice,
		"eui64": eui64, "vsphere_uuid": diskUUID, "model": model,
		"iscsi_disk": iscsiDisk, "read_only": readOnly, "keep_size": keepSize, "access": access,
		"expected": expected, "disk_bytes": diskTotal, "abnormal": abnormal, "message": condition, "reason": conditions,
		"code": sizeCode,
		"name": serviceName, "serial_number": serial, "display_name": displayName, "start_type": startType, "status": state,
	}[field]
}
