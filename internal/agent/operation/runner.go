// SPDX-License-Identifier: Apache-2.0

// Package operation is the life of an operation on a node: identical calls share one, it holds the locks of its
// objects, is listed while it runs, and runs to its end when its callers give up. It knows no operation's meaning.
package operation

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

// Config is the configuration of a Runner.
type Config struct {
	Kernel      kernel.Kernel
	Interceptor kernel.Interceptor // stands around every kernel call; may be nil
	Observer    Observer           // is told the progress of operations; may be nil
	// Lease is called with the context of a call when an operation is about to begin on its behalf, and keeps something
	// until release is called: when the operation is over, which may be long after the call. Lease and release may be nil.
	Lease func(ctx context.Context) (release func())
}

// Runner runs operations. It is safe for concurrent use.
type Runner struct {
	config  Config
	hashKey string // of CredentialKey, for the life of the process
	locks   KeyedLocks
	busy    sync.WaitGroup // the goroutines of operations

	mu    sync.Mutex
	calls map[string]*call // running changes that may be joined, by key

	tasks running.Set[task]
}

// NewRunner returns a Runner.
func NewRunner(c Config) *Runner {
	return &Runner{config: c, calls: map[string]*call{}, hashKey: rand.Text()}
}

// Drain waits until no operation is running, including those whose callers have given up, or until the context ends.
func (r *Runner) Drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { r.busy.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx.Err(), On("waiting for running operations"), goesOn)
	}
}

// CredentialKey returns a keyed hash of a user name and a secret, by which calls are compared without keeping either.
func (r *Runner) CredentialKey(user string, secret kernel.Secret) string {
	mac := hmac.New(sha256.New, []byte(r.hashKey))
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(user)))) // a hash never fails
	_, _ = mac.Write([]byte(user))
	_, _ = mac.Write(secret)
	return hex.EncodeToString(mac.Sum(nil))
}
