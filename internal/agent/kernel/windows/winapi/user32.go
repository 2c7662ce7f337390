// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

// PM_REMOVE makes PeekMessage take the message from the queue.
const PM_REMOVE = 0x0001

// Message is MSG.
// https://learn.microsoft.com/windows/win32/api/winuser/ns-winuser-msg
type Message struct {
	Window  uintptr
	Message uint32
	WParam  uintptr
	LParam  uintptr
	Time    uint32
	Point   [2]int32
}

// PeekMessage reports whether a message waits for the calling thread, and takes it. It does not wait for one.
// https://learn.microsoft.com/windows/win32/api/winuser/nf-winuser-peekmessagew
//sys	PeekMessage(message *Message, window uintptr, first uint32, last uint32, remove uint32) (found bool) = user32.PeekMessageW

// DispatchMessage gives a message to the procedure of its window.
// https://learn.microsoft.com/windows/win32/api/winuser/nf-winuser-dispatchmessagew
//sys	DispatchMessage(message *Message) (result uintptr) = user32.DispatchMessageW
