// SPDX-License-Identifier: Apache-2.0

// Package admin is the admin endpoint of an agent: the served APIs, the storage tree, and what dangles or hangs; and for an
// emulated node its control, its faults and the journal of its calls.
package admin
