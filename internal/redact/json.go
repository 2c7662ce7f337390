// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON is a message, masked before, as JSON on one line: always the same for the same message, with the fields' names of
// the .proto file. It fails for texts that are not UTF-8.
func JSON(message proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // protojson puts spaces where it likes
	err = json.Compact(&line, text)
	return line.Bytes(), err
}
