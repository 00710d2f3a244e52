/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_error.h"

#include <errno.h>
#include <stdarg.h>

G_DEFINE_QUARK(virtbed_lab, lab_error)

bool lab_error_set_errno(GError **error, const char *doing, const char *what)
{
	const int number = errno;

	g_set_error(error, LAB_ERROR, LAB_ERROR_START, "cannot %s \"%s\": %s", doing, what,
		    g_strerror(number));
	errno = number;
	return false;
}

bool lab_error_set(GError **error, enum lab_error code, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, LAB_ERROR, (int)code, text);
	return false;
}
