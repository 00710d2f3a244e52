/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_roles.h"

#include <string.h>

int lab_roles_main(int argc, char **argv)
{
	if (argc < 3 || strncmp(argv[1], "--role=", 7) != 0)
		return -1;
	if (strcmp(argv[1], "--role=supervisor") == 0)
		return lab_supervisor_main(argv[2]);
	if (strcmp(argv[1], "--role=fabric") == 0)
		return lab_network_main(argv[2]);
	if (strcmp(argv[1], "--role=blade") == 0 && argc == 4)
		return lab_blade_main(argv[2], argv[3]);
	if (strcmp(argv[1], "--role=redfish") == 0 && argc == 4)
		return lab_redfish_main(argv[2], argv[3]);
	return -1;
}
