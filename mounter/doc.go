// SPDX-License-Identifier: Apache-2.0

// Package mounter mounts volumes of a Windows node through a CSI Proxy agent. It is the node side of a CSI driver.
//
// A [Mounter] is a mount.Interface of k8s.io/mount-utils, so that it can replace mount.New("") in a driver. It also has
// what every driver for Windows otherwise writes for itself, from package staging of the client: StageDisk for the disk
// that a [Match] picks, ExpandTo, Usage and Condition, and [Shares] for SMB. All of it can be repeated after a failure
// or a crash anywhere. Methods that wait take a context; those of mount.Interface cannot, and are limited by the
// client's timeout.
//
// Failures are told apart with errors.Is: the kinds are the Err variables of this package and of package csiproxy,
// fs.ErrInvalid for an argument that makes no sense, and fs.ErrNotExist. An error of the agent is a *csiproxy.Error and
// has a gRPC code.
//
// The types with an equals sign are those of the packages staging and stepwise of the client, whose documentation has
// their fields and methods:
//
//	go doc -all github.com/kubernetes-csi/csi-proxy/client/stepwise StageOptions
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package mounter
