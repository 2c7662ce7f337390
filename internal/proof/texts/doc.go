// SPDX-License-Identifier: Apache-2.0

// Package texts takes out of texts, JSON documents and buffers what a person does not want to publish: secrets, and the
// names and numbers of a machine.
package texts
