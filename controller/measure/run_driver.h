/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * The measured runs: every repeat of every limit of every policy, with repeats as the outermost
 * loop and policies as the innermost, so that the runs of compared policies lie close together; or,
 * until a verdict, in the order that run_until_verdict.h describes. All runs have the same arrivals.
 *
 * Before each run all nodes are ready and the idle baseline is measured. A run that ended is kept;
 * an interrupted run continues if its tasks still exist (session->go_on, same boot), otherwise it
 * is closed as aborted and repeated. Returns true when all runs have ended.
 */
bool run_driver(struct run_session *session, GError **error);
