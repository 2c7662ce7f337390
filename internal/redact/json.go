// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON returns a masked message as JSON on one line, with the field names of the .proto file. The same message always
// gives the same text. It fails for strings that are not UTF-8.
func JSON(message proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // protojson varies its spaces at random
	err = json.Compact(&line, text)
	return line.Bytes(), err
}
