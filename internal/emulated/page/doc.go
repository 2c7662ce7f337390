// SPDX-License-Identifier: Apache-2.0

// Package page serves a web page that shows an emulated node: its storage, its journal and its faults.
package page
