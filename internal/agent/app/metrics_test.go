// SPDX-License-Identifier: Apache-2.0

package app

import "testing"

func TestMetricsAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"": true, "127.0.0.1:9190": true, "[::1]:0": true, ":9190": true, "localhost:9190": true,
		"9190": false, "127.0.0.1": false, "127.0.0.1:": false, "127.0.0.1:http": false,
		"127.0.0.1:65536": false, "::1:9190": false,
	} {
		if err := checkMetricsAddress(address); (err == nil) != ok {
			t.Errorf("%q: got %v", address, err)
		}
	}
}
