// SPDX-License-Identifier: Apache-2.0

package emulatedv1alpha1

import (
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"
)

// Document returns a document with one list: Document("disks", map[string]any{"size": "10GiB"}). It panics if a value
// has no JSON form.
func Document(list string, elements ...map[string]any) *structpb.Struct {
	document := &structpb.Struct{}
	text, err := json.Marshal(map[string]any{list: elements})
	if err == nil {
		err = document.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err) //nolint:forbidigo // a value that is written in the source
	}
	return document
}

// Part decodes a part of a document, such as its list "disks", by package encoding/json. A part that the document does
// not have is the zero value.
func Part[T any](document *structpb.Struct, name string) (part T, err error) {
	value, is := document.GetFields()[name]
	if !is {
		return part, nil
	}
	text, err := value.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &part)
	}
	return part, err
}
