/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/* Pairs of state and event that a test program meets (met_pairs.c); met_pairs_test.h reads them. */

/*
 * Notes a pair that a program meets other than by fsm_move(), whose calls are noted by themselves.
 * On any thread.
 */
void met_pairs_note(const struct fsm *fsm, unsigned int state, unsigned int event);
