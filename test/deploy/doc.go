// SPDX-License-Identifier: Apache-2.0

// Package deploy checks what is deployed: the manifests and the Helm chart, decoded as the API server decodes them; the
// image's Dockerfile; and the documents that describe them. It has a module of its own, outside the workspace, so that
// Kubernetes' packages weigh on nobody who builds or imports the rest.
package deploy
