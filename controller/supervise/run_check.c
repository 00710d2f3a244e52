/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_check.h"

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/guest_image.h"
#include "common/json.h"
#include "common/lab_state.h"
#include "common/peer_tls.h"
#include "common/program_path.h"
#include "controller/run/run_paths.h"
#include "controller/supervise/run_check_rows.h"
#include "controller/supervise/run_child.h"
#include "controller/supervise/run_fit.h"
#include "controller/supervise/run_lock.h"
#include "controller/supervise/run_supervisor.h"

#define ASK_TIMEOUT_S 10.0
#define ASK_EVERY_MS 300
#define STOP_GRACE_S 60.0

/*
 * How long a meter may take to give a reading: slow BMCs need several tries. A BMC that has given
 * neither a reading nor a reason has longer: a login and four answers of 10 s each, one after
 * another, and the end within a minute.
 */
#define METER_PATIENCE_S 15.0
#define METER_SLOW_PATIENCE_S 52.0

/* How long it is tried to reach a host of a cluster of which none was reached yet. */
#define HOST_PATIENCE_S 20.0

/*
 * The small task uses many ranks, but not so many that it takes long where all VMs share a machine.
 */
enum { TASK_RANKS_MAX = 8, TASK_DEADLINE_S = 120 };

/* One cluster under check. */
struct subject {
	struct run_check_answers answers; /* owned */
	double task_deadline_s;
	struct run_child *child; /* NULL: the scheduler was running before */
	struct http_client *client;
	char *task_path;      /* NULL: not started */
	int64_t answered_ns;  /* time of the first answer; 0: none yet */
	int64_t unreached_ns; /* since when no host can be reached; 0: some are */
	char *silence;        /* why the last request got no answer; NULL: it did */
	bool done;
};

/* The check of all clusters. */
struct inspection {
	struct config *config;
	char *dir; /* for logs and states; removed at the end */
	char *socket_dir;
	GPtrArray *subjects;
	GMainLoop *loop;
	double timeout_s;
	int64_t began_ns;
	bool interrupted;
};

/* Subjects. */

static void free_subject(gpointer data)
{
	struct subject *subject = data;

	http_client_free(subject->client);
	run_child_free(subject->child);
	json_decref(subject->answers.capabilities);
	json_decref(subject->answers.nodes);
	json_decref(subject->answers.energy);
	json_decref(subject->answers.events);
	json_decref(subject->answers.task);
	g_free(subject->task_path);
	g_free(subject->silence);
	g_free(subject->answers.trouble);
	g_free(subject);
}

static void on_died(struct run_child *child, int status, void *data)
{
	struct subject *subject = data;
	g_autofree char *how = run_child_status_text(status);
	g_autofree char *words = run_child_last_words(child);

	subject->answers.trouble =
		g_strdup_printf("it ended (%s): %s", how, words ?: "without a word");
	subject->done = true;
}

static bool start_scheduler(struct inspection *inspection, struct subject *subject,
			    const char *address, GError **error)
{
	const char *name = subject->answers.cluster->name;
	g_autofree char *program = program_path("virtbed-local-sched", error);
	g_autofree char *config = g_build_filename(inspection->dir, "config.yaml", NULL);
	g_autofree char *state = g_build_filename(inspection->dir, name, NULL);
	g_autofree char *log = g_strdup_printf("%s/%s.log", inspection->dir, name);
	const char *const argv[] = {program,   "--config", config,     "--cluster", name,
				    "--state", state,      "--listen", address,     NULL};

	if (!program)
		return false;
	subject->child = run_child_new(name, argv, log, on_died, subject);
	return run_child_start(subject->child, error);
}

