// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

func fileQuestions() []Question {
	return []Question{
		{53, "What do opening, reading and removing a file come to that an antivirus program blocks?", askBlockedFile},
		{54, "Which information classes does a directory of FAT32 know, FileAttributeTagInfo among them?", askFAT32},
	}
}

// testVirus returns EICAR's test file, which every antivirus program takes for a virus. It is put together here so that
// none takes this test for one. https://www.eicar.org/download-anti-malware-testfile/
func testVirus() string {
	return `X5O!P%@AP[4\PZX54(P^)7CC)7}$` + strings.Join([]string{"EICAR-STANDARD", "ANTIVIRUS", "TEST-FILE!$H+H*"}, "-")
}

func askBlockedFile(t testing.TB, s Subject) (any, error) {
	dir := mountParent + `\` + machine.RandomName()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	file := dir + `\file`
	answers := map[string]string{}
	answers["write"] = fmt.Sprint(os.WriteFile(file, []byte(testVirus()), 0o600))
	_, err := os.ReadFile(file)
	answers["read"] = fmt.Sprint(err)
	for name, access := range map[string]uint32{
		"open to read its attributes": win32.FILE_READ_ATTRIBUTES, "open to remove": win32.DELETE,
	} {
		h, err := s.Kernel.OpenFile(nil, `\\?\`+file, kernel.OpenOptions{Access: access, Share: shareAll,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT})
		if err == nil {
			_ = h.Close()
		}
		answers[name] = verdict(err)
	}
	n, err := node.New(s.Kernel, node.Config{WorkingDirs: []string{mountParent}})
	if err != nil {
		return answers, err
	}
	answers["RmdirContents"] = verdict(n.For(operation.Everything()).Filesystem.RmdirContents(t.Context(), dir))
	_, err = os.Lstat(file)
	answers["there then"] = fmt.Sprint(err)
	return answers, nil
}

func askFAT32(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	volume, err := volumeAt(s, d, p.StartingOffset)
	if err != nil {
		return nil, err
	}
	if _, err := runTool("format.com", nil, strings.TrimSuffix(volume, `\`), "/FS:FAT32", "/Q", "/Y", "/V:"); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for name, path := range map[string]string{"the root": volume, "a directory": volume + "directory"} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return answers, err
		}
		h, err := openDirectory(s, nil, path)
		if err != nil {
			return answers, errors.Join(err, fmt.Errorf("opening %s", name))
		}
		for class, number := range map[string]uint32{
			"FileAttributeTagInfo": win32.FileAttributeTagInfo, "FileBasicInfo": win32.FileBasicInfo,
			"FileFullDirectoryRestartInfo": win32.FileFullDirectoryRestartInfo,
		} {
			answers[name+", "+class] = verdict(h.Information(number, make([]byte, 4096)))
		}
		_ = h.Close()
	}
	return answers, nil
}
