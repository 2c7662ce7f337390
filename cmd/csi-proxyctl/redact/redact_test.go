// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/cmd/csi-proxyctl/redact"
)

// Each line has one secret, hush-…, in a form in which logs and command lines have them.
func TestWithoutSecrets(t *testing.T) {
	lines := []string{
		`I1122 call request={"user":"csi","password":"hush-1","path":"C:\\kept"} err=null`,
		`"request":"{\"iqn\":\"kept\",\"chap_secret\":\"hush-2\",\"target\":\"hidden\"}"`,
		`"request":"{\"password\":\"hush-2 \\\"quoted\\\" hush\"}"`,
		`{"user":"kept","password":"hush \"quoted\" hush"}`,
		`{"password":"hush\\","user":"kept"}`,
		`"secrets":["hush","hush"]`,
		`"user":"kept","token":{"value":"hush"}`,
		`password=hu,hush;hush}hush kept`,
		`smbmap --password -hush kept`,
		`ConvertTo-SecureString -AsPlainText -Force -String "hush"`,
		`DefaultEndpointsProtocol=https;AccountName=kept;AccountKey=hush-3==;EndpointSuffix=hidden`,
		`csi-proxyctl smb map --user kept --password hush-4 --password-file kept`,
		`New-SmbGlobalMapping -Credential kept -Password 'hush-5 with spaces' -RemotePath kept`,
		`ConvertTo-SecureString "hush-6" -AsPlainText`,
		`Authorization: Bearer hush-7.hush.hush kept`,
		`GET https://kept.blob.core.windows.net/c?sv=kept&sig=hush-8%3D&se=kept`,
		`mount https://kept:hush-9@kept/share`,
		"kept\n-----BEGIN RSA PRIVATE KEY-----\nhush-10\n-----END RSA PRIVATE KEY-----\nkept",
		`secretToken: hush-11`,
		`PASSWORD=hush-12 kept`,
		`password="hush-13 \"quoted\" hush" kept`,
		`key ` + strings.Repeat("hush", 21) + `ab== kept`,
	}
	for _, line := range lines {
		got := redact.WithoutSecrets(line)
		if strings.Contains(got, "hush") || !strings.Contains(got, "[removed]") {
			t.Errorf("%s\nbecomes\n%s", line, got)
		}
		if strings.Count(got, "kept") != strings.Count(line, "kept") && !strings.Contains(line, "-Credential") {
			t.Errorf("%s\nloses more than the secret:\n%s", line, got)
		}
	}
	const plain = `I1122 15:04:05 call.go:88] "call" method="/v1.Disk/ListDiskIDs" duration="1ms" passwordless path="C:\\var\\lib"`
	if got := redact.WithoutSecrets(plain); got != plain {
		t.Errorf("got %s", got)
	}
}
