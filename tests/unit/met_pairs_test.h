/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "common/fsm.h"

/*
 * A test of tables: each pair of state and event that moves on or is ignored is met by one of some
 * test programs, or is listed with the reason why no program meets it. The list can only shrink: a
 * listed pair that is met fails the test. The programs note what they meet (met_pairs.h).
 */

/* A pair that no test program meets. */
struct met_pairs_unmet {
	unsigned int state, event;
	const char *because;
};

struct met_pairs_table {
	const struct fsm *fsm;
	const struct met_pairs_unmet *unmet; /* unmet_count of them */
	size_t unmet_count;
};

/*
 * The main() of such a test, with a case for each table. The arguments are the programs, which it
 * runs once, one after another.
 */
int met_pairs_test_main(int argc, char **argv, const struct met_pairs_table *tables, size_t count);
