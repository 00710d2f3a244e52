/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * The measured runs: every repeat of every limit of every policy, in this order from the outside
 * in, so that policies that are compared ran close to one another. All meet the same arrivals.
 *
 * Before each run all nodes are ready and the idle baseline is metered. A run that ended stays as
 * it is; one that was interrupted goes on where its tasks are still there (session->go_on, same
 * boot), otherwise it is closed as aborted and done anew. Returns true when all runs have ended.
 */
bool run_driver(struct run_session *session, GError **error);
