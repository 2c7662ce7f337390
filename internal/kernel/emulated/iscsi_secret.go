// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

// saltedSecret can tell whether a secret is the one that was set, and nothing else about it.
type saltedSecret struct {
	Salt []byte `json:"salt"`
	Sum  []byte `json:"sum"`
}

func saltSecret(secret []byte) *saltedSecret {
	s := &saltedSecret{Salt: make([]byte, sha256.Size)}
	_, _ = rand.Read(s.Salt) // never fails: crypto/rand ends the program instead
	s.Sum = s.sum(secret)
	return s
}

func (s *saltedSecret) sum(secret []byte) []byte {
	h := sha256.New()
	_, _ = h.Write(s.Salt) // a hash never fails
	_, _ = h.Write(secret)
	return h.Sum(nil)
}

func (s *saltedSecret) is(secret []byte) bool {
	return subtle.ConstantTimeCompare(s.Sum, s.sum(secret)) == 1
}