static bool add_subject(struct inspection *inspection, uint32_t index, GError **error)
{
	struct subject *subject = g_new0(struct subject, 1);
	const struct config_cluster *cluster = &inspection->config->clusters[index];
	g_autofree char *address =
		cluster->local_scheduler
			? g_strdup(cluster->local_scheduler)
			: g_strdup_printf("unix:%s/ls-%u.sock", inspection->socket_dir, index);

	subject->answers.cluster = cluster;
	subject->task_deadline_s = config_patience(inspection->config, TASK_DEADLINE_S);
	subject->answers.steady = config_lab_is_steady(inspection->config);
	g_ptr_array_add(inspection->subjects, subject);
	subject->client =
		peer_tls_client(&platform_machine, inspection->config->tls, address, error);
	return subject->client &&
	       (cluster->local_scheduler || start_scheduler(inspection, subject, address, error));
}

/* Requests. */

/* Keeps the last valid answer. */
static void request_answer(struct subject *subject, const char *path, json_t **answer)
{
	g_autoptr(GError) error = NULL;
	json_t *body;

	if (subject->done)
		return;
	body = http_client_call(subject->client, "GET", path, NULL, ASK_TIMEOUT_S, &error);
	g_free(subject->silence);
	subject->silence = error ? g_strdup(error->message) : NULL;
	if (!body)
		return;
	json_decref(*answer);
	*answer = body;
}

/* The largest power of two that the cluster has cores for: the benchmark takes no other counts. */
static uint32_t task_ranks(const struct config_cluster *cluster)
{
	uint32_t ranks = 1;

	while (ranks * 2 <= MIN(cluster->nodes * cluster->cores, TASK_RANKS_MAX))
		ranks *= 2;
	return ranks;
}

static void start_task(struct subject *subject)
{
	const struct config_cluster *cluster = subject->answers.cluster;
	uint32_t ranks = task_ranks(cluster);
	uint32_t count = (ranks + cluster->cores - 1) / cluster->cores;
	json_t *nodes = json_array();
	g_autoptr(json_t) body =
		json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", "check", "benchmark", "is",
			  "class", "S", "ranks", (int)ranks, "repetitions", 1, "nodes", nodes,
			  "deadline_s", subject->task_deadline_s);
	g_autoptr(GError) error = NULL;
	json_t *answer;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(nodes, json_integer(i));
	subject->answers.ranks = ranks;
	subject->task_path = g_strdup_printf("/v1/tasks/check-%" PRId64, clock_now_ns());
	answer = http_client_call(subject->client, "PUT", subject->task_path, body, ASK_TIMEOUT_S,
				  &error);
	if (!answer)
		answer = json_pack("{s:s, s:s}", "outcome", "refused", "reason", error->message);
	subject->answers.task = answer;
}

/* Notes times from which it is waited. */
static void note_times(struct subject *subject)
{
	const int64_t now_ns = clock_now_ns();

	if (subject->answered_ns == 0 && subject->answers.energy)
		subject->answered_ns = now_ns;
	if (!run_check_hosts_unreached(&subject->answers))
		subject->unreached_ns = 0;
	else if (subject->unreached_ns == 0)
		subject->unreached_ns = now_ns;
}

/*
 * The task has ended, or none can begin, since no host is reached; and every meter has been read or
 * had its time.
 */
static bool is_done(const struct subject *subject)
{
	const int64_t now_ns = clock_now_ns();
	const double patience_s =
		run_check_meters_told(&subject->answers) ? METER_PATIENCE_S : METER_SLOW_PATIENCE_S;
	const bool ended = json_is_string(json_object_get(subject->answers.task, "outcome")) ||
			   (subject->unreached_ns > 0 &&
			    clock_elapsed_s(subject->unreached_ns, now_ns) > HOST_PATIENCE_S);

	return ended && (run_check_meters_read(&subject->answers) ||
			 clock_elapsed_s(subject->answered_ns, now_ns) > patience_s);
}

static void poll_subject(struct subject *subject)
{
	request_answer(subject, "/v1/capabilities", &subject->answers.capabilities);
	request_answer(subject, "/v1/nodes", &subject->answers.nodes);
	request_answer(subject, "/v1/energy", &subject->answers.energy);
	request_answer(subject, "/v1/events?after=0", &subject->answers.events);
	if (subject->done)
		return;
	if (subject->task_path) {
		request_answer(subject, subject->task_path, &subject->answers.task);
	} else if (run_check_nodes_ready(&subject->answers)) {
		start_task(subject);
	}
	note_times(subject);
	subject->done = subject->done || is_done(subject);
}

