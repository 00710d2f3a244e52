/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations and shares of tasks without VMs, as docs/reference/api.md has them: numbered, tried,
 * and over when the test says so.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "tests/unit/backend/scripted_private.h"

static json_t *list_of(json_t *task)
{
	if (!json_object_get(task, "migrations"))
		json_object_set_new(task, "migrations", json_array());
	return json_object_get(task, "migrations");
}

/* The migration that is under way, or NULL. */
static json_t *open_of(json_t *task)
{
	json_t *last = json_array_get(list_of(task), json_array_size(list_of(task)) - 1);

	return last && json_is_null(json_object_get(last, "settled_ns")) ? last : NULL;
}

/* The task that is spoken of, or NULL when the request was answered. */
static json_t *find_task(struct scripted_scheduler *scheduler, struct http_request *request,
			 const char *id)
{
	return scripted_moody(scheduler, request, true)
		       ? NULL
		       : scripted_find_task(scheduler, request, id);
}

static json_t *new_migration(const json_t *task, json_int_t n, const json_t *body)
{
	json_t *vms = json_array();
	json_t *node;
	size_t i;

	json_array_foreach (json_object_get(task, "nodes"), i, node) {
		json_array_append_new(vms,
				      json_pack("{s:O, s:O, s:b, s:n, s:n}", "from", node, "to",
						json_array_get(json_object_get(body, "nodes"), i),
						"moved", 0, "total_ns", "downtime_ns"));
	}
	return json_pack("{s:I, s:O, s:I, s:n, s:n, s:o}", "n", n, "try",
			 json_object_get(body, "try"), "requested_ns", (json_int_t)clock_now_ns(),
			 "settled_ns", "reason", "vms", vms);
}

void scripted_put_migration(struct http_request *request, const char *const *arguments,
			    json_t *body, void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_int_t n = atoll(arguments[1]);
	json_t *task = find_task(scheduler, request, arguments[0]);

	if (!task)
		return;
	if (open_of(task) &&
	    json_equal(json_object_get(open_of(task), "try"), json_object_get(body, "try"))) {
		scripted_reply(request, 200, json_copy(task));
		return;
	}
	if (g_strcmp0(json_string_value(json_object_get(task, "state")), "running") != 0 ||
	    open_of(task) || n != (json_int_t)json_array_size(list_of(task)) + 1) {
		http_request_fail(request, 409,
				  "its VMs are being moved already, or that is not "
				  "the next one");
		return;
	}
	scheduler->moves++;
	json_array_append_new(list_of(task), new_migration(task, n, body));
	scripted_answer(scheduler, request, 201, task);
}

/* All VMs have moved, or all but the first. Returns how many. */
static size_t move_vms(json_t *task, json_t *migration, bool whole)
{
	json_t *vms = json_object_get(migration, "vms");
	size_t moved = 0;

	/* The request that it came with stays as it was. */
	json_object_set_new(task, "nodes", json_deep_copy(json_object_get(task, "nodes")));
	for (size_t i = !whole; i < json_array_size(vms); i++, moved++) {
		json_t *vm = json_array_get(vms, i);

		json_object_set_new(vm, "moved", json_true());
		json_object_set_new(vm, "total_ns", json_integer(700000000));
		json_object_set_new(vm, "downtime_ns", json_integer(40000000));
		json_array_set(json_object_get(task, "nodes"), i, json_object_get(vm, "to"));
	}
	return moved;
}

void scripted_scheduler_settle_move(struct scripted_scheduler *scheduler, const char *id,
				    const char *reason)
{
	json_t *task = json_object_get(scheduler->tasks, id);
	json_t *migration = open_of(task);
	json_t *detail;

	g_assert_nonnull(migration);
	if (move_vms(task, migration, !reason) == 0) {
		json_array_remove(list_of(task), json_array_size(list_of(task)) - 1);
	} else {
		json_object_set_new(migration, "settled_ns", json_integer(clock_now_ns()));
		if (reason)
			json_object_set_new(migration, "reason", json_string(reason));
	}
	detail = json_deep_copy(task);
	if (reason)
		json_object_set_new(detail, "reason", json_string(reason));
	scripted_event(scheduler, reason ? "task-migrate-failed" : "task-migrated", id, json_null(),
		       detail);
}

void scripted_put_share(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *task = find_task(scheduler, request, arguments[0]);
	const bool fails = scheduler->share_failures > 0;

	if (!task)
		return;
	if (open_of(task)) {
		http_request_fail(request, 409, "its VMs are being moved to other nodes");
		return;
	}
	scheduler->shares++;
	scheduler->share_failures -= fails;
	json_object_set_new(task, "share",
			    json_pack("{s:I, s:O, s:o}", "n", (json_int_t)atoll(arguments[1]),
				      "share", json_object_get(body, "share"), "set_ns",
				      fails ? json_null() : json_integer(clock_now_ns())));
	scripted_event(scheduler, fails ? "task-share-failed" : "task-shared", arguments[0],
		       json_null(),
		       fails ? json_pack("{s:s}", "reason", "as the test wants it")
			     : json_deep_copy(task));
	scripted_reply(request, 201, json_copy(task));
}

void scripted_scheduler_fail_shares(struct scripted_scheduler *scheduler, uint32_t count)
{
	scheduler->share_failures = count;
}

uint32_t scripted_scheduler_moves(const struct scripted_scheduler *scheduler)
{
	return scheduler->moves;
}

uint32_t scripted_scheduler_shares(const struct scripted_scheduler *scheduler)
{
	return scheduler->shares;
}

double scripted_scheduler_share(const struct scripted_scheduler *scheduler, const char *id)
{
	const json_t *task = json_object_get(scheduler->tasks, id);

	return json_number_value(json_object_get(json_object_get(task, "share"), "share"));
}

uint32_t scripted_scheduler_place(const struct scripted_scheduler *scheduler, const char *id,
				  uint32_t vm)
{
	const json_t *task = json_object_get(scheduler->tasks, id);

	g_assert_nonnull(task);
	return (uint32_t)json_integer_value(json_array_get(json_object_get(task, "nodes"), vm));
}
