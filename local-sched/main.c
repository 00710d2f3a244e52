/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-local-sched: the local scheduler of a cluster. Exit status: 0 stopped and cleaned up, 1
 * failed, 2 bad usage or bad input.
 */
#include <glib-unix.h>
#include <libvirt-glib/libvirt-glib.h>
#include <stdio.h>

#include "common/config/config.h"
#include "common/config/config_files.h"
#include "common/error_fail.h"
#include "common/guest_image.h"
#include "common/lab_state.h"
#include "common/listen_address.h"
#include "common/notify.h"
#include "common/peer_tls.h"
#include "common/read_number.h"
#include "common/version/build_version.h"
#include "common/visible.h"
#include "local-sched/api/api.h"
#include "local-sched/core/scheduler.h"
#include "local-sched/executor/executor.h"
#include "local-sched/hypervisor/boot_watch.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "local-sched"
#include "common/log.h"

#define BOOT_TIMEOUT_MAX_S 86400.0

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* The command line. */
struct options {
	char *config;
	char *cluster;
	char *listen;
	char *state;
	char *image;
	char *lab;
	char *virt_type;
	char *boot_timeout;
	gboolean version;
};

/* Data of the main loop's callbacks. */
struct program {
	GMainLoop *loop;
	struct scheduler *scheduler;
	bool clean;
	bool refused; /* another local scheduler serves the cluster */
};

static void options_clear(struct options *options)
{
	g_free(options->config);
	g_free(options->cluster);
	g_free(options->listen);
	g_free(options->state);
	g_free(options->image);
	g_free(options->lab);
	g_free(options->virt_type);
	g_free(options->boot_timeout);
}

static bool parse_options(int argc, char **argv, struct options *options, GError **error)
{
	const GOptionEntry entries[] = {
		{"config", 0, 0, G_OPTION_ARG_FILENAME, &options->config, "Experiment", "FILE"},
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &options->cluster, "Cluster to serve",
		 "NAME"},
		{"listen", 0, 0, G_OPTION_ARG_STRING, &options->listen, "Where to serve the API",
		 "unix:PATH|http://127.0.0.1:PORT|https://ADDRESS:PORT"},
		{"state", 0, 0, G_OPTION_ARG_FILENAME, &options->state,
		 "Where to keep tasks and events", "DIR"},
		{"image", 0, 0, G_OPTION_ARG_FILENAME, &options->image,
		 "Guest image (default: the configuration's, or $VIRTBED_IMAGE)", "DIR"},
		{"lab", 0, 0, G_OPTION_ARG_STRING, &options->lab,
		 "Lab whose blades the hosts name (default: the configuration's name)", "NAME"},
		{"virt-type", 0, 0, G_OPTION_ARG_STRING, &options->virt_type,
		 "How to run VMs (default: auto, or $VIRTBED_VIRT_TYPE)", "auto|kvm|qemu|probe"},
		{"boot-timeout", 0, 0, G_OPTION_ARG_STRING, &options->boot_timeout,
		 "Longest time for a node to get ready (default: 180 times patience, or "
		 "$VIRTBED_BOOT_TIMEOUT)",
		 "SECONDS"},
		{"version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Print the version", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- local scheduler of a cluster");

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, error))
		return false;
	if (options->version)
		return true;
	if (argc == 1 && options->config && options->cluster && options->listen && options->state)
		return true;
	return error_fail(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
			  "give --config, --cluster, --listen and --state; try --help");
}

static bool find_cluster(const struct config *config, const char *name, uint32_t *ret_index,
			 GError **error)
{
	const struct config_cluster *found = config_cluster_find(config, name);

	if (found)
		*ret_index = (uint32_t)(found - config->clusters);
	return found || error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
				   "the configuration has no cluster '%s'", name);
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

static bool choose_virt_type(const struct options *options, enum virt_type_choice *ret_choice,
			     GError **error)
{
	const char *text = first_of(options->virt_type, g_getenv("VIRTBED_VIRT_TYPE"), "auto");
	const char *origin = options->virt_type ? "--virt-type" : "VIRTBED_VIRT_TYPE";

	if (virt_type_parse(text, ret_choice))
		return true;
	return error_fail(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			  "%s: '%s' is not one of auto, kvm, qemu, probe", origin, text);
}

/* The given timeout, or else the default times the machine's patience. */
static bool choose_boot_timeout(const struct options *options, const struct config *config,
				double *ret_timeout_s, GError **error)
{
	const char *text = first_of(options->boot_timeout, g_getenv("VIRTBED_BOOT_TIMEOUT"), NULL);
	const char *origin = options->boot_timeout ? "--boot-timeout" : "VIRTBED_BOOT_TIMEOUT";
	double timeout_s;

	if (!text) {
		*ret_timeout_s = config_patience(config, BOOT_WATCH_DEADLINE_S);
		return true;
	}
	if (!read_number_duration(text, &timeout_s) || timeout_s < 1 ||
	    timeout_s > BOOT_TIMEOUT_MAX_S)
		return error_fail(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				  "%s: '%s' is not from 1 s to a day, e.g. 900 or 15m", origin,
				  text);
	*ret_timeout_s = timeout_s;
	return true;
}

