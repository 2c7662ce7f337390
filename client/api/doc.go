// SPDX-License-Identifier: Apache-2.0

// Package api is the root of the wire contract: the folders below hold one API
// version each. The package itself holds what older versions had in common.
package api
