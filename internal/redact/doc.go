// SPDX-License-Identifier: Apache-2.0

// Package redact takes the secrets out of API messages before they are kept or shown.
package redact
