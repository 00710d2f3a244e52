/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_overhead.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/backend/remote.h"
#include "controller/config/config_measured.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_profile.h"
#include "controller/workload/workload.h"

/* Suspensions for each storage of VMs, per measurement of a pair. */
#define SAMPLES_PER_REPEAT 2

/* A cluster with so many failures or losses in a row cannot be measured. */
#define FAILURES_MAX 3

/* How long a task runs between a resumption and the next suspension. */
#define RUN_S 0.5

/* The longest time for any step. */
#define STALL_S 300.0

static const char *const keeps[] = {"memory", "disk"};
#define KEEPS G_N_ELEMENTS(keeps)

/* A cluster being measured: one task at a time. */
struct bench {
	const struct config_cluster *cluster;
	uint32_t index, type, nodes_count;
	uint32_t *nodes;
	uint32_t task, n; /* the task under way, and its present suspension */
	uint32_t keep;    /* index of keeps: storage of that suspension */
	uint32_t left[KEEPS];
	uint32_t failures;
	double due_s; /* when to suspend it; INFINITY: no suspension is due */
	bool done;
	struct backend_event suspended; /* without borrowed members */
	json_t *vms;
};

struct measuring {
	struct run_session *session;
	const struct config *config;
	struct backend *backend;
	struct bench *benches; /* one per cluster */
	uint32_t tasks;        /* number of tasks started so far */
	struct run_overheads *overheads;
	double heard_s;
	uint32_t total;
};

static void clear_sample(void *sample)
{
	record_clear(&config_overhead_record, sample);
}

void run_overheads_clear(struct run_overheads *overheads)
{
	if (overheads->samples)
		g_array_unref(overheads->samples);
	json_decref(overheads->list);
	*overheads = (struct run_overheads){0};
}

bool run_overhead_wanted(const struct run_session *session)
{
	for (char **policy = session->plan->policies; policy && *policy; policy++)
		if (strstr(*policy, "-preempt-"))
			return true;
	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		if (session->config->clusters[i].preemption)
			return true;
	return false;
}

static bool allows(const struct config_cluster *cluster, uint32_t keep)
{
	enum config_keep wanted =
		cluster->preemption ? cluster->preemption->keep : CONFIG_KEEP_AUTO;

	return wanted == CONFIG_KEEP_AUTO ||
	       wanted == (keep == 0 ? CONFIG_KEEP_MEMORY : CONFIG_KEEP_DISK);
}

/* The type with the longest ETC there; the number of types if none has an estimate. */
static uint32_t longest_type(const struct config *config, const struct config_cluster *cluster,
			     const struct config_estimate *estimates, uint32_t count)
{
	const struct config_estimate *longest = NULL;

	for (uint32_t i = 0; i < count; i++)
		if (g_str_equal(estimates[i].cluster, cluster->name) &&
		    estimates[i].etc_s > (longest ? longest->etc_s : 0))
			longest = &estimates[i];
	return longest ? (uint32_t)(config_type_find(config, longest->type) - config->types)
		       : config->types_count;
}

static void bench_init(struct measuring *measuring, uint32_t index,
		       const struct config_estimate *estimates, uint32_t count)
{
	struct bench *bench = &measuring->benches[index];
	const struct config *config = measuring->config;

	bench->index = index;
	bench->cluster = &config->clusters[index];
	bench->type = longest_type(config, bench->cluster, estimates, count);
	bench->due_s = INFINITY;
	bench->done = bench->type == config->types_count;
	if (bench->done)
		return;
	bench->nodes_count = workload_nodes(&config->types[bench->type], bench->cluster);
	bench->nodes = g_new(uint32_t, bench->nodes_count);
	for (uint32_t i = 0; i < bench->nodes_count; i++)
		bench->nodes[i] = i;
	for (uint32_t keep = 0; keep < KEEPS; keep++)
		if (allows(bench->cluster, keep))
			bench->left[keep] =
				SAMPLES_PER_REPEAT * measuring->session->plan->profile_repeats;
}

/* Adds a sample, which is read from its entry in profile.json. False: it is malformed. */
static bool add_sample(struct run_overheads *overheads, json_t *detail)
{
	struct config_overhead sample;

	record_init(&config_overhead_record, &sample);
	if (!record_from_json(&config_overhead_record, detail, &sample, NULL))
		return false;
	g_array_append_val(overheads->samples, sample);
	json_array_append(overheads->list, detail);
	return true;
}

/*
 * Counts a stored suspension as measured. Samples of clusters or storages that are not to be
 * measured any more are dropped.
 */
static void recall_overhead(struct measuring *measuring, const struct store_overhead *row)
{
	g_autoptr(json_t) detail = json_parse(row->detail, strlen(row->detail), "overhead", NULL);

	for (uint32_t i = 0; detail && i < measuring->config->clusters_count; i++) {
		struct bench *bench = &measuring->benches[i];
		const uint32_t keep = g_strcmp0(row->keep, keeps[1]) == 0;

		if (g_strcmp0(bench->cluster->name, row->cluster) == 0 && bench->left[keep] > 0)
			bench->left[keep] -= add_sample(measuring->overheads, detail);
	}
}

