// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/api"
)

// Methods returns the paths on the wire of all methods of the API, sorted by their names in policies.
func Methods() (paths []string) {
	files, err := api.Descriptors()
	if err != nil {
		return nil // then no mask selects a method, and every file is refused
	}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				paths = append(paths, "/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(Written(a), Written(b)) })
	return paths
}
