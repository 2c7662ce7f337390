// SPDX-License-Identifier: Apache-2.0

// Package api is the root of the wire contract: the folders below hold one API version each. The package itself holds
// what older versions had in common.
package api

import (
	_ "embed" // for the image
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// image holds the descriptors of every released version, without comments, as a serialized FileDescriptorSet.
//
//go:embed image.binpb
var image []byte

// Descriptors returns the descriptors of every released version of the API, whether linked into the program or not.
func Descriptors() (*protoregistry.Files, error) { return readImage() }

var readImage = sync.OnceValues(func() (*protoregistry.Files, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(image, set); err != nil {
		return nil, err
	}
	return protodesc.NewFiles(set)
})
