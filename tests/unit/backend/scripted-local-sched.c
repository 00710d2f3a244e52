/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stands where virtbed-local-sched would, for tests of `virtbed run` on machines without a lab:
 * takes the same arguments, has no VMs, and lets tasks take one second for each node's share. Keeps
 * no state: to kill it is to lose everything. What caps its hosts' CPUs is the real thing. Where
 * VIRTBED_EXECUTED names a file, it appends to it what it executes; VIRTBED_OUTPUT: a file that is
 * the output of all tasks. VIRTBED_CELLS: a file whose lines "CLUSTER TYPE END" say how tasks of a
 * type end there (scripted_scheduler_set_end()), and "CLUSTER down N" that its first N nodes are
 * down from when that is written; VIRTBED_BOOT_S: what a boot may take. VIRTBED_MEAN_S: what its
 * watts are means over, said after the first task has started; -1: a time that it does not know.
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdlib.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/cpu/host_caps.h"
#include "tests/unit/backend/scripted_scheduler.h"

/* How often VIRTBED_CELLS is looked at for nodes. */
#define LOOK_MS 100

static char *config_path, *cluster_name, *state, *address;

static const GOptionEntry entries[] = {
	{"config", 0, 0, G_OPTION_ARG_FILENAME, &config_path, "", ""},
	{"cluster", 0, 0, G_OPTION_ARG_STRING, &cluster_name, "", ""},
	{"state", 0, 0, G_OPTION_ARG_FILENAME, &state, "", ""},
	{"listen", 0, 0, G_OPTION_ARG_STRING, &address, "", ""},
	{NULL},
};

static double duration_s(const json_t *request, void *data)
{
	return 0.2 * (double)json_integer_value(json_object_get(request, "ranks")) *
	       (double)json_integer_value(json_object_get(request, "repetitions"));
}

/*
 * The third word of the first line of VIRTBED_CELLS that is of this cluster and begins with `word`;
 * NULL: none.
 */
static const char *find_cell(const char *word)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	const char *found = NULL;

	if (!word || !g_getenv("VIRTBED_CELLS") ||
	    !g_file_get_contents(g_getenv("VIRTBED_CELLS"), &text, NULL, NULL))
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line && !found; line++) {
		g_auto(GStrv) words = g_strsplit(*line, " ", 3);

		if (g_strv_length(words) == 3 && g_str_equal(words[0], cluster_name) &&
		    g_str_equal(words[1], word))
			found = g_intern_string(words[2]);
	}
	return found;
}

static const char *end_of(const json_t *request, void *data)
{
	return find_cell(json_string_value(json_object_get(request, "type")));
}

/* Nodes that are down stay so. */
static gboolean take_down(gpointer scheduler)
{
	const char *count = find_cell("down");

	if (!count)
		return G_SOURCE_CONTINUE;
	for (uint32_t i = 0; i < g_ascii_strtoull(count, NULL, 10); i++)
		scripted_scheduler_set_node(scheduler, i, false);
	return G_SOURCE_REMOVE;
}

static const struct config_cluster *find_cluster(const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (g_str_equal(config->clusters[i].name, cluster_name))
			return &config->clusters[i];
	g_error("no cluster '%s'", cluster_name);
}

static gboolean quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new("");
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = NULL;
	const struct config_cluster *cluster;
	struct scripted_scheduler *scheduler;
	g_autoptr(host_caps_t) caps = NULL;
	struct cpu_cap cap;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		g_error("%s", error->message);
	config = config_load(config_path, &error);
	if (!config)
		g_error("%s", error->message);
	cluster = find_cluster(config);
	cpu_cap_init(&cap, cluster);
	caps = host_caps_new(&platform_machine, cluster, state, &cap, &error);
	if (!caps)
		g_error("%s", error->message);
	scheduler = scripted_scheduler_new_tls(address, config->tls, cluster_name, cluster->nodes);
	scripted_scheduler_set_host(scheduler, cluster->hosts[0].name);
	scripted_scheduler_set_auto(scheduler, duration_s, NULL);
	scripted_scheduler_set_watts(scheduler, 60);
	scripted_scheduler_set_busy(scheduler, 20);
	scripted_scheduler_set_caps(scheduler, cpu_cap_name(&cap), host_caps_effective(caps));
	if (g_getenv("VIRTBED_EXECUTED"))
		scripted_scheduler_set_log(scheduler, g_getenv("VIRTBED_EXECUTED"));
	if (g_getenv("VIRTBED_CELLS")) {
		scripted_scheduler_set_end(scheduler, end_of, NULL);
		g_timeout_add(LOOK_MS, take_down, scheduler);
	}
	if (g_getenv("VIRTBED_BOOT_S"))
		scripted_scheduler_set_boot_timeout(scheduler,
						    g_ascii_strtod(g_getenv("VIRTBED_BOOT_S"),
								   NULL));
	if (g_getenv("VIRTBED_MEAN_S"))
		scripted_scheduler_set_mean(scheduler,
					    g_ascii_strtod(g_getenv("VIRTBED_MEAN_S"), NULL));
	g_unix_signal_add(SIGTERM, quit, loop);
	g_main_loop_run(loop);
	scripted_scheduler_free(scheduler);
	return EXIT_SUCCESS;
}
