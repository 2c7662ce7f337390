// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	released "github.com/kubernetes-csi/csi-proxy/client/api"
)

// API is a released version of a group.
type API struct {
	Group, Version string
	Service        protoreflect.ServiceDescriptor
}

// Released returns every released version of every group, from the descriptors in the client's module.
func Released(t testing.TB) []API {
	t.Helper()
	files, err := released.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	var all []API
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			all = append(all, API{strings.ToLower(string(s.Name())), string(f.Package().Name()), s})
		}
		return true
	})
	return all
}
