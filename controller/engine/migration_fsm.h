/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of a migration of a running task, as data.
 *
 *   none --migrate--> migrating --migrate-done--> done --migrate--> migrating
 *                               --migrate-failed--> failed
 */
enum migration_state {
	MIGRATION_NONE = 0,  /* the task was never migrated */
	MIGRATION_MIGRATING, /* the backend was asked to move VMs */
	MIGRATION_DONE,      /* all VMs are where they were to go */
	MIGRATION_FAILED,    /* some VM stayed, or all did */
	MIGRATION_OVER,      /* the task ended, or its attempt was lost, before */
	MIGRATION_STATES,
};

enum migration_event {
	MIGRATION_MIGRATE = 0, /* the backend is asked to move VMs */
	MIGRATION_MIGRATE_DONE,
	MIGRATION_MIGRATE_FAILED,
	MIGRATION_END, /* the task has ended, or its attempt is lost */
	MIGRATION_EVENTS,
};

/* The table. */
extern const struct fsm migration_fsm;
