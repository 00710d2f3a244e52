/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdlib.h>

#include "local-sched/lab/lab_cli.h"
#include "local-sched/lab/lab_roles.h"

/* libvirtd and ip are in sbin, which may not be in a user's PATH under sudo. */
static void complete_path(void)
{
	const char *path = getenv("PATH");
	g_autofree char *complete = g_strconcat(path ? path : "/usr/bin:/bin",
						":/usr/local/sbin:/usr/sbin:/sbin", NULL);

	g_setenv("PATH", complete, TRUE);
}

int main(int argc, char **argv)
{
	int status;

	complete_path();
	status = lab_roles_main(argc, argv);
	return status >= 0 ? status : lab_cli_main(argc, argv);
}
