/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/migration_fsm.h"

static const char *const state_names[MIGRATION_STATES] = {
	[MIGRATION_NONE] = "none", [MIGRATION_MIGRATING] = "migrating",
	[MIGRATION_DONE] = "done", [MIGRATION_FAILED] = "failed",
	[MIGRATION_OVER] = "over",
};

static const char *const event_names[MIGRATION_EVENTS] = {
	[MIGRATION_MIGRATE] = "migrate",
	[MIGRATION_MIGRATE_DONE] = "migrate-done",
	[MIGRATION_MIGRATE_FAILED] = "migrate-failed",
	[MIGRATION_END] = "end",
};

#define TO(state) FSM_TO(MIGRATION_##state)

static const char not_under_way[] = "the last migration of the task is over";

/*
 * A pair that is not listed is impossible. Reports that are late or repeated do not get here: the
 * state of the task says that they are (task_fsm.h).
 */
static const struct fsm_transition transitions[MIGRATION_EVENTS][MIGRATION_STATES] = {
	[MIGRATION_MIGRATE] = {[MIGRATION_NONE] = TO(MIGRATING),
			       [MIGRATION_DONE] = TO(MIGRATING),
			       [MIGRATION_FAILED] = TO(MIGRATING),
			       [MIGRATION_OVER] = TO(MIGRATING)},
	[MIGRATION_MIGRATE_DONE] = {[MIGRATION_MIGRATING] = TO(DONE)},
	[MIGRATION_MIGRATE_FAILED] = {[MIGRATION_MIGRATING] = TO(FAILED)},
	[MIGRATION_END] = {[MIGRATION_MIGRATING] = TO(OVER),
			   [MIGRATION_DONE] = FSM_IGNORED(not_under_way),
			   [MIGRATION_FAILED] = FSM_IGNORED(not_under_way),
			   [MIGRATION_OVER] = FSM_IGNORED(not_under_way)},
};

const struct fsm migration_fsm = {
	.what = "migration of task",
	.states = MIGRATION_STATES,
	.events = MIGRATION_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};
