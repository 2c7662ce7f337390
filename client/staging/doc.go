// SPDX-License-Identifier: Apache-2.0

// Package staging does the steps of a CSI node service on a Windows node through a CSI Proxy agent: [Mounter.StageDisk]
// for the disk that a [Match] picks, [Mounter.ExpandTo], [Mounter.Usage] and [Mounter.Condition], and [Shares] for SMB.
// All of it can be repeated after a failure or a crash anywhere.
//
// Drivers in Go import package mounter, which adds the one method for which k8s.io/mount-utils is needed. Where an
// agent does not do a step in one call, package stepwise does it with single calls.
//
// Failures are told apart with errors.Is: the kinds are the Err variables of this package and of package csiproxy,
// fs.ErrInvalid for an argument that makes no sense, and fs.ErrNotExist. An error of the agent is a *csiproxy.Error and
// has a gRPC code.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package staging
