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

// reflect lets tools ask the server what it serves. The messages of most old versions are not linked into the agent;
// their descriptors come from the recorded image of the API.
func reflect(g *grpc.Server) {
	options := reflection.ServerOptions{Services: g, DescriptorResolver: descriptors{}}
	reflectionv1.RegisterServerReflectionServer(g, reflection.NewServerV1(options))
	reflectionv1alpha.RegisterServerReflectionServer(g, reflection.NewServer(options))
}

// descriptors finds what is linked, and else what the API's image has.
type descriptors struct{}

func (descriptors) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	file, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if !errors.Is(err, protoregistry.NotFound) {
		return file, err
	}
	files, err := api.Descriptors()
	if err != nil {
		return nil, err
	}
	return files.FindFileByPath(path)
}

func (descriptors) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if !errors.Is(err, protoregistry.NotFound) {
		return descriptor, err
	}
	files, err := api.Descriptors()
	if err != nil {
		return nil, err
	}
	return files.FindDescriptorByName(name)
}