static gboolean on_signal(gpointer data)
{
	struct inspection *inspection = data;

	inspection->interrupted = true;
	return G_SOURCE_CONTINUE;
}

static gboolean wake(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

static guint count_done(const struct inspection *inspection)
{
	guint done = 0;

	for (guint i = 0; i < inspection->subjects->len; i++)
		done += ((struct subject *)inspection->subjects->pdata[i])->done;
	return done;
}

static void report_progress(const struct inspection *inspection, guint done, guint *reported)
{
	if (done == *reported)
		return;
	fprintf(stderr, "checked %u of %u clusters\n", done, inspection->subjects->len);
	*reported = done;
}

/* Polls until every cluster has ended its task or failed, or the time is over. */
static void wait_for_all(struct inspection *inspection)
{
	guint reported = 0;

	while (!inspection->interrupted && count_done(inspection) < inspection->subjects->len &&
	       clock_elapsed_s(inspection->began_ns, clock_now_ns()) < inspection->timeout_s) {
		g_timeout_add(ASK_EVERY_MS, wake, inspection->loop);
		g_main_loop_run(inspection->loop);
		for (guint i = 0; i < inspection->subjects->len; i++)
			poll_subject(inspection->subjects->pdata[i]);
		report_progress(inspection, count_done(inspection), &reported);
	}
}

/* Beginning and end. */

static bool start_all(struct inspection *inspection, GError **error)
{
	g_autofree char *path = g_build_filename(inspection->dir, "config.yaml", NULL);

	if (!config_save(inspection->config, path, error))
		return false;
	for (uint32_t i = 0; i < inspection->config->clusters_count; i++)
		if (!add_subject(inspection, i, error))
			return false;
	fprintf(stderr,
		"checking %u cluster%s: every host, meter, cap and image; all nodes boot and run a "
		"small MPI task (at most %.0f s)\n",
		inspection->subjects->len, inspection->subjects->len == 1 ? "" : "s",
		inspection->timeout_s);
	return true;
}

/* All at once, since each takes its VMs down. */
static void stop_all(struct inspection *inspection)
{
	for (guint i = 0; i < inspection->subjects->len; i++) {
		struct subject *subject = inspection->subjects->pdata[i];

		subject->done = true;
		if (subject->child)
			run_child_ask_to_stop(subject->child);
	}
	for (guint i = 0; i < inspection->subjects->len; i++) {
		struct subject *subject = inspection->subjects->pdata[i];

		if (subject->child)
			run_child_stop(subject->child, STOP_GRACE_S);
	}
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		if (g_file_test(child, G_FILE_TEST_IS_DIR) &&
		    !g_file_test(child, G_FILE_TEST_IS_SYMLINK))
			remove_tree(child);
		else
			g_unlink(child);
	}
	g_rmdir(path);
}

static void add_silence(struct subject *subject)
{
	if (!subject->answers.trouble && !subject->answers.capabilities)
		subject->answers.trouble =
			g_strdup_printf("the local scheduler of cluster '%s' did not answer: %s",
					subject->answers.cluster->name,
					subject->silence ?: "it had no time");
}

static GPtrArray *inspect(struct inspection *inspection, GError **error)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	guint sources[] = {g_unix_signal_add(SIGINT, on_signal, inspection),
			   g_unix_signal_add(SIGTERM, on_signal, inspection)};
	bool started = start_all(inspection, error);

	if (started)
		wait_for_all(inspection);
	for (guint i = 0; started && i < inspection->subjects->len; i++) {
		struct subject *subject = inspection->subjects->pdata[i];

		add_silence(subject);
		run_check_add_cluster(rows, &subject->answers);
	}
	stop_all(inspection);
	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
		g_source_remove(sources[i]);
	if (started && inspection->interrupted)
		return error_null(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INTERRUPTED,
				  "interrupted; all VMs are removed");
	return started ? g_steal_pointer(&rows) : NULL;
}

