/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/fail.h"

bool fail_with(GError **error, GQuark domain, int code, const char *format, ...)
{
	va_list arguments;

	if (error) {
		va_start(arguments, format);
		*error = g_error_new_valist(domain, code, format, arguments);
		va_end(arguments);
	}
	return false;
}
