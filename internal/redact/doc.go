// SPDX-License-Identifier: Apache-2.0

// Package redact takes out what is not to be kept and shown: secrets of API messages and of texts, and, of texts, JSON
// documents and buffers, the names and numbers of a machine.
package redact
