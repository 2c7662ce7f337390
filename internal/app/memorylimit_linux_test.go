// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"
	"testing/fstest"
)

// TestCgroupBound has the files in the forms of the manual pages cgroups(7) and proc_pid_mountinfo(5).
func TestCgroupBound(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mounted := func(root string) string {
		return "35 25 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" + "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"36 25 0:31 " + root + " /sys/fs/cgroup/memory rw,nosuid shared:14 - cgroup cgroup rw,memory\n"
	}
	const docker = "/docker/4ca1"
	for name, c := range map[string]struct {
		cgroup, mountinfo string
		limits            map[string]string
		want              uint64
		by                string
	}{
		"v2, a unit": {"0::/system.slice/csi.service\n", v2, map[string]string{
			"sys/fs/cgroup/system.slice/csi.service/memory.max": "268435456\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 256 << 20, "/sys/fs/cgroup/system.slice/csi.service/memory.max"},
		"v2, a parent has less": {"0::/pods/one\n", v2, map[string]string{
			"sys/fs/cgroup/pods/one/memory.max": "max\n", "sys/fs/cgroup/pods/memory.max": "1048576\n",
		}, 1 << 20, "/sys/fs/cgroup/pods/memory.max"},
		"v2, a parent has more": {"0::/pods/one\n", v2, map[string]string{
			"sys/fs/cgroup/pods/one/memory.max": "4096\n", "sys/fs/cgroup/pods/memory.max": "1048576\n",
		}, 4096, "/sys/fs/cgroup/pods/one/memory.max"},
		"v2, both have limits, the parent less": {"0::/pods/one\n", v2, map[string]string{
			"sys/fs/cgroup/pods/one/memory.max": "1048576\n", "sys/fs/cgroup/pods/memory.max": "4096\n",
		}, 4096, "/sys/fs/cgroup/pods/memory.max"},
		"v2, a container with its own namespace": {"0::/\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "5242880\n"}, 5 << 20, "/sys/fs/cgroup/memory.max"},
		"v2, no limit":                           {"0::/user.slice\n", v2, map[string]string{"sys/fs/cgroup/user.slice/memory.max": "max\n"}, 0, ""},
		"v1": {"5:cpu:/other\n4:hugetlb,memory:/csi\n0::/\n", mounted("/"), map[string]string{
			"sys/fs/cgroup/memory/csi/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 256 << 20, "/sys/fs/cgroup/memory/csi/memory.limit_in_bytes"},
		"v1, no limit":    {"4:memory:/\n", mounted("/"), map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, ""},
		"v1, a container": {"4:memory:" + docker + "\n", mounted(docker), map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"v1, a group whose name begins like the mount's": {"4:memory:" + docker + "23/x\n", mounted(docker), map[string]string{
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n", "sys/fs/cgroup/memory/23/x/memory.limit_in_bytes": "1\n",
		}, 4096, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"both, memory in v1": {"4:memory:/csi\n0::/csi\n", v2 + mounted("/"), map[string]string{
			"sys/fs/cgroup/memory/csi/memory.limit_in_bytes": "8192\n",
		}, 8192, "/sys/fs/cgroup/memory/csi/memory.limit_in_bytes"},
		"v2, a group outside the namespace": {"0::/../../other\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "4096\n"}, 4096, "/sys/fs/cgroup/memory.max"},
		"no cgroups":                        {"", "", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.cgroup)}, "proc/self/mountinfo": {Data: []byte(c.mountinfo)}}
			for file, text := range c.limits {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := cgroupBound(root)
			if want := (memoryBound{c.want, c.by}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}
