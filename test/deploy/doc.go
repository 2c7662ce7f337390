// SPDX-License-Identifier: Apache-2.0

// Package deploy checks everything that is deployed: the manifests and the Helm chart, decoded as the API server does;
// the image's Dockerfile; and the documents that describe them. Its module is outside the workspace, so that the rest
// does not depend on Kubernetes' packages.
package deploy
