// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// newHashKey returns a key for CredentialKey, which lives as long as the process.
func newHashKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: crypto/rand would end the program instead
	return key
}

// CredentialKey returns a keyed hash of a user name and a secret, by which calls are compared without keeping either.
func (r *Runner) CredentialKey(user string, secret kernel.Secret) string {
	mac := hmac.New(sha256.New, r.hashKey)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(user)))) // a hash never fails
	_, _ = mac.Write([]byte(user))
	_, _ = mac.Write(secret)
	return hex.EncodeToString(mac.Sum(nil))
}
