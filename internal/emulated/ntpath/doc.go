// SPDX-License-Identifier: Apache-2.0

// Package ntpath parses the paths that callers, links and mount points of an emulated node have.
package ntpath
