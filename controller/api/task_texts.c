/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_texts.h"

#include <string.h>

#include "common/json.h"
#include "controller/api/task_visibility.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_api.h"
#include "controller/engine/engine.h"

/* More than a page shows, with room for numbers that are far apart. */
#define PLACES 8192

/* Of all of them together, beyond which all are forgotten: a text of a task on 4,000 nodes has more than 100,000. */
#define BYTES_MAX (32U << 20)

/* A task as it was told last, and all that it was told from. What it points to is its own. */
struct told {
	int64_t run;
	int64_t zero_us; /* of the run, by the wall clock */
	uint32_t index;
	struct engine_task task;
	struct sched_task order;
	char *why;
	char *texts[2]; /* whole and hidden; NULL: not yet */
	gsize bytes;    /* of what it points to */
};

struct task_texts {
	const struct run_session *session;
	gsize bytes; /* of all that is told */
	struct told told[PLACES];
};

struct task_texts *task_texts_new(const struct run_session *session)
{
	struct task_texts *texts = g_new0(struct task_texts, 1);

	texts->session = session;
	return texts;
}

static void told_clear(struct task_texts *texts, struct told *told)
{
	texts->bytes -= told->bytes;
	g_free((uint32_t *)told->task.nodes);
	g_free((char *)told->task.reason);
	g_free(told->why);
	g_free(told->texts[false]);
	g_free(told->texts[true]);
	memset(told, 0, sizeof(*told));
}

static void clear_all(struct task_texts *texts)
{
	for (gsize i = 0; i < PLACES; i++)
		told_clear(texts, &texts->told[i]);
}

void task_texts_free(struct task_texts *texts)
{
	if (!texts)
		return;
	clear_all(texts);
	g_free(texts);
}

static void count(struct task_texts *texts, struct told *told, gsize bytes)
{
	told->bytes += bytes;
	texts->bytes += bytes;
}

/* By all that there is, so that nothing which comes to be told is forgotten here. */
static bool is_same(const struct told *told, const struct engine_task *task, const char *why)
{
	struct engine_task bare;

	memcpy(&bare, task, sizeof(bare));
	bare.task = told->task.task;
	bare.nodes = told->task.nodes;
	bare.reason = told->task.reason;
	return memcmp(&bare, &told->task, sizeof(bare)) == 0 &&
	       memcmp(&told->order, task->task, sizeof(told->order)) == 0 &&
	       (task->nodes_count == 0 ||
		memcmp(told->task.nodes, task->nodes, task->nodes_count * sizeof(*task->nodes)) == 0) &&
	       g_strcmp0(told->task.reason, task->reason) == 0 && g_strcmp0(told->why, why) == 0;
}

static void note(struct told *told, const struct engine_task *task, const char *why)
{
	memcpy(&told->task, task, sizeof(told->task));
	told->task.nodes = g_memdup2(task->nodes, task->nodes_count * sizeof(*task->nodes));
	told->task.reason = g_strdup(task->reason);
	memcpy(&told->order, task->task, sizeof(told->order));
	told->why = g_strdup(why);
}

const char *task_texts_get(struct task_texts *texts, uint32_t index, bool hidden)
{
	const struct run_session *session = texts->session;
	const struct engine_task *task = engine_task(session->engine, index);
	struct told *told = &texts->told[index % PLACES];
	g_autofree char *why = task_api_why(session, index);
	const int64_t zero_us = api_zero_us(session);
	g_autoptr(json_t) json = NULL;

	if (texts->bytes > BYTES_MAX)
		clear_all(texts);
	if (told->run != session->run || told->index != index || told->zero_us != zero_us ||
	    !is_same(told, task, why)) {
		told_clear(texts, told);
		told->run = session->run;
		told->zero_us = zero_us;
		told->index = index;
		note(told, task, why);
		count(texts, told, task->nodes_count * sizeof(*task->nodes));
	}
	if (told->texts[hidden])
		return told->texts[hidden];
	json = task_api_short_json(session, index);
	if (hidden)
		task_visibility_hide_task(json);
	told->texts[hidden] = json_text(json);
	count(texts, told, strlen(told->texts[hidden]));
	return told->texts[hidden];
}
