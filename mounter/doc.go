// SPDX-License-Identifier: Apache-2.0

// Package mounter mounts volumes of a Windows node through a CSI Proxy agent. It is the node side of a CSI driver.
//
// A [Mounter] is a mount.Interface of k8s.io/mount-utils, so that it can replace mount.New("") in a driver. It also has
// the functions that every driver for Windows otherwise writes for itself: waiting for an attached disk, formatting and
// mounting it, expanding it, reporting its usage, mapping an SMB share. Methods that wait take a context; those of
// mount.Interface cannot, and are limited by the client's timeout.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package mounter
