// SPDX-License-Identifier: Apache-2.0

// Package reason lists the reasons that the agent gives with its errors: the Reason of the google.rpc.ErrorInfo in a
// call's status, and of csiproxy.Error. A released reason keeps its meaning. Where none of these fits, the reason is
// the name of the Windows error without its ERROR_, such as WRITE_PROTECT, or WIN32_ and its number.
package reason

// Calls and requests.
const (
	// Canceled: the caller cancelled the call.
	Canceled = "CANCELED"
	// DeadlineExceeded: the call's deadline ended before the agent began it.
	DeadlineExceeded = "DEADLINE_EXCEEDED"
	// Internal: a failure that has no better reason.
	Internal = "INTERNAL"
	// InvalidArgument: a field of the request has no meaning in this version of the group.
	InvalidArgument = "INVALID_ARGUMENT"
	// MalformedRequest: the bytes of the request are not a message of the method.
	MalformedRequest = "MALFORMED_REQUEST"
	// NodeNotServed: the agent is stopping, or its emulated node reboots. The call changed nothing; repeat it.
	NodeNotServed = "NODE_NOT_SERVED"
	// NotAnswering: Windows has not answered earlier calls to the same disk, volume, share or path, or earlier mappings or
	// formats. No more are started until one of them ends.
	NotAnswering = "NOT_ANSWERING"
	// Panic: a defect of the agent ended the call. The agent's log has the details.
	Panic = "PANIC"
	// Policy: the operator's policy forbids this client the call, or what the call names. Do not repeat it.
	Policy = "POLICY"
	// StillRunning: the call's deadline, or the agent's limit, ended before its operation. A change continues, and
	// repeating the call joins it.
	StillRunning = "STILL_RUNNING"
	// TooManyCalls: the client, or all together, have as many calls running as they may.
	TooManyCalls = "TOO_MANY_CALLS"
)

// Paths.
const (
	// DirectoryNotEmpty: the directory has entries.
	DirectoryNotEmpty = "DIRECTORY_NOT_EMPTY"
	// InvalidPath: the text is not a path that the agent accepts.
	InvalidPath = "INVALID_PATH"
	// LinkRefused: the path is a link or mount point that the call refuses, or has one on the way that is not followed.
	LinkRefused = "LINK_REFUSED"
	// NotADirectory: a file is at the path or on the way to it.
	NotADirectory = "NOT_A_DIRECTORY"
	// NotMounted: no volume is mounted at the path.
	NotMounted = "NOT_MOUNTED"
	// OnShare: the path lies on a network share, or leads to one, where the call needs a local directory or a volume.
	OnShare = "ON_SHARE"
	// OtherVolumeMounted: another volume is mounted at the path.
	OtherVolumeMounted = "OTHER_VOLUME_MOUNTED"
	// OutsideWorkingDirs: the path is not below a working directory of the agent.
	OutsideWorkingDirs = "PATH_OUTSIDE_WORKING_DIRECTORIES"
	// PathExists: another object is at the path.
	PathExists = "PATH_EXISTS"
	// PathNotFound: the path does not exist.
	PathNotFound = "PATH_NOT_FOUND"
	// TooManyEntries: a search ended before it had seen everything.
	TooManyEntries = "TOO_MANY_ENTRIES"
	// WorkingDirItself: the path is a working directory itself.
	WorkingDirItself = "WORKING_DIRECTORY_ITSELF"
)

// Disks and volumes.
const (
	// AmbiguousDisk: several disks match.
	AmbiguousDisk = "AMBIGUOUS_DISK"
	// AmbiguousVolume: the disk has several data volumes.
	AmbiguousVolume = "AMBIGUOUS_VOLUME"
	// CannotExtend: the volume's file system cannot be extended, as NTFS can.
	CannotExtend = "CANNOT_EXTEND"
	// DiskChanged: the volume moved to another disk, or the disk's number became another one's, during the call.
	DiskChanged = "DISK_CHANGED"
	// DiskNotBlank: the disk holds something, and the call overwrites nothing.
	DiskNotBlank = "DISK_NOT_BLANK"
	// DiskNotFound: no disk has this number or name.
	DiskNotFound = "DISK_NOT_FOUND"
	// DiskOffline: the disk must be brought online first.
	DiskOffline = "DISK_OFFLINE"
	// DiskRaw: the disk has no partition table.
	DiskRaw = "DISK_RAW"
	// DiskReadOnly: the disk cannot be written.
	DiskReadOnly = "DISK_READ_ONLY"
	// DiskTooSmall: Windows does not see the size that the volume is to have.
	DiskTooSmall = "DISK_TOO_SMALL"
	// EmptyName: the disk name is empty.
	EmptyName = "EMPTY_NAME"
	// InvalidAccess: an entry for an access list has no SID or no rights, or there is no room for it.
	InvalidAccess = "INVALID_ACCESS"
	// InvalidVolumeID: the text is not a volume id.
	InvalidVolumeID = "INVALID_VOLUME_ID"
	// NegativeSize: the size is negative.
	NegativeSize = "NEGATIVE_SIZE"
	// NoDataPartition: the disk has a partition table but no data partition.
	NoDataPartition = "NO_DATA_PARTITION"
	// NoExtents: Windows does not report which disk the volume lies on.
	NoExtents = "NO_EXTENTS"
	// NoFileSystemName: Windows mounted the volume but does not name its file system.
	NoFileSystemName = "NO_FILE_SYSTEM_NAME"
	// NoSpace: the disk has no room for a data partition.
	NoSpace = "NO_SPACE"
	// NoVolume: the disk or partition has no volume.
	NoVolume = "NO_VOLUME"
	// NearlyFull: the volume has less than a twentieth and less than 1 GiB available.
	NearlyFull = "NEARLY_FULL"
	// NotFormatted: the volume is to be staged read-only and has no file system.
	NotFormatted = "NOT_FORMATTED"
	// NotGrown: Windows reported that the partition grew, but it did not.
	NotGrown = "NOT_GROWN"
	// NotInitialized: Windows reported that it wrote a partition table, but there is none.
	NotInitialized = "NOT_INITIALIZED"
	// NotSeenBlank: the disk or volume is read too slowly to see whether it is blank.
	NotSeenBlank = "NOT_SEEN_BLANK"
	// PartitionNotFound: the disk has no such partition.
	PartitionNotFound = "PARTITION_NOT_FOUND"
	// SizeOutOfRange: the volume cannot become so large; the disk must grow first.
	SizeOutOfRange = "SIZE_OUT_OF_RANGE"
	// Sizes: Windows reports sizes of a volume that contradict each other.
	Sizes = "SIZES"
	// StateNotApplied: Windows accepted a disk's new state, but the disk does not have it.
	StateNotApplied = "STATE_NOT_APPLIED"
	// SystemDisk: Windows boots or runs from the disk, or keeps a page file, crash dump or recovery environment on it; or
	// machines start from the volume.
	SystemDisk = "SYSTEM_DISK"
	// VolumeGone: the volume that is mounted at the path, or on the way to it, is not present.
	VolumeGone = "VOLUME_GONE"
	// VolumeInUse: something on the volume is open, so it is not erased.
	VolumeInUse = "VOLUME_IN_USE"
	// VolumeNotArrived: Windows has not made the volume of a partition in time.
	VolumeNotArrived = "VOLUME_NOT_ARRIVED"
	// VolumeNotBlank: the volume holds something, and the call overwrites nothing.
	VolumeNotBlank = "VOLUME_NOT_BLANK"
	// VolumeNotEmpty: the volume holds files, and the agent erases none.
	VolumeNotEmpty = "VOLUME_NOT_EMPTY"
	// VolumeNotFound: no volume has this id.
	VolumeNotFound = "VOLUME_NOT_FOUND"
	// VolumeSpansDisks: the volume lies on more than one partition.
	VolumeSpansDisks = "VOLUME_SPANS_DISKS"
)

