// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"time"
)

// lockPause is the pause between two tries to get a lock that another process has.
const lockPause = 10 * time.Millisecond

// Lock takes the lock of a share, which all processes with these records respect. Its file lives while it is held, and
// the system releases the lock of a process that ends. An error is the context's, or of the directory.
func (d *Dir) Lock(ctx context.Context, share string) (unlock func(), err error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	for {
		err := whileOpen(func() (err error) { unlock, err = tryLock(d.file(share, lockSuffix)); return err })
		if unlock != nil || err != nil {
			return unlock, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another program that uses the records of shares in %s: %w", d.path, ctx.Err())
		}
	}
}
