// SPDX-License-Identifier: Apache-2.0

// Package admin is the read-only service of the admin endpoint: the APIs, the storage tree, and what dangles or hangs.
package admin
