/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene meets every pair of state and event of a task in a local scheduler. */
#include <glib.h>

#include "local-sched/launch/task_fsm.h"
#include "tests/unit/met_pairs_test.h"

int main(int argc, char **argv)
{
	static const struct met_pairs_table tables[] = {
		{.fsm = &task_fsm},
	};

	return met_pairs_test_main(argc, argv, tables, G_N_ELEMENTS(tables));
}
