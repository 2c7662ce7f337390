// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func fileQuestions() []Question {
	return []Question{
		{53, "What do opening, reading and removing a file come to that an antivirus program blocks?", askBlockedFile},
		{54, "Which information classes does a directory of FAT32 know, FileAttributeTagInfo among them?", askFAT32},
		{57, "What removes a file, and opens it, whose access list leaves this user out, in a directory of this user's?",
			askShutOut},
	}
}

// testVirus returns EICAR's test file, which every antivirus program takes for a virus. It is put together here so that
// none takes this test for one. https://www.eicar.org/download-anti-malware-testfile/
func testVirus() string {
	return `X5O!P%@AP[4\PZX54(P^)7CC)7}$` + strings.Join([]string{"EICAR-STANDARD", "ANTIVIRUS", "TEST-FILE!$H+H*"}, "-")
}

func askBlockedFile(q *inquiry) {
	dir, answers := mountParent+`\`+machine.RandomName(), note(q, map[string]string{})
	q.check(os.Mkdir(dir, 0o700))
	file := dir + `\file`
	answers["write"] = fmt.Sprint(os.WriteFile(file, []byte(testVirus()), 0o600))
	_, err := os.ReadFile(file)
	answers["read"] = fmt.Sprint(err)
	for name, access := range map[string]uint32{
		"open to read its attributes": win32.FILE_READ_ATTRIBUTES, "open to remove": win32.DELETE,
	} {
		h, err := q.Kernel.OpenFile(nil, `\\?\`+file, kernel.OpenOptions{Access: access, Share: shareAll,
			Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT})
		if err == nil {
			_ = h.Close()
		}
		answers[name] = verdict(err)
	}
	answers["RmdirContents"] = verdict(q.agent().RmdirContents(dir))
	_, err = os.Lstat(file)
	answers["there then"] = fmt.Sprint(err)
}

// askShutOut has Windows' own rmdir and Go's RemoveAll for witnesses. https://github.com/golang/go/issues/77402
func askShutOut(q *inquiry) {
	dir, answers := mountParent+`\`+machine.RandomName(), note(q, map[string]string{})
	n := q.agent()
	shut := func(name string) (path, file string) {
		path = dir + `\` + name
		file = path + `\file`
		q.check(os.MkdirAll(path, 0o700))
		q.check(os.WriteFile(file, nil, 0o600))
		_, err := runTool("icacls.exe", nil, file, "/inheritance:r", "/grant", "*S-1-5-93-2-1:F")
		q.check(err)
		return path, file
	}
	_, file := shut("opened")
	for name, how := range map[string]kernel.OpenOptions{
		"DELETE alone":                         {Access: win32.DELETE, Asynchronous: true},
		"FILE_READ_ATTRIBUTES alone":           {Access: win32.FILE_READ_ATTRIBUTES, Asynchronous: true},
		"DELETE and FILE_READ_ATTRIBUTES":      {Access: win32.DELETE | win32.FILE_READ_ATTRIBUTES, Asynchronous: true},
		"DELETE and SYNCHRONIZE":               {Access: win32.DELETE},
		"FILE_READ_ATTRIBUTES and SYNCHRONIZE": {Access: win32.FILE_READ_ATTRIBUTES},
	} {
		how.Share, how.Disposition, how.Options = shareAll, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT
		h, err := q.Kernel.OpenFile(nil, `\\?\`+file, how)
		if err == nil {
			_ = h.Close()
		}
		answers[name] = verdict(err)
	}
	for name, remove := range map[string]func(path string) error{
		"rmdir /s": func(path string) error {
			_, err := runTool("cmd.exe", nil, "/d", "/c", "rmdir", "/s", "/q", path)
			return err
		},
		"RemoveAll": os.RemoveAll,
		"Rmdir":     func(path string) error { return n.Rmdir(path, true) },
	} {
		path, file := shut(machine.RandomName())
		exists, err := n.PathExists(file)
		answers[name+", there before"] = fmt.Sprint(exists, err)
		answers[name] = verdict(remove(path))
		_, err = os.Lstat(path)
		answers[name+", there then"] = fmt.Sprint(!os.IsNotExist(err))
	}
	q.check(n.Rmdir(dir, true))
}

func askFAT32(q *inquiry) {
	answers := note(q, map[string]string{})
	volume, _ := q.rawVolume(q.attach().Number())
	_, err := runTool("format.com", nil, strings.TrimSuffix(volume, `\`), "/FS:FAT32", "/Q", "/Y", "/V:")
	q.check(err)
	for name, path := range map[string]string{"the root": volume, "a directory": volume + "directory"} {
		q.check(os.MkdirAll(path, 0o700))
		h, err := q.openDirectory(nil, path)
		answers["opening "+name] = verdict(err)
		q.check(err)
		for class, number := range map[string]uint32{
			"FileAttributeTagInfo": win32.FileAttributeTagInfo, "FileBasicInfo": win32.FileBasicInfo,
			"FileFullDirectoryRestartInfo": win32.FileFullDirectoryRestartInfo,
		} {
			answers[name+", "+class] = verdict(h.Information(number, make([]byte, 4096)))
		}
		_ = h.Close()
	}
}
