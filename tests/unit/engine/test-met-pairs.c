/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene of the engine meets every pair of state and event of its tables. */
#include <glib.h>

#include "controller/engine/migration_fsm.h"
#include "controller/engine/node_fsm.h"
#include "controller/engine/request_fsm.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/window_fsm.h"
#include "tests/unit/met_pairs_test.h"

int main(int argc, char **argv)
{
	static const struct met_pairs_table tables[] = {
		{.fsm = &engine_task_fsm}, {.fsm = &suspension_fsm}, {.fsm = &resumption_fsm},
		{.fsm = &migration_fsm},   {.fsm = &request_fsm},    {.fsm = &node_fsm},
		{.fsm = &window_fsm},
	};

	return met_pairs_test_main(argc, argv, tables, G_N_ELEMENTS(tables));
}