// Shares and iSCSI.
const (
	// InvalidCHAP: Windows does not accept such a CHAP user name or secret.
	InvalidCHAP = "INVALID_CHAP"
	// InvalidCredentials: the user name or the password is missing or malformed.
	InvalidCredentials = "INVALID_CREDENTIALS" //nolint:gosec // names credentials, is not one
	// InvalidRemotePath: the text is not the path of a share.
	InvalidRemotePath = "INVALID_REMOTE_PATH"
	// InvalidTargetName: the text is not an iSCSI name.
	InvalidTargetName = "INVALID_TARGET_NAME"
	// InvalidTargetPortal: the address or port of a target portal is malformed.
	InvalidTargetPortal = "INVALID_TARGET_PORTAL"
	// NoRecords: the agent has no directory for the records of shares in use.
	NoRecords = "NO_RECORDS"
	// PortalNotFound: the target portal is not registered.
	PortalNotFound = "PORTAL_NOT_FOUND"
	// Reconnecting: the session with the target lost its connection, and Windows tries to reconnect.
	Reconnecting = "RECONNECTING"
	// TargetInUse: a disk of the target is in use on the node.
	TargetInUse = "TARGET_IN_USE"
	// TargetNotFound: no discovery has found the target.
	TargetNotFound = "TARGET_NOT_FOUND"
)

// File servers: the commonest of Windows' names.
const (
	// AccessDenied: the account may not use the share, or the node forgot its credentials in a restart.
	AccessDenied = "ACCESS_DENIED"
	// BadNetName: the server has no such share.
	BadNetName = "BAD_NET_NAME"
	// BadNetPath: the server does not answer.
	BadNetPath = "BAD_NETPATH"
	// LogonFailure: the user name or the password is wrong.
	LogonFailure = "LOGON_FAILURE"
	// SessionCredentialConflict: the node has a session with the server under other credentials.
	SessionCredentialConflict = "SESSION_CREDENTIAL_CONFLICT" //nolint:gosec // names credentials, is not one
)

// Services and firmware.
const (
	// DependentsRunning: services that depend on the service are running.
	DependentsRunning = "DEPENDENT_SERVICES_RUNNING"
	// FirmwareTableDamaged: the machine's SMBIOS tables cannot be read.
	FirmwareTableDamaged = "FIRMWARE_TABLE_DAMAGED"
	// InvalidServiceName: the text cannot be the name of a service.
	InvalidServiceName = "INVALID_SERVICE_NAME"
	// NoSerialNumber: the firmware has no serial number for the system.
	NoSerialNumber = "NO_SERIAL_NUMBER"
	// OwnService: the call would stop the agent itself.
	OwnService = "OWN_SERVICE"
	// ProtectedService: the agent's -protected-services keeps the service, or one that depends on it, running.
	ProtectedService = "PROTECTED_SERVICE"
	// ServiceFailed: the service stopped again while it was starting.
	ServiceFailed = "SERVICE_FAILED"
	// ServiceNotFound: Windows has no such service.
	ServiceNotFound = "SERVICE_NOT_FOUND"
	// ServiceNotRunning: a service that the call needs is stopped.
	ServiceNotRunning = "SERVICE_NOT_RUNNING"
	// ServicePaused: the service is paused.
	ServicePaused = "SERVICE_PAUSED"
	// ServicePending: the service did not start or stop in time; it may still do so.
	ServicePending = "SERVICE_PENDING"
)
