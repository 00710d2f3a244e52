/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* What retention.c (removal) shares with task_store.c. */
#include "common/sqlite/database.h"
#include "local-sched/store/task_store.h"

struct task_store {
	const struct platform *platform;
	struct database *database;
	char *directory;
	char *incarnation;
	int lock_fd;
	uint64_t last_event;
	GQueue pending; /* of struct pending_write: not written yet, oldest first */
	bool complained;
};

/* The path of a file of task `id`. The caller frees it. */
char *task_store_file_path(const struct task_store *store, const char *id, const char *ending);
