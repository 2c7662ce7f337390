// SPDX-License-Identifier: Apache-2.0

package doctor

// privileges judges the account that the agent runs as.
func privileges(f Facts) []Finding {
	var findings []Finding
	for _, p := range f.Inspected.GetMissingPrivileges() {
		findings = append(findings, Finding{
			Severity: Problem, Check: "missing-privilege", What: "the agent's account lacks a privilege for " + p.GetNeededFor(),
			Evidence: []string{p.GetName() + " (" + p.GetUserRight() + "): not in the token of the agent's process"},
			Do: []string{
				`run the agent as LocalSystem; in a HostProcess pod that is runAsUserName: NT AUTHORITY\SYSTEM`,
				"or grant its account this user right, and start the agent again",
				"if it is a service, see whether it is limited to some privileges: sc qprivs csiproxy",
			},
		})
	}
	return findings
}