bool run_check_can_run(const struct config_cluster *cluster)
{
	return cluster->hosts_count > 0 || cluster->local_scheduler;
}

/* Checks what must exist before any host is connected. Returns whether to continue. */
static bool check_here(struct config *config, const char *path, GPtrArray *rows)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *cure = NULL;

	run_check_add(rows, "", "", "configuration", RUN_CHECK_WORKS, NULL, "%s", path);
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (!run_check_can_run(&config->clusters[i]))
			run_check_add(rows, config->clusters[i].name, "", "host", RUN_CHECK_FAILED,
				      "add hosts to the cluster",
				      "no hosts: it can only be simulated");
	if (!run_check_good(rows))
		return false;
	if (lab_state_resolve(config, NULL, &reason)) {
		if (run_fit_to_lab(config, path, &reason))
			return true;
		cure = g_strdup_printf("virtbed lab down %s, and up again", path);
	} else {
		cure = g_strdup_printf("virtbed lab up %s", path);
	}
	run_check_add(rows, "", "", "lab", RUN_CHECK_FAILED, cure, "%s", reason->message);
	return false;
}

static void check_image(struct config *config, GPtrArray *rows)
{
	g_autofree char *trouble = NULL;
	char *absolute;

	if (!config->image)
		config->image = guest_image_find(NULL);
	trouble = guest_image_trouble(config->image);
	if (trouble) {
		run_check_add(rows, "", "", "image", RUN_CHECK_FAILED, GUEST_IMAGE_CURE, "%s",
			      trouble);
		return;
	}
	absolute = g_canonicalize_filename(config->image, NULL);
	g_free(config->image);
	config->image = absolute;
	run_check_add(rows, "", "", "image", RUN_CHECK_WORKS, NULL, "%s", absolute);
}

/* Creates an inspection, carries it out and frees it. */
static GPtrArray *inspect_once(struct config *config, double timeout_s, GError **error)
{
	struct inspection inspection = {
		.config = config,
		.dir = g_dir_make_tmp("virtbed-check-XXXXXX", error),
		.subjects = g_ptr_array_new_with_free_func(free_subject),
		.loop = g_main_loop_new(NULL, FALSE),
		.timeout_s = timeout_s,
		.began_ns = clock_now_ns(),
	};
	bool own_socket_dir = false;
	GPtrArray *rows = NULL;

	if (inspection.dir)
		inspection.socket_dir =
			run_paths_socket_dir(inspection.dir, &own_socket_dir, error);
	if (inspection.socket_dir)
		rows = inspect(&inspection, error);
	g_ptr_array_unref(inspection.subjects);
	g_main_loop_unref(inspection.loop);
	if (own_socket_dir && inspection.socket_dir)
		remove_tree(inspection.socket_dir);
	if (inspection.dir)
		remove_tree(inspection.dir);
	g_free(inspection.socket_dir);
	g_free(inspection.dir);
	return rows;
}

GPtrArray *run_check(struct config *config, const char *path, double timeout_s, GError **error)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	GPtrArray *more;
	struct run_lock lock = RUN_LOCK_INIT;

	if (!check_here(config, path, rows))
		return g_steal_pointer(&rows);
	check_image(config, rows);
	if (!run_check_good(rows))
		return g_steal_pointer(&rows);
	if (!run_lock_take(&lock, config->name, NULL, NULL, error))
		return NULL;
	more = inspect_once(config,
			    timeout_s > 0 ? timeout_s
					  : config_patience(config, RUN_CHECK_TIMEOUT_S),
			    error);
	run_lock_drop(&lock);
	if (!more)
		return NULL;
	g_ptr_array_extend_and_steal(rows, more);
	return g_steal_pointer(&rows);
}
