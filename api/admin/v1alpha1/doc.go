// SPDX-License-Identifier: Apache-2.0

// Package adminv1alpha1 is the API of the admin endpoint, csiproxy-admin: what an agent serves and the storage tree of its
// node, and the control of the node where that is an emulated one.
package adminv1alpha1
