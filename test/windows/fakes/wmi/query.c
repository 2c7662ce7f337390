// SPDX-License-Identifier: Apache-2.0
//
// The subset of WQL that this fake answers: SELECT * or columns FROM class [WHERE property = constant AND …], with = and
// <>. https://learn.microsoft.com/windows/win32/wmisdk/wql-sql-for-wmi, and the page of its WHERE clause for strings: a
// backslash or a quote in one stands behind a backslash. Anything else is WBEM_E_INVALID_QUERY and a violation.

#include "wmi.h"

#include <stdio.h>
#include <wctype.h>

enum token { END, NAME, STRING, SYMBOL, BAD };

struct lexer {
	const wchar_t *rest;
	wchar_t text[1024];
};

static enum token next(struct lexer *lexer)
{
	const size_t size = sizeof lexer->text / sizeof *lexer->text - 1;
	size_t length = 0;
	enum token token = SYMBOL;
	while (iswspace(*lexer->rest))
		lexer->rest++;
	if (!*lexer->rest)
		return END;
	wchar_t first = *lexer->rest;
	if (iswalnum(first) || first == L'_' || first == L'-') {
		for (; (iswalnum(*lexer->rest) || *lexer->rest == L'_' || *lexer->rest == L'-') && length < size; lexer->rest++)
			lexer->text[length++] = *lexer->rest;
		token = NAME;
	} else if (first == L'\'' || first == L'"') {
		for (lexer->rest++; *lexer->rest && *lexer->rest != first && length < size; lexer->rest++) {
			if (*lexer->rest == L'\\') {
				lexer->rest++;
				if (!wcschr(L"\\\"'", *lexer->rest) || !*lexer->rest)
					return BAD;
			}
			lexer->text[length++] = *lexer->rest;
		}
		if (*lexer->rest++ != first)
			return BAD;
		token = STRING;
	} else {
		lexer->text[length++] = *lexer->rest++;
		if ((first == L'<' && *lexer->rest == L'>') || (first == L'!' && *lexer->rest == L'='))
			lexer->text[length++] = *lexer->rest++;
	}
	lexer->text[length] = 0;
	return token;
}

static bool is(enum token token, const struct lexer *lexer, enum token kind, const wchar_t *text)
{
	return token == kind && _wcsicmp(lexer->text, text) == 0;
}

static void copy(wchar_t *to, size_t size, const wchar_t *from)
{
	_snwprintf(to, size - 1, L"%ls", from);
	to[size - 1] = 0;
}

HRESULT parse_query(const wchar_t *text, struct query *query)
{
	struct lexer lexer = {text, {0}};
	memset(query, 0, sizeof *query);
	if (!is(next(&lexer), &lexer, NAME, L"SELECT"))
		goto invalid;
	enum token token = next(&lexer);
	if (is(token, &lexer, SYMBOL, L"*")) {
		token = next(&lexer);
	} else {
		for (;; token = next(&lexer)) {
			if (token != NAME || query->columns == sizeof query->column / sizeof *query->column)
				goto invalid;
			copy(query->column[query->columns++], 64, lexer.text);
			token = next(&lexer);
			if (!is(token, &lexer, SYMBOL, L","))
				break;
		}
	}
	if (!is(token, &lexer, NAME, L"FROM") || next(&lexer) != NAME)
		goto invalid;
	copy(query->class, 64, lexer.text);
	token = next(&lexer);
	if (token == END)
		return S_OK;
	if (!is(token, &lexer, NAME, L"WHERE"))
		goto invalid;
	do {
		struct term *term = &query->term[query->terms];
		if (query->terms++ == MAX_TERMS || next(&lexer) != NAME)
			goto invalid;
		copy(term->name, 64, lexer.text);
		token = next(&lexer);
		if (token != SYMBOL || (wcscmp(lexer.text, L"=") && wcscmp(lexer.text, L"<>") && wcscmp(lexer.text, L"!=")))
			goto invalid;
		term->unequal = wcscmp(lexer.text, L"=") != 0;
		token = next(&lexer);
		if (token != NAME && token != STRING)
			goto invalid;
		term->quoted = token == STRING;
		copy(term->text, 1024, lexer.text);
		token = next(&lexer);
	} while (is(token, &lexer, NAME, L"AND"));
	if (token == END)
		return S_OK;
invalid:
	violation(L"WQL that is malformed or not part of this fake: %ls", text);
	return WBEM_E_INVALID_QUERY;
}

static bool has_property(const struct class *class, const wchar_t *name)
{
	for (const struct property *property = class->properties; property->name; property++)
		if (_wcsicmp(property->name, name) == 0)
			return true;
	return wcsncmp(name, L"__", 2) == 0;
}

HRESULT run_query(const wchar_t *space, const struct query *query, bool ensure_locatable, struct rows *rows)
{
	const struct class *class = find_class(space, query->class);
	if (!class) {
		violation(L"a query of %ls: there is no such class in %ls", query->class, space);
		return WBEM_E_INVALID_CLASS;
	}
	for (size_t i = 0; i < query->columns + query->terms; i++) {
		const wchar_t *name = i < query->columns ? query->column[i] : query->term[i - query->columns].name;
		if (!has_property(class, name)) {
			violation(L"a query names %ls, which %ls does not have", name, class->name);
			return WBEM_E_INVALID_QUERY;
		}
	}
	HRESULT result = S_OK;
	struct rows all = {0};
	if (class->instances)
		class->instances(&all);
	for (size_t i = 0; i < all.count; i++) {
		bool matches = true;
		for (size_t t = 0; t < query->terms && matches; t++) {
			struct field *field = find_field(all.items[i], query->term[t].name);
			matches = field && equal(field, &query->term[t], &result) != query->term[t].unequal;
		}
		if (!matches)
			continue;
		if (query->columns)
			keep_fields(all.items[i], (wchar_t(*)[64])query->column, query->columns, ensure_locatable);
		IWbemClassObject_AddRef(&all.items[i]->IWbemClassObject_iface);
		append_row(rows, all.items[i]);
	}
	free_rows(&all);
	if (FAILED(result))
		free_rows(rows);
	return result;
}
