/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Query parameters of a target: each at most once, known to the route, and numbers in range. */
#include <inttypes.h>
#include <libsoup/soup.h>
#include <string.h>

#include "common/http_private.h"
#include "common/read_number.h"

/* Whether a list of words, separated by spaces, has `name`. */
static bool is_known(const char *known, const char *name)
{
	g_auto(GStrv) words = g_strsplit(known, " ", -1);

	return g_strv_contains((const char *const *)words, name);
}

/* The decoded name of "NAME=VALUE"; NULL: malformed. */
static char *read_name(const char *parameter)
{
	g_autoptr(GHashTable) one = soup_form_decode(parameter);
	GHashTableIter all;
	gpointer name;

	g_hash_table_iter_init(&all, one);
	if (strstr(parameter, "%00") || !g_hash_table_iter_next(&all, &name, NULL))
		return NULL;
	return g_strdup(name);
}

char *http_query_fault(const char *query, const char *known)
{
	g_auto(GStrv) parameters = g_strsplit(query ?: "", "&", -1);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (char **parameter = parameters; *parameter; parameter++) {
		g_autofree char *name = **parameter ? read_name(*parameter) : NULL;

		if (!**parameter)
			continue;
		if (!name)
			return g_strdup_printf("query: '%.64s' is not NAME=VALUE", *parameter);
		if (!is_known(known ?: "", name))
			return known ? g_strdup_printf(
					       "query: unknown parameter '%.32s'; known: %s", name,
					       known)
				     : g_strdup_printf(
					       "query: unknown parameter '%.32s'; this takes none",
					       name);
		if (g_hash_table_contains(seen, name))
			return g_strdup_printf("query: %s: it is given twice", name);
		g_hash_table_add(seen, g_steal_pointer(&name));
	}
	return NULL;
}

const char *http_request_query(struct http_request *request, const char *key)
{
	return request->query ? g_hash_table_lookup(request->query, key) : NULL;
}

bool http_request_query_integer(struct http_request *request, const char *key, uint64_t least,
				uint64_t most, uint64_t otherwise, uint64_t *ret_value)
{
	const char *text = http_request_query(request, key);
	uint64_t value = otherwise;

	if (text && !read_number_unsigned(text, least, most, &value))
		return http_request_fail(request, 400,
					 "query: %s: '%.32s' is not a whole number from %" PRIu64
					 " to %" PRIu64,
					 key, text, least, most);
	*ret_value = value;
	return true;
}

bool http_request_query_real(struct http_request *request, const char *key, double least,
			     double most, double otherwise, double *ret_value)
{
	const char *text = http_request_query(request, key);
	double value = otherwise;

	if (text && !read_number(text, least, most, &value))
		return http_request_fail(request, 400,
					 "query: %s: '%.32s' is not a number from %g to %g", key,
					 text, least, most);
	*ret_value = value;
	return true;
}
