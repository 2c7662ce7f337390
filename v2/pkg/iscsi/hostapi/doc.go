// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package iscsi asks of a machine. New is the machine that the process runs on; tests give
// package iscsi an implementation of their own, or the initiator of an emulated node through Over.
package hostapi
