// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"errors"
	"net"
)

var errNotHere = errors.New("the figures are those of a Windows program on named pipes: run this on Windows, or make bench-wine")

func system() (string, error) { return "", errNotHere }

func isOpen(string) error { return errNotHere }

func memoryOf(int) (memory, error) { return memory{}, errNotHere }

func listen(string) (net.Listener, error) { return nil, errNotHere }
