/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/unit/backend/scripted_private.h"

struct waiter {
	struct scripted_scheduler *scheduler;
	struct http_request *request;
	int64_t after;
	guint source;
};

void scripted_reply(struct http_request *request, int status, json_t *body)
{
	json_object_set_new(body, "now_ns", json_integer(clock_now_ns()));
	http_request_reply(request, status, body);
}

static bool answer_by(enum scripted_mood mood, struct http_request *request, bool change)
{
	switch (mood) {
	case SCRIPTED_RUBBISH:
		http_request_reply(request, 200, json_pack("[s, i]", "rubbish", -1));
		return true;
	case SCRIPTED_ELSEWHERE:
		scripted_reply(request, 302, json_object());
		return true;
	case SCRIPTED_SILENT:
		return true;
	case SCRIPTED_BUSY:
		if (change)
			http_request_fail(request, 503, "not now");
		return change;
	case SCRIPTED_BROKEN:
		http_request_fail(request, 500, "something broke");
		return true;
	default:
		return false;
	}
}

bool scripted_moody(struct scripted_scheduler *scheduler, struct http_request *request, bool change)
{
	return answer_by(scheduler->mood, request, change);
}

bool scripted_task_moody(struct scripted_scheduler *scheduler, struct http_request *request,
			 bool change)
{
	scheduler->task_requests++;
	return answer_by(scheduler->mood ?: scheduler->task_mood, request, change);
}

uint32_t scripted_scheduler_task_requests(const struct scripted_scheduler *scheduler)
{
	return scheduler->task_requests;
}

/* Events. */

static json_t *events_after(const struct scripted_scheduler *scheduler, int64_t after)
{
	json_t *list = json_array();
	json_t *event;
	size_t i;

	json_array_foreach (scheduler->events, i, event) {
		if (json_integer_value(json_object_get(event, "seq")) > after)
			json_array_append(list, event);
	}
	return json_pack("{s:o, s:i}", "events", list, "last",
			 (int)json_array_size(scheduler->events));
}

static void waiter_free(void *data)
{
	struct waiter *waiter = data;

	if (waiter->source)
		g_source_remove(waiter->source);
	g_free(waiter);
}

static void answer_waiter(struct waiter *waiter)
{
	struct scripted_scheduler *scheduler = waiter->scheduler;

	scripted_reply(waiter->request, 200, events_after(scheduler, waiter->after));
	g_ptr_array_remove(scheduler->waiters, waiter);
}

static gboolean waited(gpointer data)
{
	struct waiter *waiter = data;

	waiter->source = 0;
	answer_waiter(waiter);
	return G_SOURCE_REMOVE;
}

static void waiter_gone(struct http_request *request, void *data)
{
	struct waiter *waiter = data;

	g_ptr_array_remove(waiter->scheduler->waiters, waiter);
}

/* In one write, so that two schedulers may have one file. */
static void log_event(const struct scripted_scheduler *scheduler, const char *kind,
		      const char *task, const json_t *detail)
{
	const char *outcome = json_string_value(json_object_get(detail, "outcome"));

	if (scheduler->log_fd < 0)
		return;
	if (g_str_equal(kind, "task-started"))
		dprintf(scheduler->log_fd, "started %s\n", task);
	else if (g_str_equal(kind, "task-ended"))
		dprintf(scheduler->log_fd, "ended %s %s\n", task, outcome);
}

void scripted_event(struct scripted_scheduler *scheduler, const char *kind, const char *task,
		    json_t *node, json_t *detail)
{
	json_t *event = json_pack("{s:i, s:I, s:s, s:s?, s:o, s:n, s:o}", "seq",
				  (int)json_array_size(scheduler->events) + 1, "t_ns",
				  (json_int_t)clock_now_ns(), "kind", kind, "task", task, "node",
				  node, "host", "detail", detail);

	log_event(scheduler, kind, task, detail);
	if (scheduler->spoilt)
		json_object_update(event, scheduler->spoilt);
	g_clear_pointer(&scheduler->spoilt, json_decref);
	json_array_append_new(scheduler->events, event);
	if (scheduler->mood != SCRIPTED_FINE && scheduler->mood != SCRIPTED_BUSY)
		return;
	while (scheduler->waiters->len)
		answer_waiter(g_ptr_array_index(scheduler->waiters, 0));
}

