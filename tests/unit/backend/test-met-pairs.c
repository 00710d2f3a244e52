/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene of the remote backend meets every pair of state and event of its tables. */
#include <glib.h>

#include "controller/backend/attempt_fsm.h"
#include "controller/backend/operation_fsm.h"
#include "tests/unit/met_pairs_test.h"

int main(int argc, char **argv)
{
	static const struct met_pairs_table tables[] = {
		{.fsm = &attempt_fsm},
		{.fsm = &operation_fsm},
	};

	return met_pairs_test_main(argc, argv, tables, G_N_ELEMENTS(tables));
}
