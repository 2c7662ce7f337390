// SPDX-License-Identifier: Apache-2.0
//
// What control.txt says about the world. ../README.md lists the lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

LINE *line_about(const CALL *call, const LINE *after, const char *keyword, const WCHAR *first)
{
	LINE *line = control_find(&call->control, after, keyword);
	while (line && _wcsicmp(line->wide[1], first))
		line = control_find(&call->control, line, keyword);
	return line;
}

ULONG number(const char *word)
{
	return strtoul(word, NULL, 0);
}

ULONG answer_to(CALL *call, const char *keyword)
{
	ULONG answer = 0;
	control_answer(&call->control, keyword, call->function, "", &answer);
	return answer;
}

static void portal_of(const LINE *line, int word, ISCSI_TARGET_PORTALW *portal)
{
	ZeroMemory(portal, sizeof *portal);
	lstrcpynW(portal->Address, line->wide[word], MAX_ISCSI_PORTAL_ADDRESS_LEN);
	portal->Socket = (USHORT)number(line->word[word + 1]);
}

// control_events applies the lines that tell what another program did, each once: "registered ADDRESS SOCKET",
// "session TARGET ADDRESS SOCKET" and "login TARGET ADDRESS SOCKET".
void control_events(CALL *call)
{
	for (int i = 0; i < call->control.count; i++) {
		LINE *line = &call->control.lines[i];
		ISCSI_TARGET_PORTALW portal;
		if (line->words == 3 && !strcmp(line->word[0], "registered")) {
			portal_of(line, 1, &portal);
			portal_add(call, L"", ISCSI_ANY_INITIATOR_PORT, &portal);
		} else if (line->words == 4 && !strcmp(line->word[0], "session")) {
			portal_of(line, 2, &portal);
			session_new(call->state, line->wide[1], &portal);
		} else if (line->words == 4 && !strcmp(line->word[0], "login")) {
			portal_of(line, 2, &portal);
			login_add(call, line->wide[1], &portal);
		} else {
			continue;
		}
		control_change(&call->control, line, NULL);
	}
}
