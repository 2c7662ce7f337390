// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package iscsi to a machine. New returns the machine that the process runs on;
// tests give package iscsi an implementation of their own, or the initiator of an emulated node through Over.
package hostapi
