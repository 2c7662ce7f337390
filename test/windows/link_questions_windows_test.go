// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func linkQuestions() []Question {
	return []Question{
		{16, `Does a directory link to \\server\share\directory\ work on the host?`, askLinkToShare},
	}
}

func askLinkToShare(q *inquiry) {
	share, answers := q.mapped(true), note(q, map[string]string{})
	q.check(os.Mkdir(share.Remote+`\directory`, 0o700))
	q.check(os.WriteFile(share.Remote+`\directory\file`, []byte("shared"), 0o600))
	for name, target := range map[string]string{
		"plain": share.Remote + `\directory\`, "plain, no backslash at the end": share.Remote + `\directory`,
		"UNC form": root(share) + `directory\`,
	} {
		link := filepath.Join(q.TempDir(), "link")
		names, err := wide(link, target)
		q.check(err)
		if err := windows.CreateSymbolicLink(names[0], names[1], windows.SYMBOLIC_LINK_FLAG_DIRECTORY); err != nil {
			answers[name] = "made: " + err.Error()
			continue
		}
		content, err := os.ReadFile(link + `\file`)
		answers[name] = fmt.Sprintf("%q %v", content, err)
	}
}
