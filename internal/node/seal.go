// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// A seal distinguishes secrets without keeping them: calls are compared by keyed hashes of their credentials. The key
// lives as long as the process.
type seal []byte

func newSeal() seal {
	s := make(seal, sha256.Size)
	_, _ = rand.Read(s) // never fails: crypto/rand would end the program instead
	return s
}

// of returns a text that stands for a user name and a secret.
func (s seal) of(user string, secret Secret) string {
	mac := hmac.New(sha256.New, s)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(user)))) // a hash never fails
	_, _ = mac.Write([]byte(user))
	_, _ = mac.Write(secret)
	return hex.EncodeToString(mac.Sum(nil))
}
