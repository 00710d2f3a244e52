/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/requests.h"

#include <string.h>

#include "controller/sched/decision_sum.h"

/* Bits of the sum below the bits of the kinds. */
#define SUM_BITS 39

const char *const requests_names[] = {
	[REQUESTS_START] = "start",     [REQUESTS_KILL] = "kill",
	[REQUESTS_SUSPEND] = "suspend", [REQUESTS_RESUME] = "resume",
	[REQUESTS_MIGRATE] = "migrate", [REQUESTS_SHARE] = "share",
	[REQUESTS_ENQUEUE] = "enqueue", [REQUESTS_LIMIT] = "limit",
};
G_STATIC_ASSERT(G_N_ELEMENTS(requests_names) == REQUESTS_KINDS && REQUESTS_KINDS <= 8);

void requests_begin(struct requests *requests)
{
	*requests = (struct requests){0};
}

static void add(struct requests *requests, uint64_t word)
{
	requests->sum = sched_sums_join(requests->sum, word);
}

static void add_real(struct requests *requests, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	add(requests, bits);
}

void requests_add(struct requests *requests, const struct request *request)
{
	const struct sched_allocation *placed = request->placed;
	const uint32_t task = placed ? placed->task->id : request->task;
	const uint32_t *nodes = placed ? placed->nodes : request->nodes;
	const uint32_t nodes_count = placed ? placed->nodes_count : request->nodes_count;

	if (requests->count < G_N_ELEMENTS(requests->first_kinds)) {
		requests->first_kinds[requests->count] = (guint8)request->kind;
		requests->first_tasks[requests->count] =
			request->kind == REQUESTS_LIMIT ? UINT32_MAX : task;
	}
	requests->count++;
	requests->kinds |= 1u << request->kind;
	add(requests, (uint64_t)request->kind << 32 | task);
	add(requests, (uint64_t)request->attempt << 32 | request->n);
	add(requests, placed ? (uint64_t)placed->task->row << 32 | placed->cluster : 0);
	add(requests, (uint64_t)(placed ? placed->pstate : 0) << 32 | nodes_count);
	for (uint32_t i = 0; i < nodes_count; i++)
		add(requests, nodes[i]);
	add_real(requests, request->start_before_s);
	add_real(requests, request->value);
}

int64_t requests_sum(const struct requests *requests)
{
	const uint64_t mask = (UINT64_C(1) << SUM_BITS) - 1;

	return requests->kinds == 0
		       ? -1
		       : (int64_t)((uint64_t)requests->kinds << SUM_BITS | (requests->sum & mask));
}

guint requests_kinds_of(int64_t sum)
{
	return sum < 0 ? 0 : (guint)(sum >> SUM_BITS) & ((1u << REQUESTS_KINDS) - 1);
}

char *requests_text(const struct requests *requests)
{
	const guint shown = MIN(requests->count, G_N_ELEMENTS(requests->first_kinds));
	GString *text = g_string_new(shown == 0 ? "none" : NULL);

	for (guint i = 0; i < shown; i++) {
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
				       requests_names[requests->first_kinds[i]]);
		if (requests->first_tasks[i] != UINT32_MAX)
			g_string_append_printf(text, " of task %u", requests->first_tasks[i]);
	}
	if (requests->count > shown)
		g_string_append_printf(text, " and %u more", requests->count - shown);
	return g_string_free(text, FALSE);
}