void scripted_scheduler_spoil_event(struct scripted_scheduler *scheduler, const char *key,
				    json_t *value)
{
	if (!scheduler->spoilt)
		scheduler->spoilt = json_object();
	json_object_set_new(scheduler->spoilt, key, value);
}

void scripted_scheduler_tell(struct scripted_scheduler *scheduler, const char *kind)
{
	scripted_event(scheduler, kind, NULL, json_null(), json_null());
}

bool scripted_scheduler_is_waited_for(const struct scripted_scheduler *scheduler)
{
	return scheduler->waiters->len > 0;
}

int64_t scripted_scheduler_taken(const struct scripted_scheduler *scheduler)
{
	return scheduler->taken;
}

static void get_events(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct scripted_scheduler *scheduler = data;
	int64_t after = g_ascii_strtoll(http_request_query(request, "after"), NULL, 10);
	const char *taken = http_request_query(request, "taken");
	const char *wait = http_request_query(request, "wait_s");
	guint wait_s = wait ? (guint)g_ascii_strtoull(wait, NULL, 10) : 0;
	struct waiter *waiter;

	scheduler->taken = taken ? g_ascii_strtoll(taken, NULL, 10) : -1;
	if (scripted_moody(scheduler, request, false))
		return;
	if (!wait_s || after < (int64_t)json_array_size(scheduler->events)) {
		scripted_reply(request, 200, events_after(scheduler, after));
		return;
	}
	waiter = g_new0(struct waiter, 1);
	waiter->scheduler = scheduler;
	waiter->request = request;
	waiter->after = after;
	waiter->source = g_timeout_add_seconds(wait_s, waited, waiter);
	g_ptr_array_add(scheduler->waiters, waiter);
	http_request_on_cancel(request, waiter_gone, waiter);
}

/* The local scheduler's identity and its nodes. */

static void get_capabilities(struct http_request *request, const char *const *arguments,
			     json_t *body, void *data)
{
	struct scripted_scheduler *scheduler = data;
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *incarnation = g_strdup_printf("i%u", scheduler->incarnation);

	if (scripted_moody(scheduler, request, false))
		return;
	scripted_reply(request, 200,
		       json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:f, s:b}", "cluster",
				 scheduler->cluster, "boot_id", boot_id, "incarnation", incarnation,
				 "virt_type", "none", "cpu_cap", scheduler->cpu_cap,
				 "caps_effective", scheduler->caps_effective, "boot_timeout_s",
				 scheduler->boot_timeout_s, "ready", scheduler->unsaid == 0,
				 "meter_mean_s",
				 scheduler->starts > 0 ? MAX(scheduler->mean_s, 0) : 0.0,
				 "meter_mean_unknown",
				 scheduler->starts > 0 && scheduler->mean_s < 0));
	if (scheduler->unsaid > 0)
		scheduler->unsaid--;
}

static bool node_taken(const struct scripted_scheduler *scheduler, uint32_t node)
{
	const char *id;
	json_t *task;
	json_t *one;
	size_t i;

	json_object_foreach ((json_t *)scheduler->tasks, id, task) {
		if (!json_is_null(json_object_get(task, "outcome")) || scripted_is_suspended(task))
			continue;
		json_array_foreach (json_object_get(task, "nodes"), i, one) {
			if (json_integer_value(one) == node)
				return true;
		}
	}
	return false;
}

static void held_is_gone(struct http_request *request, void *data)
{
	((struct scripted_scheduler *)data)->held_request = NULL;
}

/* The answer as it is now is sent when the test wants it. */
static void reply_nodes(struct scripted_scheduler *scheduler, struct http_request *request,
			json_t *body)
{
	if (!scheduler->hold_nodes) {
		scripted_reply(request, 200, body);
		return;
	}
	scheduler->hold_nodes = false;
	scheduler->held_request = request;
	json_decref(scheduler->held_nodes);
	scheduler->held_nodes = body;
	http_request_on_cancel(request, held_is_gone, scheduler);
}

