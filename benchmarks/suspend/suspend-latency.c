/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the local scheduler adds to suspending and resuming the VMs of a task: the time from a PUT
 * until all of its VMs stand still, or go, beside that of one `virsh suspend` (`virsh resume`) per
 * VM, side by side, in turn on the same VMs of the same task. And how far apart the VMs stop, by
 * QEMU's own events.
 *
 *   suspend-latency --listen ADDRESS --uri URI --vms N --count K
 *
 * prints one JSON object; times in milliseconds. Needs nodes 0 to N-1 ready, and as many spare VMs.
 */
#include <gio/gio.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"

#define REQUEST_TIMEOUT_S 70
#define POLL_US 20000
#define RUN_US 300000 /* the task runs before it is frozen again */
#define DEADLINE_S 4e5

static char *option_listen;
static char *option_uri;
static int option_vms = 4;
static int option_count = 30;

/* Samples in milliseconds. */
struct samples {
	GArray *suspend;
	GArray *resume;
	GArray *suspended; /* until the nodes take tasks again */
	GArray *resumed;   /* until the clocks are set */
	GArray *skew;
};

static json_t *call(struct http_client *client, const char *method, const char *path,
		    const json_t *body)
{
	g_autoptr(GError) error = NULL;
	json_t *reply =
		http_client_call(client, method, path, (json_t *)body, REQUEST_TIMEOUT_S, &error);

	if (!reply)
		g_error("%s %s: %s", method, path, error->message);
	return reply;
}

static int64_t time_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void add_ms(GArray *samples, int64_t from_ns, int64_t to_ns)
{
	double ms = clock_elapsed_s(from_ns, to_ns) * 1e3;

	g_array_append_val(samples, ms);
}

/* Waits until the task is in `state`; returns it. */
static json_t *await_state(struct http_client *client, const char *path, const char *state)
{
	for (;;) {
		json_t *task = call(client, "GET", path, NULL);
		const char *now = json_string_value(json_object_get(task, "state"));

		if (g_strcmp0(now, state) == 0)
			return task;
		if (g_strcmp0(now, "ended") == 0)
			g_error("task ended: %s",
				json_string_value(json_object_get(task, "reason")));
		json_decref(task);
		g_usleep(POLL_US);
	}
}

static json_t *node_numbers(void)
{
	json_t *nodes = json_array();

	for (int i = 0; i < option_vms; i++)
		json_array_append_new(nodes, json_integer(i));
	return nodes;
}

static void start_task(struct http_client *client, const char *path)
{
	g_autoptr(json_t) body =
		json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", "suspend", "benchmark",
			  "cg", "class", "W", "ranks", option_vms, "repetitions", 1000, "nodes",
			  node_numbers(), "deadline_s", DEADLINE_S);

	json_decref(call(client, "PUT", path, body));
	json_decref(await_state(client, path, "running"));
}

/* The names of the VMs at the first nodes. */
static GStrv vm_names(struct http_client *client)
{
	g_autoptr(json_t) reply = call(client, "GET", "/v1/nodes", NULL);
	const json_t *nodes = json_object_get(reply, "nodes");
	GStrv names = g_new0(char *, option_vms + 1);

	for (int i = 0; i < option_vms; i++)
		names[i] = g_strdup(
			json_string_value(json_object_get(json_array_get(nodes, (size_t)i), "vm")));
	return names;
}

/* One virsh per VM, side by side; the time until the last one has ended. */
static void virsh_all(struct http_client *client, const char *verb, GArray *samples)
{
	g_auto(GStrv) names = vm_names(client);
	g_autofree GSubprocess **children = g_new0(GSubprocess *, option_vms);
	int64_t start_ns = clock_now_ns();

	for (int i = 0; i < option_vms; i++) {
		g_autoptr(GError) error = NULL;

		children[i] = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error, "virsh",
					       "-q", "-c", option_uri, verb, names[i], NULL);
		if (!children[i])
			g_error("%s", error->message);
	}
	for (int i = 0; i < option_vms; i++) {
		g_autoptr(GError) error = NULL;

		if (!g_subprocess_wait_check(children[i], NULL, &error))
			g_error("virsh %s %s: %s", verb, names[i], error->message);
		g_object_unref(children[i]);
	}
	add_ms(samples, start_ns, clock_now_ns());
}

static void run_bare(struct http_client *client, struct samples *bare)
{
	g_usleep(RUN_US);
	virsh_all(client, "suspend", bare->suspend);
	g_usleep(RUN_US);
	virsh_all(client, "resume", bare->resume);
}

static void run_scheduled(struct http_client *client, const char *path, int n,
			  struct samples *scheduled)
{
	g_autofree char *suspend = g_strdup_printf("%s/suspensions/%d", path, n);
	g_autofree char *resume = g_strdup_printf("%s/resumptions/%d", path, n);
	g_autoptr(json_t) keep = json_pack("{s:s}", "keep", "memory");
	g_autoptr(json_t) where = json_pack("{s:o}", "nodes", node_numbers());
	g_autoptr(json_t) task = NULL;
	const json_t *record;
	int64_t suspend_ns;
	int64_t resume_ns;

