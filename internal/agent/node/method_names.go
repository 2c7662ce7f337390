// SPDX-License-Identifier: Apache-2.0

package node

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Meaning is what a text in a request names.
type Meaning int

// The meanings. The zero value is unknown, which every policy refuses.
const (
	_            Meaning = iota
	NamesNothing         // that a policy restricts
	NamesPath            // a path of the node
	NamesShare           // a path on a file server
	NamesService         // a Windows service
	NamesPortal          // the address of an iSCSI portal
	NamesTarget          // an iSCSI target
)

// fields say what the texts of a request name, by their names in the proto: "target_portal.target_address".
type fields map[string]Meaning

// EachText calls f with each text of a request of the newest versions, and with what it names, until f fails. The
// meaning is 0 for what no row describes, such as a list of texts, whose text is then empty.
func EachText(request proto.Message, f func(field protoreflect.FieldDescriptor, m Meaning, text string) error) error {
	return eachText(request.ProtoReflect(), f)
}

func eachText(m protoreflect.Message,
	f func(field protoreflect.FieldDescriptor, m Meaning, text string) error) (err error) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = eachText(value.List().Get(i).Message(), f)
			}
		case field.IsMap() || field.IsList():
			err = f(field, 0, "")
		case field.Message() != nil:
			err = eachText(value.Message(), f)
		case field.Kind() == protoreflect.StringKind:
			err = f(field, methods().means[field.FullName()], value.String())
		case field.Kind() == protoreflect.BytesKind:
			err = f(field, methods().means[field.FullName()], string(value.Bytes()))
		}
		return err == nil
	})
	return err
}
