// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

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
