// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"

// SMB is the smb group: shares that the whole node can reach, and links to them.
type SMB struct{ node *Node }

var smbMethods = []Method{
	changes("NewSmbGlobalMapping", LimitWrite, (*SMB).NewSMBGlobalMapping, fields{
		"remote_path": NamesShare, "local_path": NamesPath, "username": NamesNothing, "password": NamesNothing,
	}),
	changes("RemoveSmbGlobalMapping", LimitWrite, (*SMB).RemoveSMBGlobalMapping, fields{"remote_path": NamesShare}),
}

// Secret is a password. Printing it never shows it.
type Secret = kernel.Secret
