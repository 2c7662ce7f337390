// SPDX-License-Identifier: Apache-2.0

// Package deviceside is the other side of the buffers of package win32: encoders of what disks, volumes, the firmware
// and the iSCSI initiator answer, with the fields that the agent does not read, too, and parsers of what only they are
// asked. The emulated node and tests use it, and the agent does not link it.
package deviceside
