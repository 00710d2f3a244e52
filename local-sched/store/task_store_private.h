/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * What the files of the task store share: task_store.c (the file, VMs, outputs), task_store_load.c
 * (stored tasks), task_store_record.c (writing) and retention.c (removal).
 */
#include "common/sqlite/database.h"
#include "local-sched/store/task_store.h"

struct task_store {
	const struct platform *platform;
	struct database *database;
	char *directory;
	char *incarnation;
	int lock_fd;
	uint64_t last_event;
	GQueue pending; /* of struct task_store_write: not written yet, oldest first */
	bool complained;
};

/* A row of the table `events`. */
struct task_store_row {
	int64_t seq;
	int64_t t_ns;
	char *kind;
	char *task;
	int64_t node; /* -1: none */
	char *host;
	char *detail; /* JSON */
};

/* Something to be written: the state of a task, an event, or both. */
struct task_store_write {
	char *task_id; /* NULL: no task to update */
	char *task_state;
	char *task_record;
	struct task_store_row event; /* seq 0: none */
};

/* Frees an element of `pending`. */
void task_store_write_free(gpointer write);

/* The path of a file of task `id`. The caller frees it. */
char *task_store_file_path(const struct task_store *store, const char *id, const char *ending);
