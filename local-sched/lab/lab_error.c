/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_error.h"

#include <errno.h>

G_DEFINE_QUARK(virtbed-lab, lab_error)

bool lab_error_set_errno(GError **error, const char *doing, const char *what)
{
	const int number = errno;

	g_set_error(error, LAB_ERROR, LAB_ERROR_START, "cannot %s \"%s\": %s", doing, what,
		    g_strerror(number));
	errno = number;
	return false;
}
