// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
)

// Access allows an account something in the root directory of a volume and, by inheritance, in all that is made there
// later: {SID: "S-1-5-93-2-2", Rights: mounter.Modify} lets ContainerUser write.
type Access struct {
	SID    string // of an account or a group
	Rights Rights
}

// Rights are a set of rights, by the names that icacls has for them. The zero value is refused.
type Rights int32

// The sets of rights, by the API's numbers.
const (
	Read   Rights = iota + 1 // list, read and run: RX
	Modify                   // also make, write and delete: M
	Full                     // also change access lists and owners: F
)

// An AccessResult says what became of StageOptions.Access, not what other entries of the access list allow.
type AccessResult int32

// The results, by the API's numbers.
const (
	AccessNotAsked AccessResult = iota // no entries, or ReadOnly
	AccessAdded                        // this call added those that were missing
	AccessPresent                      // all were there before
	AccessNotAdded                     // the volume holds files, and one is missing
)

// String returns the result in a word, such as "present".
func (r AccessResult) String() string {
	return strings.ToLower(strings.TrimPrefix(api.AccessResult(r).String(), "ACCESS_RESULT_"))
}

func entries(access []Access) (list []*api.AccessEntry) {
	for _, a := range access {
		list = append(list, &api.AccessEntry{Sid: a.SID, Rights: api.AccessRights(a.Rights)})
	}
	return list
}
