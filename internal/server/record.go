// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
)

// A Record is told of a call as it begins, and what it returns of the rest; nil: this call is not recorded.
type Record func(RecordedCall) CallRecord

// RecordedCall is a call that begins.
type RecordedCall struct {
	RequestID string
	Endpoint  string // "csi-proxy-disk-v1"
	Method    string // "/v1.Disk/ListDiskIDs"
	Client    string // "pid 123 C:\driver.exe" on Windows, "pid 123 uid 0" on Linux; as far as the transport can tell
}

// A CallRecord takes down one call.
type CallRecord interface {
	// Request is told of the request, unless it could not be read: the message that was decoded, which is that of the
	// version that was called where it is mapped, otherwise that of the newest one. Nobody changes it any more.
	Request(message any)
	// End is told of the outcome, once. The response is nil after an error; nobody changes it any more.
	End(response any, err error)
}

// Records tells several of each call, in their order; nil ones are left out.
func Records(all ...Record) Record {
	all = slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r == nil })
	if len(all) == 1 {
		return all[0]
	}
	return func(c RecordedCall) CallRecord {
		var records callRecords
		for _, r := range all {
			if one := r(c); one != nil {
				records = append(records, one)
			}
		}
		if len(records) == 0 {
			return nil
		}
		return records
	}
}

type callRecords []CallRecord

func (rs callRecords) Request(message any) {
	for _, r := range rs {
		r.Request(message)
	}
}

func (rs callRecords) End(response any, err error) {
	for _, r := range rs {
		r.End(response, err)
	}
}

// telling decodes a request and tells those who record the call: interceptors do not get to see it, see
// Service.description.
func telling(ctx context.Context, decode func(any) error) func(any) error {
	c := callOf(ctx)
	if c == nil || c.recorded == nil {
		return decode
	}
	return func(request any) error {
		err := decode(request)
		if err == nil {
			c.recorded.Request(request)
		}
		return err
	}
}
