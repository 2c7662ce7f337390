// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

// NtQueryFullAttributesFile asks for the FILE_NETWORK_OPEN_INFORMATION of a path. It does not follow a link in its last
// place.
//
//	NTSTATUS NtQueryFullAttributesFile(
//	  [in]  POBJECT_ATTRIBUTES             ObjectAttributes,
//	  [out] PFILE_NETWORK_OPEN_INFORMATION FileInformation
//	);
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntqueryfullattributesfile
//sys	NtQueryFullAttributesFile(attributes *windows.OBJECT_ATTRIBUTES, information *byte) (ntstatus error) = ntdll.NtQueryFullAttributesFile

// NtQueryVolumeInformationFile asks the file system of an open file. The handle needs no access right for the sizes.
//
//	NTSTATUS NtQueryVolumeInformationFile(
//	  [in]  HANDLE               FileHandle,
//	  [out] PIO_STATUS_BLOCK     IoStatusBlock,
//	  [out] PVOID                FsInformation,
//	  [in]  ULONG                Length,
//	  [in]  FS_INFORMATION_CLASS FsInformationClass
//	);
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntqueryvolumeinformationfile
//sys	NtQueryVolumeInformationFile(file windows.Handle, status *windows.IO_STATUS_BLOCK, buffer *byte, size uint32, class uint32) (ntstatus error) = ntdll.NtQueryVolumeInformationFile
