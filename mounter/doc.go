// SPDX-License-Identifier: Apache-2.0

// Package mounter mounts volumes of a Windows node through a CSI Proxy agent: what a CSI driver needs besides its cloud.
//
// A [Mounter] is a mount.Interface of k8s.io/mount-utils, so that it takes the place of mount.New("") in a driver, and
// it has what every driver for Windows otherwise writes for itself: wait for a disk that was attached, format and mount
// it, expand it, tell its use, map an SMB share. Methods that wait take a context; those of mount.Interface cannot, and
// are bounded by the client's timeout.
//
// Paths are taken as kubelet gives them, with slashes or backslashes, with or without a drive.
package mounter