/* Checked before VMs are booted. */
static bool check_listen(const struct options *options, const struct config *config, GError **error)
{
	struct http_tls tls;
	g_autoptr(GSocketAddress) where =
		listen_address_parse(options->listen,
				     peer_tls_server(config->tls, options->listen, &tls) != NULL,
				     error);

	if (!where)
		g_prefix_error(error, "--listen: ");
	return where != NULL;
}

/* The configuration with the URIs and meters of its lab. */
static struct config *load_config(const struct options *options, GError **error)
{
	struct config *config = config_load(options->config, error);

	if (config && !lab_state_resolve(config, options->lab, error))
		g_clear_pointer(&config, config_free);
	return config;
}

static void stopped(bool clean, void *data)
{
	struct program *program = data;

	program->clean = clean;
	g_main_loop_quit(program->loop);
}

static gboolean on_signal(gpointer data)
{
	struct program *program = data;

	log_info("stopping: VMs are removed");
	notify_stopping(0);
	scheduler_stop(program->scheduler, stopped, program);
	return G_SOURCE_CONTINUE;
}

static void on_refused(const char *reason, void *data)
{
	struct program *program = data;

	log_error("%s", reason);
	program->refused = true;
	notify_stopping(0);
	scheduler_stop(program->scheduler, stopped, program);
}

/* Serves until a signal; returns the exit status. */
static int serve(const struct scheduler_settings *settings, const char *address)
{
	struct program program = {.clean = true};
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	g_autoptr(scheduler_t) scheduler = NULL;
	g_autoptr(api_t) api = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	guint watchdog;
	struct http_tls tls;

	gvir_event_register();
	virt_error_quiet();
	scheduler = scheduler_new(settings, &error);
	if (scheduler)
		api = api_new(address, peer_tls_server(settings->config->tls, address, &tls),
			      scheduler, &error);
	if (!api) {
		log_error("%s", error->message);
		return error->domain == SCHEDULER_ERROR || error->domain == EXECUTOR_ERROR
			       ? STATUS_USAGE
			       : STATUS_FAILED;
	}
	program.loop = loop;
	program.scheduler = scheduler;
	scheduler_on_refused(scheduler, on_refused, &program);
	g_unix_signal_add(SIGTERM, on_signal, &program);
	g_unix_signal_add(SIGINT, on_signal, &program);
	g_unix_signal_add(SIGHUP, on_signal, &program); /* its terminal is gone */
	text = g_strdup_printf("cluster '%s' is served on %s",
			       settings->config->clusters[settings->cluster].name, address);
	log_info("%s", text);
	notify_ready(text);
	watchdog = notify_watchdog();
	g_main_loop_run(loop);
	if (watchdog)
		g_source_remove(watchdog);
	return program.clean && !program.refused ? STATUS_DONE : STATUS_FAILED;
}

static int run_daemon(const struct options *options)
{
	g_autoptr(config_t) config = NULL;
	g_autoptr(image_t) image = NULL;
	g_autoptr(task_store_t) store = NULL;
	g_autoptr(GError) error = NULL;
	struct scheduler_settings settings = {.platform = &platform_machine,
					      .state_directory = options->state};
	g_autofree char *directory = NULL;
	bool input_good;

	config = load_config(options, &error);
	input_good = config && find_cluster(config, options->cluster, &settings.cluster, &error) &&
		     config_files_check(config, options->config, settings.cluster, &error) &&
		     check_listen(options, config, &error) &&
		     choose_virt_type(options, &settings.virt_type, &error) &&
		     choose_boot_timeout(options, config, &settings.boot_timeout_s, &error);
	if (input_good && !config->clusters[settings.cluster].simulated) {
		directory = guest_image_find(options->image ?: config->image);
		image = image_load(directory ?: "image", &error);
	}
	if (error) {
		log_error("%s", error->message);
		return STATUS_USAGE;
	}
	store = task_store_open(settings.platform, options->state, &error);
	if (!store) {
		log_error("%s", error->message);
		return STATUS_FAILED;
	}
	settings.config = config;
	settings.image = image;
	settings.store = store;
	return serve(&settings, options->listen);
}

int main(int argc, char **argv)
{
	struct options options = {0};
	g_autoptr(GError) error = NULL;
	int status = STATUS_USAGE;

	log_take_glib();
	visible_plain_help();
	if (!parse_options(argc, argv, &options, &error)) {
		visible_complain("virtbed-local-sched", error->message);
	} else if (options.version) {
		printf("virtbed-local-sched %s\n", build_version());
		status = STATUS_DONE;
	} else {
		status = run_daemon(&options);
	}
	options_clear(&options);
	return status;
}
