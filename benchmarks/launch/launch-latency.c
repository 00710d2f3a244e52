/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the local scheduler adds to the launch of a task: the time from a PUT to all ranks started,
 * beside that of the bare agent calls (one guest-exec per rank, VMs side by side), in turn on the
 * same ready VMs.
 *
 *   launch-latency --listen ADDRESS --uri URI --prefix virtbed-LAB-CLUSTER- --vms N --ranks R
 *   --count K
 *
 * prints one line of JSON; times in milliseconds.
 */
#include <glib.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"

#define AGENT_TIMEOUT_S 30
#define REQUEST_TIMEOUT_S 70
#define POLL_US 20000

static char *option_listen;
static char *option_uri;
static char *option_prefix;
static int option_vms = 2;
static int option_ranks = 1;
static int option_count = 20;

/* One VM of the bare launch. */
struct vm {
	virConnectPtr connection;
	virDomainPtr domain;
	int first_rank;
	json_int_t *pids;
};

static json_t *agent(virDomainPtr domain, const char *request)
{
	char *text = virDomainQemuAgentCommand(domain, request, AGENT_TIMEOUT_S, 0);
	json_t *reply = text ? json_loads(text, 0, NULL) : NULL;

	if (!reply)
		g_error("agent of '%s' does not answer", virDomainGetName(domain));
	free(text);
	return reply;
}

/* guest-exec of what the local scheduler runs for a rank; returns the pid. */
static json_int_t start_rank(struct vm *vm, int core)
{
	g_autofree char *request = g_strdup_printf(
		"{\"execute\":\"guest-exec\",\"arguments\":{\"path\":\"/usr/bin/virtbed-rank\","
		"\"arg\":[\"run\",\"%d\",\"/usr/lib/virtbed/npb/is\",\"--class\",\"S\"],"
		"\"env\":[\"PMI_RANK=%d\",\"PMI_SIZE=%d\"],\"capture-output\":true}}",
		core, vm->first_rank + core, option_vms * option_ranks);
	g_autoptr(json_t) reply = agent(vm->domain, request);

	return json_integer_value(json_object_get(json_object_get(reply, "return"), "pid"));
}

static gpointer start_ranks(gpointer data)
{
	struct vm *vm = data;

	for (int i = 0; i < option_ranks; i++)
		vm->pids[i] = start_rank(vm, i);
	return NULL;
}

static void await_exit(struct vm *vm, json_int_t pid)
{
	g_autofree char *request =
		g_strdup_printf("{\"execute\":\"guest-exec-status\",\"arguments\":{\"pid\":%lld}}",
				(long long)pid);

	for (;;) {
		g_autoptr(json_t) reply = agent(vm->domain, request);

		if (json_is_true(json_object_get(json_object_get(reply, "return"), "exited")))
			return;
		g_usleep(POLL_US);
	}
}

static void kill_ranks(struct vm *vm)
{
	for (int i = 0; i < option_ranks; i++) {
		g_autofree char *request =
			g_strdup_printf("{\"execute\":\"guest-exec\",\"arguments\":{\"path\":"
					"\"/usr/bin/virtbed-rank\",\"arg\":[\"kill\",\"%d\"]}}",
					i);
		g_autoptr(json_t) reply = agent(vm->domain, request);

		await_exit(vm, json_integer_value(
				       json_object_get(json_object_get(reply, "return"), "pid")));
		await_exit(vm, vm->pids[i]);
	}
}

static double launch_bare(struct vm *vms)
{
	g_autofree GThread **threads = g_new0(GThread *, option_vms);
	int64_t start_ns = clock_now_ns();
	double ms;

	for (int i = 0; i < option_vms; i++)
		threads[i] = g_thread_new("vm", start_ranks, &vms[i]);
	for (int i = 0; i < option_vms; i++)
		g_thread_join(threads[i]);
	ms = clock_elapsed_s(start_ns, clock_now_ns()) * 1e3;
	for (int i = 0; i < option_vms; i++)
		kill_ranks(&vms[i]);
	return ms;
}

static json_t *call(struct http_client *client, const char *method, const char *path, json_t *body)
{
	g_autoptr(GError) error = NULL;
	json_t *reply = http_client_call(client, method, path, body, REQUEST_TIMEOUT_S, &error);

	if (!reply)
		g_error("%s %s: %s", method, path, error->message);
	return reply;
}

/* Waits for an event of kind `kind` about `id` after event *after. */
static json_t *await_event(struct http_client *client, const char *id, const char *kind,
			   json_int_t *after)
{
	for (;;) {
		g_autofree char *path =
			g_strdup_printf("/v1/events?after=%lld&wait_s=60", (long long)*after);
		g_autoptr(json_t) reply = call(client, "GET", path, NULL);
		json_t *events = json_object_get(reply, "events");

		for (size_t i = 0; i < json_array_size(events); i++) {
			json_t *event = json_array_get(events, i);
			const char *task = json_string_value(json_object_get(event, "task"));

			*after = json_integer_value(json_object_get(event, "seq"));
			if (g_strcmp0(task, id) == 0 &&
			    g_str_equal(json_string_value(json_object_get(event, "kind")), kind))
				return json_incref(json_object_get(event, "detail"));
		}
	}
}