	g_usleep(RUN_US);
	suspend_ns = clock_now_ns();
	json_decref(call(client, "PUT", suspend, keep));
	json_decref(await_state(client, path, "suspended"));
	g_usleep(RUN_US);
	resume_ns = clock_now_ns();
	json_decref(call(client, "PUT", resume, where));
	task = await_state(client, path, "running");
	record = json_array_get(json_object_get(task, "suspensions"), (size_t)n - 1);
	add_ms(scheduled->suspend, suspend_ns, time_of(record, "frozen_ns"));
	add_ms(scheduled->suspended, suspend_ns, time_of(record, "suspended_ns"));
	add_ms(scheduled->resume, resume_ns, time_of(record, "running_ns"));
	add_ms(scheduled->resumed, resume_ns, time_of(record, "resumed_ns"));
	if (json_is_integer(json_object_get(record, "skew_ns")))
		add_ms(scheduled->skew, 0, time_of(record, "skew_ns"));
}

static int compare(gconstpointer a, gconstpointer b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

/* The q-quantile of sorted samples, q from 0 to 1. */
static double quantile(const GArray *samples, double q)
{
	return g_array_index(samples, double, (guint)lround(q * (samples->len - 1)));
}

static json_t *summary(GArray *samples)
{
	json_t *all = json_array();

	if (samples->len == 0) {
		json_decref(all);
		return json_null();
	}
	for (guint i = 0; i < samples->len; i++)
		json_array_append_new(all, json_real(g_array_index(samples, double, i)));
	g_array_sort(samples, compare);
	return json_pack("{s:f, s:f, s:f, s:f, s:o}", "median_ms", quantile(samples, 0.5), "p10_ms",
			 quantile(samples, 0.1), "p90_ms", quantile(samples, 0.9), "max_ms",
			 quantile(samples, 1), "samples_ms", all);
}

static double ratio(const GArray *a, const GArray *b)
{
	return quantile(a, 0.5) / quantile(b, 0.5);
}

static void init(struct samples *samples)
{
	*samples = (struct samples){
		.suspend = g_array_new(FALSE, FALSE, sizeof(double)),
		.resume = g_array_new(FALSE, FALSE, sizeof(double)),
		.suspended = g_array_new(FALSE, FALSE, sizeof(double)),
		.resumed = g_array_new(FALSE, FALSE, sizeof(double)),
		.skew = g_array_new(FALSE, FALSE, sizeof(double)),
	};
}

static void finish(struct samples *samples)
{
	g_array_unref(samples->suspend);
	g_array_unref(samples->resume);
	g_array_unref(samples->suspended);
	g_array_unref(samples->resumed);
	g_array_unref(samples->skew);
}

static void measure(struct http_client *client)
{
	g_autofree char *path =
		g_strdup_printf("/v1/tasks/suspend-%" G_GINT64_FORMAT, clock_now_ns());
	struct samples bare;
	struct samples scheduled;
	g_autoptr(json_t) result = json_object();

	init(&bare);
	init(&scheduled);
	start_task(client, path);
	/*
	 * The two sides take turns in being first; the first round opens connections and is not
	 * counted.
	 */
	for (int i = 0; i <= option_count; i++) {
		if (i % 2)
			run_bare(client, &bare);
		run_scheduled(client, path, i + 1, &scheduled);
		if (i % 2 == 0)
			run_bare(client, &bare);
		if (i == 0) {
			finish(&bare);
			finish(&scheduled);
			init(&bare);
			init(&scheduled);
		}
	}
	json_decref(call(client, "DELETE", path, NULL));
	json_object_set_new(result, "vms", json_integer(option_vms));
	json_object_set_new(result, "pairs", json_integer(option_count));
	json_object_set_new(result, "virsh_suspend", summary(bare.suspend));
	json_object_set_new(result, "suspend", summary(scheduled.suspend));
	json_object_set_new(result, "suspend_ratio",
			    json_real(ratio(scheduled.suspend, bare.suspend)));
	json_object_set_new(result, "virsh_resume", summary(bare.resume));
	json_object_set_new(result, "resume", summary(scheduled.resume));
	json_object_set_new(result, "resume_ratio",
			    json_real(ratio(scheduled.resume, bare.resume)));
	json_object_set_new(result, "until_nodes_ready", summary(scheduled.suspended));
	json_object_set_new(result, "until_clocks_set", summary(scheduled.resumed));
	json_object_set_new(result, "skew", summary(scheduled.skew));
	json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	finish(&bare);
	finish(&scheduled);
}

int main(int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{"listen", 0, 0, G_OPTION_ARG_STRING, &option_listen, "Local scheduler", "ADDRESS"},
		{"uri", 0, 0, G_OPTION_ARG_STRING, &option_uri, "The host's libvirt", "URI"},
		{"vms", 0, 0, G_OPTION_ARG_INT, &option_vms, "VMs of the task", "N"},
		{"count", 0, 0, G_OPTION_ARG_INT, &option_count, "Pairs", "N"},
		{NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("- measure suspending and resuming");
	g_autoptr(GError) error = NULL;
	struct http_client *client;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || !option_listen ||
	    !option_uri || option_vms < 1 || option_count < 1) {
		fprintf(stderr, "suspend-latency: %s\n",
			error ? error->message : "give --listen and --uri");
		return 2;
	}
	client = http_client_new(&platform_machine, option_listen, &error);
	if (!client)
		g_error("%s", error->message);
	measure(client);
	http_client_free(client);
	return 0;
}
