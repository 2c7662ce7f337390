// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	released "github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// Service returns the released service of a version.
func Service(t testing.TB, group, version string) protoreflect.ServiceDescriptor {
	t.Helper()
	files, err := released.Descriptors()
	OK(t, err)
	for _, g := range versions.Groups() {
		if g.Name == group {
			d, err := files.FindDescriptorByName(protoreflect.FullName(g.ServiceName(version)))
			OK(t, err)
			return d.(protoreflect.ServiceDescriptor)
		}
	}
	t.Fatalf("there is no group %s", group)
	return nil
}
