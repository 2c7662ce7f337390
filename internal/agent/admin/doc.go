// SPDX-License-Identifier: Apache-2.0

// Package admin is the read-only service of an agent's admin endpoint: the served APIs, the storage tree, and what
// dangles or hangs.
package admin
