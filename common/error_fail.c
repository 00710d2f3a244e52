/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/error_fail.h"

bool error_fail(GError **error, GQuark domain, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (error)
		*error = g_error_new_valist(domain, code, format, arguments);
	va_end(arguments);
	return false;
}
