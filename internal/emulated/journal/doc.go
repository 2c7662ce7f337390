// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the last calls of an agent: the API calls that it served and the kernel calls that it made for
// them. Secrets are masked before anything is kept.
package journal