static void get_nodes(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *list;

	if (scripted_moody(scheduler, request, false))
		return;
	list = json_array();
	for (uint32_t i = 0; i < scheduler->nodes; i++)
		json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "index", (int)i, "host",
						      scheduler->host, "state",
						      !scheduler->up[i]          ? "down"
						      : node_taken(scheduler, i) ? "busy"
										 : "ready"));
	reply_nodes(scheduler, request,
		    json_pack("{s:o, s:i}", "nodes", list, "spares_booting",
			      (int)scheduler->spares_booting));
	if (scheduler->spares_booting > 0)
		scheduler->spares_booting--;
}

static const struct http_route routes[] = {
	{"GET", "/v1/capabilities", get_capabilities},
	{"GET", "/v1/nodes", get_nodes},
	{"PUT", "/v1/tasks/*", scripted_put_task, .takes_body = true},
	{"GET", "/v1/tasks/*", scripted_get_task},
	{"GET", "/v1/tasks/*/output", scripted_get_output, .query = "from wait_s"},
	{"GET", "/v1/tasks", scripted_get_tasks},
	{"DELETE", "/v1/tasks/*", scripted_delete_task},
	{"PUT", "/v1/tasks/*/suspensions/*", scripted_put_suspension, .takes_body = true},
	{"PUT", "/v1/tasks/*/resumptions/*", scripted_put_resumption, .takes_body = true},
	{"PUT", "/v1/tasks/*/migrations/*", scripted_put_migration, .takes_body = true},
	{"PUT", "/v1/tasks/*/shares/*", scripted_put_share, .takes_body = true},
	{"GET", "/v1/events", get_events, .query = "after wait_s taken"},
	{"GET", "/v1/energy", scripted_get_energy},
	{"GET", "/v1/samples", scripted_get_samples, .query = "after"},
	{"GET", "/v1/usage", scripted_get_usage, .query = "after"},
	{NULL, NULL, NULL},
};

/* Life. */

static void serve(struct scripted_scheduler *scheduler)
{
	g_autoptr(GError) error = NULL;
	struct http_tls tls;

	scheduler->server =
		http_server_new_tls(&platform_machine, scheduler->address,
				    peer_tls_server(scheduler->tls, scheduler->address, &tls),
				    routes, scheduler, &error);
	g_assert_no_error(error);
}

struct scripted_scheduler *scripted_scheduler_new(const char *address, const char *cluster,
						  uint32_t nodes)
{
	return scripted_scheduler_new_tls(address, NULL, cluster, nodes);
}

struct scripted_scheduler *scripted_scheduler_new_tls(const char *address,
						      const struct config_tls *tls,
						      const char *cluster, uint32_t nodes)
{
	struct scripted_scheduler *scheduler = g_new0(struct scripted_scheduler, 1);

	scheduler->endings = g_hash_table_new(NULL, NULL);
	scheduler->steps = g_hash_table_new(NULL, NULL);
	scheduler->freeze_s = 0.02;
	scheduler->rest_s = 0.05;
	scheduler->boot_timeout_s = 150;
	scheduler->address = g_strdup(address);
	scheduler->tls = tls;
	scheduler->cluster = g_strdup(cluster);
	scheduler->host = g_strdup("b1");
	scheduler->nodes = nodes;
	scheduler->cpu_cap = "none";
	scheduler->caps_effective = "none";
	scheduler->up = g_new0(bool, nodes);
	for (uint32_t i = 0; i < nodes; i++)
		scheduler->up[i] = true;
	scheduler->tasks = json_object();
	scheduler->past = json_object();
	scheduler->held = json_object();
	scheduler->events = json_array();
	scheduler->samples = json_array();
	scheduler->intervals = json_array();
	scheduler->stream = g_uuid_string_random();
	scheduler->waiters = g_ptr_array_new_with_free_func(waiter_free);
	scheduler->metering = true;
	scheduler->log_fd = -1;
	energy_counter_init(&scheduler->energy, SCRIPTED_NO_GAP_S);
	scheduler->sample_source =
		g_timeout_add((guint)(SCRIPTED_INTERVAL_S * 1000), scripted_take_sample, scheduler);
	serve(scheduler);
	return scheduler;
}

