// SPDX-License-Identifier: Apache-2.0

// Package deploy checks everything that is deployed: the manifests and the Helm chart, decoded as the API server does;
// the image's Dockerfile; and the documents that describe them. It has a module of its own, outside the workspace, so
// that Kubernetes' packages burden nobody who builds or imports the rest.
package deploy
