/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/number_option.h"

#include "common/error_fail.h"
#include "common/read_number.h"

/* The beginning of a text, for quoting in a message. */
static char *quote(const char *text)
{
	g_autofree char *start = g_strndup(text, 40);

	return g_utf8_make_valid(start, -1);
}

bool number_option(const char *option, const char *text, double min, double max, double *ret_value,
		   GError **error)
{
	g_autofree char *quoted = NULL;

	if (!text || read_number(text, min, max, ret_value))
		return true;
	quoted = quote(text);
	return error_fail(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			  "%s: \"%s\" is no number from %.10g to %.10g", option, quoted, min, max);
}

bool number_option_integer(const char *option, const char *text, int64_t min, int64_t max,
			   int64_t *ret_value, GError **error)
{
	g_autofree char *quoted = NULL;

	if (!text || read_number_integer(text, min, max, ret_value))
		return true;
	quoted = quote(text);
	return error_fail(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			  "%s: \"%s\" is no whole number from %" G_GINT64_FORMAT
			  " to %" G_GINT64_FORMAT,
			  option, quoted, min, max);
}

bool number_option_unsigned(const char *option, const char *text, uint32_t min, uint32_t max,
			    uint32_t *ret_value, GError **error)
{
	int64_t value = 0;

	if (!text)
		return true;
	if (!number_option_integer(option, text, min, max, &value, error))
		return false;
	*ret_value = (uint32_t)value;
	return true;
}