void scripted_scheduler_free(struct scripted_scheduler *scheduler)
{
	http_server_free(scheduler->server);
	g_source_remove(scheduler->sample_source);
	scripted_forget_steps(scheduler);
	g_hash_table_unref(scheduler->steps);
	scripted_forget_endings(scheduler);
	g_ptr_array_unref(scheduler->waiters);
	json_decref(scheduler->tasks);
	json_decref(scheduler->past);
	json_decref(scheduler->spoilt);
	json_decref(scheduler->spoilt_ends);
	json_decref(scheduler->held_nodes);
	json_decref(scheduler->held);
	json_decref(scheduler->events);
	json_decref(scheduler->samples);
	json_decref(scheduler->intervals);
	g_free(scheduler->stream);
	if (scheduler->log_fd >= 0)
		close(scheduler->log_fd);
	g_free(scheduler->up);
	g_free(scheduler->cluster);
	g_free(scheduler->host);
	g_free(scheduler->address);
	g_free(scheduler);
}

void scripted_scheduler_set_task_mood(struct scripted_scheduler *scheduler, enum scripted_mood mood)
{
	scheduler->task_mood = mood;
}

void scripted_scheduler_set_mood(struct scripted_scheduler *scheduler, enum scripted_mood mood)
{
	scheduler->mood = mood;
}

void scripted_scheduler_restart(struct scripted_scheduler *scheduler, bool keep_state)
{
	http_server_free(scheduler->server);
	if (!keep_state) {
		scheduler->incarnation++;
		scripted_forget_steps(scheduler);
		json_object_clear(scheduler->tasks);
		json_object_clear(scheduler->past);
		json_object_clear(scheduler->held);
		json_array_clear(scheduler->events);
		json_array_clear(scheduler->samples);
		json_array_clear(scheduler->intervals);
		g_free(scheduler->stream);
		scheduler->stream = g_uuid_string_random();
		energy_counter_init(&scheduler->energy, SCRIPTED_NO_GAP_S);
	}
	serve(scheduler);
}

void scripted_scheduler_set_log(struct scripted_scheduler *scheduler, const char *path)
{
	scheduler->log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	g_assert_cmpint(scheduler->log_fd, >=, 0);
}

void scripted_scheduler_set_host(struct scripted_scheduler *scheduler, const char *name)
{
	g_free(scheduler->host);
	scheduler->host = g_strdup(name);
}

void scripted_scheduler_set_mean(struct scripted_scheduler *scheduler, double mean_s)
{
	scheduler->mean_s = mean_s;
}

void scripted_scheduler_set_boot_timeout(struct scripted_scheduler *scheduler, double timeout_s)
{
	scheduler->boot_timeout_s = timeout_s;
}

void scripted_scheduler_set_unsaid(struct scripted_scheduler *scheduler, uint32_t answers)
{
	scheduler->unsaid = answers;
}

void scripted_scheduler_set_spares_booting(struct scripted_scheduler *scheduler, uint32_t count)
{
	scheduler->spares_booting = count;
}

uint32_t scripted_scheduler_spares_booting(const struct scripted_scheduler *scheduler)
{
	return scheduler->spares_booting;
}

void scripted_scheduler_hold_nodes(struct scripted_scheduler *scheduler)
{
	scheduler->hold_nodes = true;
}

bool scripted_scheduler_holds_nodes(const struct scripted_scheduler *scheduler)
{
	return scheduler->held_request != NULL;
}

void scripted_scheduler_let_nodes_go(struct scripted_scheduler *scheduler)
{
	struct http_request *request = g_steal_pointer(&scheduler->held_request);

	g_assert_nonnull(request);
	http_request_on_cancel(request, NULL, NULL);
	scripted_reply(request, 200, g_steal_pointer(&scheduler->held_nodes));
}

void scripted_scheduler_set_caps(struct scripted_scheduler *scheduler, const char *cpu_cap,
				 const char *effective)
{
	scheduler->cpu_cap = cpu_cap;
	scheduler->caps_effective = effective;
}

void scripted_scheduler_set_node(struct scripted_scheduler *scheduler, uint32_t node, bool up)
{
	scheduler->up[node] = up;
	scripted_event(scheduler, up ? "node-ready" : "node-down", NULL, json_integer(node),
		       json_null());
}
