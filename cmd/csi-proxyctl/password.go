// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// maxPassword is far longer than any password.
const maxPassword = 4096

// passwordFlag gives a command the flag --password-file. The function that it returns reads the file.
func passwordFlag(c *cobra.Command, usage string) (read func() (string, error)) {
	file := c.Flags().String("password-file", "", usage)
	return func() (string, error) {
		password, err := readPassword(*file, c.InOrStdin())
		if err != nil {
			return "", failure{err}
		}
		return password, nil
	}
}

// readPassword reads a password from a file, or from stdin for "-". Its errors never quote it.
func readPassword(file string, stdin io.Reader) (string, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("cannot read the password: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the password: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case len(text) > maxPassword || !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\n"):
		return "", fmt.Errorf("the password is not one line of at most %d bytes in UTF-8", maxPassword)
	}
	return password, nil
}
