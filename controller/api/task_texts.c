/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_texts.h"

#include <string.h>

#include "common/json.h"
#include "controller/api/task_visibility.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_json.h"
#include "controller/engine/engine.h"

/* More tasks than a page shows, with room for numbers that are far from each other. */
#define PLACES 8192

/*
 * The most bytes of all texts, after which the cache is emptied: a text of a task on 4,000 nodes
 * has more than 100,000.
 */
#define BYTES_MAX (32U << 20)

/* The last texts of a task, and a copy of all data that they were made of, which it owns. */
struct cached_task {
	int64_t run;
	int64_t zero_us; /* start of the run by the wall clock */
	uint32_t index;
	struct engine_task task;
	struct sched_task order;
	char *why;
	char *texts[2]; /* complete and hidden; NULL: not made yet */
	gsize bytes;    /* of the memory that it points to */
};

struct task_texts {
	const struct run_session *session;
	gsize bytes; /* of all cached tasks */
	struct cached_task cached[PLACES];
};

struct task_texts *task_texts_new(const struct run_session *session)
{
	struct task_texts *texts = g_new0(struct task_texts, 1);

	texts->session = session;
	return texts;
}

static void cached_clear(struct task_texts *texts, struct cached_task *cached)
{
	texts->bytes -= cached->bytes;
	g_free((uint32_t *)cached->task.nodes);
	g_free((char *)cached->task.reason);
	g_free(cached->why);
	g_free(cached->texts[false]);
	g_free(cached->texts[true]);
	memset(cached, 0, sizeof(*cached));
}

static void clear_all(struct task_texts *texts)
{
	for (gsize i = 0; i < PLACES; i++)
		cached_clear(texts, &texts->cached[i]);
}

void task_texts_free(struct task_texts *texts)
{
	if (!texts)
		return;
	clear_all(texts);
	g_free(texts);
}

static void count_bytes(struct task_texts *texts, struct cached_task *cached, gsize bytes)
{
	cached->bytes += bytes;
	texts->bytes += bytes;
}

/* Compares the whole struct, so that a new field cannot be forgotten. */
static bool is_same(const struct cached_task *cached, const struct engine_task *task,
		    const char *why)
{
	struct engine_task bare;

	memcpy(&bare, task, sizeof(bare));
	bare.task = cached->task.task;
	bare.nodes = cached->task.nodes;
	bare.reason = cached->task.reason;
	return memcmp(&bare, &cached->task, sizeof(bare)) == 0 &&
	       memcmp(&cached->order, task->task, sizeof(cached->order)) == 0 &&
	       (task->nodes_count == 0 || memcmp(cached->task.nodes, task->nodes,
						 task->nodes_count * sizeof(*task->nodes)) == 0) &&
	       g_strcmp0(cached->task.reason, task->reason) == 0 &&
	       g_strcmp0(cached->why, why) == 0;
}

static void note(struct cached_task *cached, const struct engine_task *task, const char *why)
{
	memcpy(&cached->task, task, sizeof(cached->task));
	cached->task.nodes = g_memdup2(task->nodes, task->nodes_count * sizeof(*task->nodes));
	cached->task.reason = g_strdup(task->reason);
	memcpy(&cached->order, task->task, sizeof(cached->order));
	cached->why = g_strdup(why);
}

const char *task_texts_get(struct task_texts *texts, uint32_t index, bool hidden)
{
	const struct run_session *session = texts->session;
	const struct engine_task *task = view_task(session, index);
	struct cached_task *cached = &texts->cached[index % PLACES];
	g_autofree char *why = task_json_why(session, task);
	const int64_t zero_us = view_start_utc_us(session);
	const int64_t run = view_run(session);
	g_autoptr(json_t) json = NULL;

	if (texts->bytes > BYTES_MAX)
		clear_all(texts);
	if (cached->run != run || cached->index != index || cached->zero_us != zero_us ||
	    !is_same(cached, task, why)) {
		cached_clear(texts, cached);
		cached->run = run;
		cached->zero_us = zero_us;
		cached->index = index;
		note(cached, task, why);
		count_bytes(texts, cached, task->nodes_count * sizeof(*task->nodes));
	}
	if (cached->texts[hidden])
		return cached->texts[hidden];
	json = task_json_short(session, task);
	if (hidden)
		task_visibility_hide_task(json);
	cached->texts[hidden] = json_text(json);
	count_bytes(texts, cached, strlen(cached->texts[hidden]));
	return cached->texts[hidden];
}