/* Milliseconds from before the PUT to `started`; *ret_known: to the event being read. */
static double launch_scheduled(struct http_client *client, json_int_t *after, double *ret_known)
{
	g_autofree char *id = g_strdup_printf("launch-%" G_GINT64_FORMAT, clock_now_ns());
	g_autofree char *path = g_strconcat("/v1/tasks/", id, NULL);
	json_t *nodes = json_array();
	g_autoptr(json_t) body = NULL;
	int64_t start_ns;
	double ms;

	for (int i = 0; i < option_vms; i++)
		json_array_append_new(nodes, json_integer(i));
	body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", "launch", "benchmark", "is",
			 "class", "S", "ranks", option_vms * option_ranks, "repetitions", 1,
			 "nodes", nodes, "deadline_s", 120.0);
	start_ns = clock_now_ns();
	json_decref(call(client, "PUT", path, body));
	{
		g_autoptr(json_t) started = await_event(client, id, "task-started", after);

		*ret_known = clock_elapsed_s(start_ns, clock_now_ns()) * 1e3;
		ms = clock_elapsed_s(start_ns,
				     json_integer_value(json_object_get(started, "started_ns"))) *
		     1e3;
	}
	{
		g_autoptr(json_t) ended = await_event(client, id, "task-ended", after);
		const char *outcome = json_string_value(json_object_get(ended, "outcome"));

		if (g_strcmp0(outcome, "completed") != 0)
			g_error("task '%s' is %s", id, outcome);
	}
	return ms;
}

static int compare(gconstpointer a, gconstpointer b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static double median(GArray *values)
{
	g_array_sort(values, compare);
	return g_array_index(values, double, values->len / 2);
}

static void open_vms(struct vm *vms)
{
	for (int i = 0; i < option_vms; i++) {
		g_autofree char *name = g_strdup_printf("%sn%d", option_prefix, i);

		vms[i].connection = virConnectOpen(option_uri);
		vms[i].domain =
			vms[i].connection ? virDomainLookupByName(vms[i].connection, name) : NULL;
		if (!vms[i].domain)
			g_error("no VM '%s' at '%s'", name, option_uri);
		vms[i].first_rank = i * option_ranks;
		vms[i].pids = g_new0(json_int_t, option_ranks);
	}
}

static void close_vms(struct vm *vms)
{
	for (int i = 0; i < option_vms; i++) {
		virDomainFree(vms[i].domain);
		virConnectClose(vms[i].connection);
		g_free(vms[i].pids);
	}
}

static void measure(struct vm *vms, struct http_client *client)
{
	g_autoptr(GArray) bare = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GArray) scheduled = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(json_t) now = call(client, "GET", "/v1/events?after=0", NULL);
	json_int_t after = json_integer_value(json_object_get(now, "last"));

	for (int i = 0; i < option_count; i++) {
		double bare_ms = launch_bare(vms);
		double known_ms;
		double scheduled_ms = launch_scheduled(client, &after, &known_ms);

		g_array_append_val(bare, bare_ms);
		g_array_append_val(scheduled, scheduled_ms);
		g_array_append_val(known, known_ms);
	}
	printf("{\"vms\": %d, \"ranks_per_vm\": %d, \"count\": %d, \"bare_median_ms\": %.1f, "
	       "\"scheduled_median_ms\": %.1f, \"event_read_median_ms\": %.1f, "
	       "\"added_ms\": %.1f}\n",
	       option_vms, option_ranks, option_count, median(bare), median(scheduled),
	       median(known), median(scheduled) - median(bare));
}

int main(int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{"listen", 0, 0, G_OPTION_ARG_STRING, &option_listen, "Local scheduler", "ADDRESS"},
		{"uri", 0, 0, G_OPTION_ARG_STRING, &option_uri, "The host's libvirt", "URI"},
		{"prefix", 0, 0, G_OPTION_ARG_STRING, &option_prefix, "Of the VMs' names", "TEXT"},
		{"vms", 0, 0, G_OPTION_ARG_INT, &option_vms, "VMs of a task", "N"},
		{"ranks", 0, 0, G_OPTION_ARG_INT, &option_ranks, "Ranks per VM", "N"},
		{"count", 0, 0, G_OPTION_ARG_INT, &option_count, "Launches of each kind", "N"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- measure task launches");
	g_autofree struct vm *vms = NULL;
	g_autoptr(GError) error = NULL;
	struct http_client *client;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || !option_listen ||
	    !option_uri || !option_prefix || option_vms < 1 || option_ranks < 1 ||
	    option_count < 1) {
		fprintf(stderr, "launch-latency: %s\n",
			error ? error->message : "give --listen, --uri and --prefix");
		return 2;
	}
	client = http_client_new(&platform_machine, option_listen, &error);
	if (!client)
		g_error("%s", error->message);
	vms = g_new0(struct vm, option_vms);
	open_vms(vms);
	measure(vms, client);
	close_vms(vms);
	http_client_free(client);
	return 0;
}