static bool init_benches(struct measuring *measuring, const struct config_estimate *estimates,
			 uint32_t count, GError **error)
{
	g_autoptr(GPtrArray) rows = store_overheads(measuring->session->store, error);

	if (!rows)
		return false;
	for (uint32_t i = 0; i < measuring->config->clusters_count; i++)
		bench_init(measuring, i, estimates, count);
	for (guint i = 0; i < rows->len; i++)
		recall_overhead(measuring, rows->pdata[i]);
	for (uint32_t i = 0; i < measuring->config->clusters_count; i++) {
		struct bench *bench = &measuring->benches[i];

		bench->done = bench->left[0] + bench->left[1] == 0;
		measuring->total += bench->left[0] + bench->left[1];
	}
	return true;
}

static void start(struct measuring *measuring, struct bench *bench)
{
	const struct sched_task task = {.id = bench->task = measuring->tasks++, .row = bench->type};
	const struct sched_allocation placed = {
		.task = &task,
		.cluster = bench->index,
		.nodes = bench->nodes,
		.nodes_count = bench->nodes_count,
	};

	bench->n = 0;
	bench->due_s = INFINITY;
	backend_start(measuring->backend, &placed, 1);
}

/* Suspends with the storage that lacks more samples, so that the storages alternate. */
static void suspend(struct measuring *measuring, struct bench *bench)
{
	bench->keep = bench->left[1] > bench->left[0];
	bench->due_s = INFINITY;
	remote_backend_suspend(measuring->backend, bench->task, 1, ++bench->n, keeps[bench->keep]);
}

/* Notes the overhead of each VM, both steps in one row. */
static void note_vms(struct bench *bench, const struct backend_event *event)
{
	for (uint32_t i = 0; i < event->vms_count; i++) {
		const struct backend_vm_overhead *vm = &event->vms[i];
		json_t *row = json_array_get(bench->vms, i);

		if (event->kind == BACKEND_EVENT_SUSPENDED) {
			json_array_append_new(bench->vms,
					      json_pack("{s:i, s:o, s:o}", "node", (int)vm->node,
							"freeze_s",
							json_number_or_null(vm->overhead.freeze_s),
							"save_s",
							json_number_or_null(vm->overhead.save_s)));
		} else if (row) {
			json_object_set_new(row, "restore_s",
					    json_number_or_null(vm->overhead.restore_s));
			json_object_set_new(row, "resume_s",
					    json_number_or_null(vm->overhead.resume_s));
		}
	}
}

static double zero_if_unknown(double value)
{
	return isfinite(value) ? value : 0;
}

/* Stores the sample at once. */
static bool note_sample(struct measuring *measuring, struct bench *bench,
			const struct backend_event *resumed, GError **error)
{
	const struct backend_overhead *suspended = &bench->suspended.overhead;
	const struct config_overhead sample = {
		.cluster = bench->cluster->name,
		.keep = (char *)keeps[bench->keep],
		.freeze_s = zero_if_unknown(suspended->freeze_s),
		.save_s = zero_if_unknown(suspended->save_s),
		.restore_s = zero_if_unknown(resumed->overhead.restore_s),
		.resume_s = zero_if_unknown(resumed->overhead.resume_s),
		.skew_s = zero_if_unknown(suspended->skew_s),
	};
	g_autoptr(json_t) detail = record_to_json(&config_overhead_record, &sample);
	struct store_overhead row = {.cluster = sample.cluster, .keep = sample.keep};
	bool good;

	json_object_set_new(detail, "nodes", json_integer(bench->nodes_count));
	json_object_set(detail, "vms", bench->vms);
	add_sample(measuring->overheads, detail);
	row.detail = json_text(detail);
	good = store_add_overhead(measuring->session->store, &row, error);
	g_free(row.detail);
	return good;
}

static bool on_resumed(struct measuring *measuring, struct bench *bench,
		       const struct backend_event *event, GError **error)
{
	note_vms(bench, event);
	if (!note_sample(measuring, bench, event, error))
		return false;
	bench->failures = 0;
	bench->left[bench->keep]--;
	bench->done = !bench->left[0] && !bench->left[1];
	if (bench->done)
		backend_kill(measuring->backend, bench->task, 1);
	else
		bench->due_s = event->time_s + RUN_S;
	return true;
}

static bool count_failure(struct measuring *measuring, struct bench *bench, const char *reason,
			  GError **error)
{
	if (++bench->failures < FAILURES_MAX)
		return true;
	return error_fail(
		error, RUN_ERROR, RUN_ERROR_MEASURE,
		"tasks of type '%s' cannot be suspended and resumed on cluster '%s': %s; look "
		"into the log of its local scheduler",
		measuring->config->types[bench->type].name, bench->cluster->name,
		reason ?: "they end");
}

static bool on_failed_step(struct measuring *measuring, struct bench *bench,
			   const struct backend_event *event, bool was_suspended, GError **error)
{
	if (!count_failure(measuring, bench, event->reason, error))
		return false;
	if (was_suspended) {
		backend_resume(measuring->backend, bench->task, 1, bench->n, bench->nodes,
			       bench->nodes_count);
	} else {
		bench->n--;
		bench->due_s = event->time_s + RUN_S;
	}
	return true;
}

