/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Snapshots: a good one is written and read again, and every policy that fits decides on it: what
 * the reader lets pass must be safe for all of them.
 */
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/fuzz/fuzz.h"

/* Policies are for policies' tests; a huge system only takes time here. */
#define NODES_MAX 4096

static struct snapshot_json *read_snapshot(const char *text, size_t size, GError **error)
{
	g_autoptr(json_t) object = json_parse(text, size, "fuzz", error);

	return object ? snapshot_json_read(object, "fuzz", error) : NULL;
}

static void decide(const struct snapshot_json *read, const char *name, struct arena *arena)
{
	struct policy_context context = {.arena = arena, .flags = POLICY_EXPLAIN};
	struct sched_plan plan;
	struct policy policy;
	char message[512];

	if (policy_parse(name, &policy, message, sizeof(message)) < 0 ||
	    policy_misfit(&policy, read->system))
		return;
	fuzz_check(policy_decide(&policy, &read->snapshot, &context, &plan) == 0);

	g_autoptr(json_t) actions = snapshot_json_actions(read->system, &plan, true);

	fuzz_check(actions != NULL);
}

static void decide_all(const struct snapshot_json *read)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	struct arena *arena = arena_new();
	uint64_t nodes = 0;

	for (uint32_t c = 0; c < read->system->clusters_count; c++)
		nodes += read->system->clusters[c].nodes;
	for (uint32_t i = 0; nodes <= NODES_MAX && i < count; i++)
		decide(read, list[i]->name, arena);
	if (nodes <= NODES_MAX && read->policy)
		decide(read, read->policy, arena);
	arena_free(arena);
}

static void check_round_trip(const struct snapshot_json *read)
{
	g_autoptr(json_t) object = snapshot_json_write(&read->snapshot, NULL, NULL);
	g_autofree char *text = json_text(object);
	g_autoptr(GError) error = NULL;
	g_autoptr(snapshot_json_t) again = read_snapshot(text, strlen(text), &error);

	g_assert_no_error(error);

	g_autoptr(json_t) object_again = snapshot_json_write(&again->snapshot, NULL, NULL);
	g_autofree char *text_again = json_text(object_again);

	g_assert_cmpstr(text_again, ==, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(snapshot_json_t) read = read_snapshot((const char *)data, size, &error);

	fuzz_check_error(read, error);
	if (!read)
		return 0;
	check_round_trip(read);
	decide_all(read);
	return 0;
}
