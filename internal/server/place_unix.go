// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server

import "errors"

// Open takes the place for an agent.
func (p Place) Open() (Transport, error) {
	if p.SocketDir == "" {
		return nil, errors.New("an agent needs a socket directory")
	}
	d, err := OpenSocketDir(p.SocketDir)
	if err != nil {
		return nil, err // and no typed nil
	}
	return d, nil
}

// CheckPipeSecurity checks a security descriptor for named pipes, of which there are none here.
func CheckPipeSecurity(string) error {
	return errors.New("there are no named pipes here; sockets are for the user that runs the agent")
}