static struct bench *bench_of(struct measuring *measuring, uint32_t task)
{
	for (uint32_t i = 0; i < measuring->config->clusters_count; i++)
		if (!measuring->benches[i].done && measuring->benches[i].task == task)
			return &measuring->benches[i];
	return NULL;
}

/* Processes an event of a task that is being measured. */
static bool on_event(struct measuring *measuring, struct bench *bench,
		     const struct backend_event *event, GError **error)
{
	switch (event->kind) {
	case BACKEND_EVENT_STARTED:
		bench->due_s = event->time_s + RUN_S;
		return true;
	case BACKEND_EVENT_SUSPENDED:
		bench->suspended = *event;
		json_decref(bench->vms);
		bench->vms = json_array();
		note_vms(bench, event);
		backend_resume(measuring->backend, bench->task, 1, bench->n, bench->nodes,
			       bench->nodes_count);
		return true;
	case BACKEND_EVENT_RESUMED:
		return on_resumed(measuring, bench, event, error);
	case BACKEND_EVENT_SUSPENSION_FAILED:
		return on_failed_step(measuring, bench, event,
				      bench->suspended.task == bench->task &&
					      bench->suspended.n == bench->n,
				      error);
	case BACKEND_EVENT_ENDED:
		if (event->outcome != BACKEND_OUTCOME_COMPLETED &&
		    !count_failure(measuring, bench, event->reason, error))
			return false;
		start(measuring, bench);
		return true;
	default:
		return true;
	}
}

/* Suspends tasks that are due; returns when to look again. */
static double next_due_s(struct measuring *measuring)
{
	double now_s = backend_now_s(measuring->backend);
	double next_s = now_s + 1;

	for (uint32_t i = 0; i < measuring->config->clusters_count; i++) {
		struct bench *bench = &measuring->benches[i];

		if (bench->done)
			continue;
		if (bench->due_s <= now_s)
			suspend(measuring, bench);
		next_s = fmin(next_s, bench->due_s);
	}
	return next_s;
}

static bool all_done(const struct measuring *measuring)
{
	for (uint32_t i = 0; i < measuring->config->clusters_count; i++)
		if (!measuring->benches[i].done)
			return false;
	return true;
}

static bool measure(struct measuring *measuring, GError **error)
{
	const double stall_s = config_patience(measuring->config, STALL_S);

	measuring->heard_s = backend_now_s(measuring->backend);
	for (uint32_t i = 0; i < measuring->config->clusters_count; i++)
		if (!measuring->benches[i].done)
			start(measuring, &measuring->benches[i]);
	while (!all_done(measuring)) {
		struct backend_event event;
		struct bench *bench;

		remote_backend_wait(measuring->backend, next_due_s(measuring), &event);
		if (event.kind == BACKEND_EVENT_ABORTED)
			return error_fail(error, RUN_ERROR, RUN_ERROR_STOPPED, "%s", event.reason);
		bench = event.kind == BACKEND_EVENT_NONE ? NULL : bench_of(measuring, event.task);
		if (bench && event.attempt) {
			measuring->heard_s = event.time_s;
			if (!on_event(measuring, bench, &event, error))
				return false;
		}
		if (backend_now_s(measuring->backend) - measuring->heard_s <= stall_s)
			continue;
		return error_fail(error, RUN_ERROR, RUN_ERROR_MEASURE,
				  "nothing was suspended or resumed for %.0f s; are nodes down?",
				  stall_s);
	}
	return true;
}

static bool measure_rest(struct measuring *measuring, GError **error)
{
	struct run_session *session = measuring->session;
	bool good;

	if (measuring->total == 0)
		return true;
	if (!run_session_settle_some(session, error))
		return false;
	run_progress_note(session->progress, "profile", "suspending and resuming %u time%s",
			  measuring->total, measuring->total == 1 ? "" : "s");
	measuring->backend =
		run_record_profile_backend(session, platform_now_ns(session->platform), false);
	good = store_set_durable(session->store, true, error) && measure(measuring, error);
	backend_destroy(measuring->backend);
	return store_set_durable(session->store, false, good ? error : NULL) && good;
}

bool run_overhead_measure(struct run_session *session, const struct config_estimate *estimates,
			  uint32_t count, struct run_overheads *ret_overheads, GError **error)
{
	struct measuring measuring = {.session = session, .config = session->config};
	bool good;

	*ret_overheads = (struct run_overheads){
		.samples = g_array_new(FALSE, FALSE, sizeof(struct config_overhead)),
		.list = json_array(),
	};
	g_array_set_clear_func(ret_overheads->samples, clear_sample);
	measuring.overheads = ret_overheads;
	measuring.benches = g_new0(struct bench, session->config->clusters_count);
	good = init_benches(&measuring, estimates, count, error) && measure_rest(&measuring, error);
	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		g_free(measuring.benches[i].nodes);
		json_decref(measuring.benches[i].vms);
	}
	g_free(measuring.benches);
	return good;
}
