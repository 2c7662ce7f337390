// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/methods"
	"github.com/kubernetes-csi/csi-proxy/internal/policy"
)

// completeCalls completes the flags that select calls by their function or their method.
func completeCalls(c *cobra.Command) {
	completeBy(c, "function", kernel.Functions)
	completeBy(c, "method", masks)
}

// masks returns the masks of one method each, in all versions and in each: volume/MountVolume, volume/v1/MountVolume.
func masks() (list []string) {
	seen := map[string]bool{}
	add := func(mask string) {
		if !seen[mask] {
			seen[mask] = true
			list = append(list, mask)
		}
	}
	for _, path := range policy.Methods() {
		written := policy.Written(path)
		group, rest, _ := strings.Cut(written, "/")
		_, method, _ := strings.Cut(rest, "/")
		add(group)
		add(group + "/" + method)
		add(written)
	}
	return list
}

// unknownCalls returns what is wrong with the function or the method that selects calls, and what may have been meant.
// Both are empty if there are such calls.
func unknownCalls(function, method string) (what, meant string) {
	if function != "" && !slices.ContainsFunc(kernel.Functions(),
		func(f string) bool { return strings.EqualFold(f, function) }) {
		return fmt.Sprintf("there is no kernel function %q", function), didYouMean(function, kernel.Functions())
	}
	mask, err := methods.Parse(method)
	if method == "" || err != nil || slices.ContainsFunc(policy.Methods(), mask.Match) {
		return "", ""
	}
	return fmt.Sprintf("no method is called %q", method), didYouMean(method, masks())
}

// callsMeant adds to an error about a fault the function or the method that may have been meant.
func callsMeant(err error, f *admin.Fault) error {
	if s := status.Convert(err); s.Code() == codes.InvalidArgument {
		_, meant := unknownCalls(f.GetFunction(), f.GetMethod())
		return status.Error(s.Code(), s.Message()+meant)
	}
	return err
}
