// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// Methods returns the paths on the wire of all methods of the API, sorted by their names in policies.
func Methods() []string {
	return slices.SortedFunc(slices.Values(node.MethodPaths()),
		func(a, b string) int { return strings.Compare(Written(a), Written(b)) })
}
