// SPDX-License-Identifier: Apache-2.0

// Package redact makes API messages fit to be kept and shown: without secrets, and of bounded size.
package redact
