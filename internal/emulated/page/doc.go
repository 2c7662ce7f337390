// SPDX-License-Identifier: Apache-2.0

// Package page serves a web page that shows an emulated node and plays its hardware: its storage, its journal and its
// faults. Windows builds of the agent do not have it.
package page
