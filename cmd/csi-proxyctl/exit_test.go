// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("unknown flag"), 2},
		{failure{errors.New("anything")}, 1},
		{failure{errPrinted}, 1},
		{failure{errNotConfirmed}, 8},
		{failure{status.Error(codes.AlreadyExists, "")}, 5},
		{failure{status.Error(codes.OutOfRange, "")}, 5},
		{failure{status.Error(codes.Internal, "")}, 1},
		{(&connection{}).explain(t.Context(), &csiproxy.Error{Code: codes.DeadlineExceeded}), 7},
		{failure{adminclient.Explain(status.Error(codes.NotFound, "no such disk"))}, 4},
		{failure{fmt.Errorf("no agent: %w", &dial.Error{Err: os.ErrNotExist})}, 3},
		{failure{context.Canceled}, 1},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

func TestExitCodesAreInTheHelp(t *testing.T) {
	for code := range 9 {
		if !strings.Contains(exitCodesText, fmt.Sprintf("\n  %d  ", code)) {
			t.Errorf("exit code %d is not in the help", code)
		}
	}
}
