// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kubernetes-csi/csi-proxy/client/api"
)

// reflect registers reflection, by which tools list what the server serves. The messages of most old versions are not
// linked into the agent; their descriptors come from the recorded image of the API.
func reflect(g *grpc.Server) {
	options := reflection.ServerOptions{Services: g, DescriptorResolver: descriptors{}}
	reflectionv1.RegisterServerReflectionServer(g, reflection.NewServerV1(options))
	reflectionv1alpha.RegisterServerReflectionServer(g, reflection.NewServer(options))
}

// descriptors looks in the linked descriptors first, then in the API's image.
type descriptors struct{}

func (descriptors) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	return find(path, (*protoregistry.Files).FindFileByPath)
}

func (descriptors) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return find(name, (*protoregistry.Files).FindDescriptorByName)
}

func find[Name, Found any](name Name, in func(*protoregistry.Files, Name) (Found, error)) (Found, error) {
	found, err := in(protoregistry.GlobalFiles, name)
	if !errors.Is(err, protoregistry.NotFound) {
		return found, err
	}
	files, err := api.Descriptors()
	if err != nil {
		return found, err
	}
	return in(files, name)
}
