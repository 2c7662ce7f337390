// SPDX-License-Identifier: Apache-2.0

package plainfile

import "golang.org/x/sys/windows"

// withoutWaiting makes CreateFileW open a reparse point itself. No open of a pipe waits here.
const withoutWaiting = windows.O_FILE_FLAG_OPEN_REPARSE_POINT
