// SPDX-License-Identifier: Apache-2.0

// Package iscsi is the storage systems that an emulated node can reach, and what its initiator service knows and has.
package iscsi
