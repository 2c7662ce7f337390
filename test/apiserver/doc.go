// SPDX-License-Identifier: Apache-2.0

// Package apiserver lets a real kube-apiserver with a real etcd judge everything that is deployed: the manifests, and
// the chart with every set of values of test/deploy. kubectl and Helm are real, too, and so are the controllers that
// make pods of DaemonSets and remove what belongs to nothing. Only the nodes are played. All programs are built from
// their modules, which takes long, so this has a module of its own and `make check-apiserver`; test/deploy is what
// every commit sees.
package apiserver
