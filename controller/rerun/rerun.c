/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/rerun.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/backend/sim.h"
#include "controller/engine/full_state.h"
#include "controller/experiment/run_overshoot.h"
#include "controller/experiment/simulation.h"
#include "controller/journal/input_json.h"
#include "controller/journal/recorder_store.h"
#include "controller/rerun/rerun_input.h"
#include "controller/rerun/rerun_setup.h"
#include "controller/rerun/stored_backend.h"
#include "controller/plugin/plugin_config.h"
#include "controller/rerun/stored_platform.h"
#include "controller/sched/decision_sum.h"
#include "controller/snapshot/snapshot_json.h"

/* Inputs that are read at a time, and between two calls for progress. */
#define READ_AT_ONCE 2048

G_DEFINE_QUARK(rerun_error_quark, rerun_error)

/* The records of the tasks, made again, from which the run is restored after a restart. */
struct records {
	char *dir;
	struct store *store;
	int64_t run;
	struct recorder_store *recorder;
};

struct rerun {
	struct engine_recorder recorder; /* first: callbacks cast back */
	struct store *store;
	const struct store_run *run;
	struct engine_setup setup;
	struct engine *engine;
	struct backend *backend;
	struct plugin *plugin; /* of the engine */
	/* Decisions of a fallback: its name by fallback_key(). */
	GHashTable *fallbacks;
	char *pet; /* what stored snapshots call the matrix of execution times; NULL: no queues */
	uint32_t count;                  /* the number of the last stored input */
	const struct store_input *input; /* that is being handled */
	int64_t snapshot_sum, plan_sum;  /* of what was decided in it, as stored */
	struct requests requests;        /* in it, until the process ended */
	bool sums_requests;              /* their sums are stored */
	uint64_t pack_sums;              /* of the inputs of a pack so far (store_join_sums()) */
	uint32_t pack_count;             /* how many they are */
	int64_t flushes;                 /* of its records */
	bool begun;                      /* the engine has begun the run, or continued it */
	bool over;              /* the process ended during this input: nothing counts any more */
	int64_t decision;       /* the id of the last stored decision that was compared */
	struct records records; /* dir NULL: the run was never restarted */
	/* Of a service: its setup at the last full state that was loaded, and the next full state. */
	struct rerun_setup made;
	const struct config *config; /* of other runs; NULL: not known */
	struct stored_platform platform;
	struct store_state *next_state; /* NULL: none follows */
	json_t *submitted;              /* the detail of the last SUBMIT since then; NULL: none */
	uint32_t last;                  /* the number of the last input that was handled */
	struct rerun_result result;
	rerun_progress_f progress;
	void *progress_data;
};

/* Policies from outside. */

/* An event whose decision a fallback made. */
static char *fallback_key(uint64_t number, double time_s)
{
	return g_strdup_printf("%" PRIu64 " %.17g", number, time_s);
}

static void note_fallback(const char *detail, void *data)
{
	g_autoptr(json_t) object =
		detail ? json_parse(detail, strlen(detail), "an event", NULL) : NULL;
	const json_int_t number = json_integer_value(json_object_get(object, "number"));
	const double time_s = json_number_value(json_object_get(object, "time_s"));
	const char *fallback = json_string_value(json_object_get(object, "fallback"));
	struct policy policy;

	/* What no virtbed wrote is no decision of a fallback, and the program is asked. */
	if (fallback && policy_parse(fallback, &policy, NULL, 0) == 0 &&
	    !policy_is_outside(&policy))
		g_hash_table_insert(data, fallback_key((uint64_t)number, time_s),
				    g_strdup(fallback));
}

static const char *find_fallback(uint64_t number, double now_s, void *data)
{
	const struct rerun *rerun = data;
	g_autofree char *key = fallback_key(number, now_s);
	const char *name = g_hash_table_lookup(rerun->fallbacks, key);
	struct policy policy;

	return name && policy_parse(name, &policy, NULL, 0) == 0 &&
			       !policy_misfit(&policy, rerun->setup.system)
		       ? name
		       : NULL;
}

/*
 * What decides for policies from outside, without a fallback but those that are recorded. To be
 * called when the setup is known, before the engine is made; the engine before it is gone.
 */
static void make_plugin(struct rerun *rerun)
{
	const struct plugin_settings settings =
		plugin_config_rerun(rerun->made.config ?: rerun->config, rerun->run->measured);

	plugin_free(rerun->plugin);
	rerun->plugin = plugin_new(&settings, rerun->setup.system, rerun->setup.seed);
	plugin_set_stored(rerun->plugin, find_fallback, rerun);
	rerun->setup.outside = plugin_outside(rerun->plugin);
	/* As an experiment with such a policy was run; a service says itself. */
	if (rerun->setup.apart) {
		stored_platform_init(&rerun->platform);
		rerun->setup.platform = &rerun->platform.base;
	}
}

void rerun_result_clear(struct rerun_result *result)
{
	divergence_clear(&result->divergence);
}

/* Divergences. */

/* Notes where the divergence is. False: there was another one before it. */
static bool begin_divergence(struct rerun *rerun)
{
	struct divergence *divergence = &rerun->result.divergence;

	if (divergence->input != 0)
		return false;
	divergence->input = rerun->input->n;
	divergence->kind = g_strdup(input_title(rerun->input->kind));
	divergence->time_s = rerun->input->time_s;
	divergence->task = rerun->input->task >= 0 ? (uint32_t)rerun->input->task : UINT32_MAX;
	return true;
}

static void diverge(struct rerun *rerun, const char *field, const char *stored, const char *here)
{
	if (begin_divergence(rerun))
		divergence_set(&rerun->result.divergence, field, stored, here);
}

static void diverge_sums(struct rerun *rerun, const char *field, int64_t stored, int64_t here)
{
	g_autofree char *was = g_strdup_printf("%016" PRIx64, (uint64_t)stored);
	g_autofree char *is = g_strdup_printf("%016" PRIx64, (uint64_t)here);

	diverge(rerun, field, was, is);
}

/* Whether a sum is the stored one, of which a pack keeps the lowest bits. */
static bool is_sum(const struct rerun *rerun, int64_t stored, int64_t here, uint64_t kept)
{
	const uint64_t differing = (uint64_t)stored ^ (uint64_t)here;

	return (differing & (rerun->input->packed ? kept : UINT64_MAX)) == 0;
}

/* Compares two texts of JSON. Whether they are equal. */
static bool compare_texts(struct rerun *rerun, const char *path, const char *stored,
			  const char *here)
{
	g_autoptr(json_t) was = NULL;
	g_autoptr(json_t) is = NULL;

	if (strcmp(stored, here) == 0)
		return true;
	was = json_parse(stored, strlen(stored), path, NULL);
	is = json_parse(here, strlen(here), path, NULL);
	if (begin_divergence(rerun) &&
	    !divergence_of_json(was, is, path, &rerun->result.divergence))
		divergence_set(&rerun->result.divergence, path, stored, here);
	return false;
}

/* Decisions. */

static void add_sum(int64_t *sum, uint64_t one)
{
	const uint64_t joined = *sum == -1 ? one : sched_sums_join((uint64_t)*sum, one);

	*sum = (int64_t)joined == -1 ? -2 : (int64_t)joined;
}

static bool decided(struct engine_recorder *base, const struct policy *policy,
		    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct rerun *rerun = (struct rerun *)base;

	if (rerun->over)
		return true;
	add_sum(&rerun->snapshot_sum, sched_snapshot_sum(snapshot));
	add_sum(&rerun->plan_sum, sched_plan_sum(plan));
	return true;
}

/* Whether a stored snapshot only counts its tasks. */
static bool is_brief(const struct store_decision *stored)
{
	return strlen(stored->snapshot) < 1024 && strstr(stored->snapshot, "\"left_out\":");
}

static void compare_decision(struct rerun *rerun, const struct store_decision *stored,
			     const struct policy *policy, const struct sched_snapshot *snapshot,
			     const struct sched_plan *plan)
{
	g_autoptr(json_t) object = snapshot_json_write(snapshot, policy, rerun->pet);
	g_autofree char *text = json_text(object);
	g_autofree char *actions = snapshot_text_actions(snapshot->system, plan, NULL);

	rerun->result.texts += compare_texts(rerun, "snapshot", stored->snapshot, text) &&
			       compare_texts(rerun, "actions", stored->actions, actions);
}

/* Compares a decision whose texts are stored with the next one of these. */
static bool decision(struct engine_recorder *base, const struct policy *policy,
		     const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct rerun *rerun = (struct rerun *)base;
	struct store_decision *stored;
	g_autoptr(GError) error = NULL;

	if (rerun->over || rerun->result.divergence.input != 0)
		return true;
	if (rerun->input->snapshot_sum == -1) {
		diverge(rerun, "decision", "none", "made");
		return true;
	}
	stored = store_decision_after(rerun->store, rerun->run->run, rerun->decision, &error);
	if (!stored) {
		diverge(rerun, "decision", error ? error->message : "not there", "made");
		return true;
	}
	rerun->decision = stored->id;
	if (!is_brief(stored))
		compare_decision(rerun, stored, policy, snapshot, plan);
	store_decision_free(stored);
	return true;
}

/* After an input: whether as much was decided in it as in the run, and the same. */
static void compare_sums(struct rerun *rerun)
{
	const struct store_input *input = rerun->input;
	const bool made = rerun->snapshot_sum != -1;

	if (made != (input->snapshot_sum != -1))
		diverge(rerun, "decision", made ? "none" : "made", made ? "made" : "none");
	else if (!is_sum(rerun, input->snapshot_sum, rerun->snapshot_sum, STORE_PACKED_SNAPSHOT))
		diverge_sums(rerun, "snapshot_sum", input->snapshot_sum, rerun->snapshot_sum);
	else if (!is_sum(rerun, input->plan_sum, rerun->plan_sum, STORE_PACKED_PLAN))
		diverge_sums(rerun, "plan_sum", input->plan_sum, rerun->plan_sum);
	else
		rerun->result.decisions += made;
}

/* The first kind of request that is in one of two sums alone; REQUESTS_KINDS: there is none. */
static enum requests_kind find_kind(guint stored, guint here)
{
	enum requests_kind kind = 0;

	while (kind < REQUESTS_KINDS && !((stored ^ here) & 1u << kind))
		kind++;
	return kind;
}

/* The requests of the engine in the input. */
static const struct requests *requests_here(const struct rerun *rerun)
{
	return rerun->over ? &rerun->requests : stored_backend_requests(rerun->backend);
}

/* Compares the requests of the engine after an input with the stored ones. */
static void compare_requests(struct rerun *rerun)
{
	const struct requests *requests = requests_here(rerun);
	const int64_t stored = rerun->input->request_sum;
	const int64_t here = requests_sum(requests);
	const enum requests_kind kind = find_kind(requests_kinds_of(stored), requests->kinds);
	g_autofree char *made = NULL;
	g_autofree char *field = NULL;
	g_autofree char *was = NULL;

	if (!rerun->sums_requests ||
	    ((here == -1) == (stored == -1) && is_sum(rerun, stored, here, STORE_PACKED_REQUEST)) ||
	    !begin_divergence(rerun))
		return;
	made = requests_text(requests);
	if (kind == REQUESTS_KINDS) {
		field = g_strdup("requests");
		was = stored == -1 ? g_strdup("none") : g_strdup_printf("%012" PRIx64, stored);
	} else {
		field = g_strdup_printf("requests.%s", requests_names[kind]);
		was = g_strdup(requests->kinds & 1u << kind ? "not made" : "made");
	}
	if (requests->count > 0)
		rerun->result.divergence.task = requests->first_tasks[0];
	divergence_set(&rerun->result.divergence, field, was, made);
}

/*
 * A pack has few bits of each sum, and all bits of their sum: what chance has hidden before is
 * found at its end.
 */
static void compare_pack(struct rerun *rerun)
{
	const struct store_input *input = rerun->input;
	const struct store_input here = {
		.snapshot_sum = rerun->snapshot_sum,
		.plan_sum = rerun->plan_sum,
		.request_sum = rerun->sums_requests ? requests_sum(requests_here(rerun)) : -1,
	};

	rerun->pack_sums = store_join_sums(rerun->pack_sums, &here);
	rerun->pack_count++;
	if (input->pack_count == 0 && input->packed)
		return;
	if (input->pack_count == rerun->pack_count && input->pack_sums != rerun->pack_sums)
		diverge_sums(rerun, "sums", (int64_t)input->pack_sums, (int64_t)rerun->pack_sums);
	rerun->pack_sums = 0;
	rerun->pack_count = 0;
}

/* Records: passed on to where they are made again, until the process ended. */

static struct engine_recorder *records_of(struct engine_recorder *base)
{
	struct rerun *rerun = (struct rerun *)base;

	return rerun->records.recorder && !rerun->over
		       ? recorder_store_engine(rerun->records.recorder)
		       : NULL;
}

static bool record_task(struct engine_recorder *base, const struct engine_task *task)
{
	struct engine_recorder *records = records_of(base);

	return !records || records->task(records, task);
}

static bool record_suspension(struct engine_recorder *base,
			      const struct engine_suspension *suspension)
{
	struct engine_recorder *records = records_of(base);

	return !records || records->suspension(records, suspension);
}

static bool record_migration(struct engine_recorder *base, const struct engine_migration *migration)
{
	struct engine_recorder *records = records_of(base);

	return !records || records->migration(records, migration);
}

static bool record_lost(struct engine_recorder *base, const struct engine_task *task,
			double ended_s, const char *reason)
{
	struct engine_recorder *records = records_of(base);

	return !records || records->lost(records, task, ended_s, reason);
}

static bool record_event(struct engine_recorder *base, double time_s, const char *kind,
			 const char *detail)
{
	struct engine_recorder *records = records_of(base);

	return !records || records->event(records, time_s, kind, detail);
}

/* With the last flush that was stored the records ended. */
static bool record_flush(struct engine_recorder *base)
{
	struct rerun *rerun = (struct rerun *)base;
	struct engine_recorder *records = records_of(base);
	const bool good = !records || records->flush(records);

	if (rerun->input && ++rerun->flushes == rerun->input->cut) {
		rerun->requests = *stored_backend_requests(rerun->backend);
		rerun->over = true;
	}
	return good;
}

static bool open_records(struct records *records, const struct store_run *run, GError **error)
{
	struct store_run row = *run;

	records->dir = g_dir_make_tmp("virtbed-rerun-XXXXXX", error);
	if (!records->dir)
		return false;
	records->store = store_open(records->dir, true, error);
	if (!records->store || !store_add_run(records->store, &row, error))
		return false;
	records->run = row.run;
	return true;
}

static void close_records(struct records *records)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	recorder_store_free(records->recorder);
	store_close(records->store);
	for (gsize i = 0; records->dir && i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(records->dir, files[i], NULL);

		g_unlink(path);
	}
	if (records->dir)
		g_rmdir(records->dir);
	g_free(records->dir);
}

/* Inputs. */

/* The kind of the figure is for users alone. */
static double account_j(uint32_t task, enum engine_energy_kind *ret_kind, void *data)
{
	return stored_backend_other(((struct rerun *)data)->backend);
}

static bool is_damaged(const struct rerun *rerun, GError **error)
{
	return error_fail(error, RERUN_ERROR, RERUN_ERROR_DAMAGED,
			  "input %u (%s) is not what this virtbed writes", rerun->input->n,
			  input_title(rerun->input->kind));
}

/* The detail of the first "begin" at or after the input; NULL: there is none. */
static bool find_setup(struct rerun *rerun, json_t **ret_setup, GError **error)
{
	g_autofree char *text = store_next_begin(rerun->store, rerun->run->run, rerun->input->n);

	*ret_setup = text ? json_parse(text, strlen(text), "the beginning of the run", NULL) : NULL;
	return !text || *ret_setup || is_damaged(rerun, error);
}

/* Makes another engine: at the beginning, and after a restart. */
static bool make_engine(struct rerun *rerun, GError **error)
{
	g_autoptr(json_t) setup = NULL;

	if (!find_setup(rerun, &setup, error))
		return false;
	engine_free(rerun->engine);
	backend_destroy(rerun->backend);
	make_plugin(rerun);
	rerun->backend = stored_backend_new(setup);
	rerun->setup.recorder = &rerun->recorder;
	rerun->sums_requests = json_is_true(json_object_get(setup, "requests"));
	if (json_is_true(json_object_get(setup, "account"))) {
		rerun->setup.task_ended_j = account_j;
		rerun->setup.task_ended_data = rerun;
	}
	if (rerun->records.dir) {
		recorder_store_free(rerun->records.recorder);
		rerun->records.recorder =
			recorder_store_new(rerun->records.store, rerun->records.run,
					   rerun->setup.system, true);
	}
	rerun->engine = engine_new(&rerun->setup, rerun->backend);
	return true;
}

/* The run continues after its process had ended: from the records that were made until then. */
static bool restore(struct rerun *rerun, GError **error)
{
	if (!rerun->engine || rerun->setup.open)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "input %u: the run continues after a restart, and the store has "
				  "no state of all its tasks at that time",
				  rerun->input->n);
	if (rerun->records.recorder && !recorder_store_finish(rerun->records.recorder, error))
		return false;
	if (!make_engine(rerun, error))
		return false;
	rerun->begun = false;
	rerun->result.ended = false;
	rerun->result.restarts++;
	if (!stored_backend_begin(rerun->backend, rerun->input->time_s, rerun->input->answers))
		return is_damaged(rerun, error);
	return recorder_store_restore(rerun->records.store, rerun->records.run, &rerun->setup,
				      rerun->engine, NULL, error);
}

/* Whether the run that is made again has the settings, the system and the tasks of the run. */
static void compare_setup(struct rerun *rerun, const json_t *stored)
{
	g_autoptr(json_t) here = input_write_setup(&rerun->setup, rerun->backend);

	json_object_set(here, "backend", json_object_get(stored, "backend"));
	/* A full state has not all tasks that ended before it. */
	if (rerun->setup.open && json_object_get(stored, "tasks"))
		json_object_set(here, "tasks", json_object_get(stored, "tasks"));
	/* Version 11 of the store had no sums of requests. */
	if (!json_object_get(stored, "requests"))
		json_object_del(here, "requests");
	if (!json_equal((json_t *)stored, here) && begin_divergence(rerun))
		divergence_of_json(stored, here, "setup", &rerun->result.divergence);
}

/* Full states of a service. */

/* Continues from a full state. */
static bool load_state(struct rerun *rerun, const struct rerun_state *state, GError **error)
{
	const bool account = json_is_true(json_object_get(state->setup, "account"));

	rerun->result.restarts += rerun->engine != NULL;
	g_clear_pointer(&rerun->engine, engine_free);
	g_clear_pointer(&rerun->backend, backend_destroy);
	rerun_setup_clear(&rerun->made);
	if (!rerun_state_setup(state, &rerun->made, error))
		return false;
	rerun->setup = rerun->made.setup;
	rerun->setup.recorder = &rerun->recorder;
	make_plugin(rerun);
	stored_platform_init(&rerun->platform);
	rerun->setup.platform = &rerun->platform.base;
	rerun->setup.task_ended_j = account ? account_j : NULL;
	rerun->setup.task_ended_data = rerun;
	rerun->sums_requests = json_is_true(json_object_get(state->setup, "requests"));
	rerun->backend = stored_backend_new(state->setup);
	rerun->engine = engine_new(&rerun->setup, rerun->backend);
	compare_setup(rerun, state->setup);
	if (rerun->result.divergence.input == 0 && !engine_load(rerun->engine, state->engine))
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_DAMAGED,
				  "the full state before input %u is not what this virtbed writes",
				  rerun->input->n);
	rerun->begun = !rerun->next_state->start;
	rerun->over = false;
	rerun->result.ended = false;
	rerun->decision = state->decision;
	return true;
}

/*
 * A full state without tasks that have ended: those of the rerun may be fewer, since an account may
 * still correct what was final when it began. New reference.
 */
static json_t *without_ended(const json_t *state)
{
	json_t *copy = json_copy((json_t *)state);
	json_t *tasks = json_array();
	json_t *task;
	size_t i;

	json_array_foreach (json_object_get(state, "tasks"), i, task) {
		const json_int_t number = json_integer_value(json_object_get(task, "state"));

		if (number < 0 || number >= ENGINE_TASK_STATES ||
		    !engine_task_state_in((enum engine_task_state)number, ENGINE_TASK_OVER))
			json_array_append(tasks, task);
	}
	json_object_set_new(copy, "tasks", tasks);
	return copy;
}

/* Compares the engine with a full state of its run. */
static void compare_state(struct rerun *rerun, const json_t *stored)
{
	g_autoptr(json_t) saved = engine_save(rerun->engine);
	g_autoptr(json_t) was = without_ended(stored);
	g_autoptr(json_t) is = saved ? without_ended(saved) : NULL;

	if (!is)
		diverge(rerun, "state", "nothing is being decided", "it is not so");
	else if (!json_equal(was, is) && begin_divergence(rerun))
		divergence_of_json(was, is, "state", &rerun->result.divergence);
	stored_backend_restart(rerun->backend);
}

/* Takes the full state that was stored before the present input. */
static bool take_state(struct rerun *rerun, GError **error)
{
	const struct store_state *stored = rerun->next_state;
	struct store_state *next;
	struct rerun_state state;
	GError *reason = NULL;
	bool good = rerun_state_read(stored, &state, error);

	if (!good)
		return false;
	if (rerun->engine && !stored->start)
		compare_state(rerun, state.engine);
	else
		good = load_state(rerun, &state, error);
	rerun_state_clear(&state);
	rerun->result.states += good;
	g_clear_pointer(&rerun->submitted, json_decref);
	next = store_next_state(rerun->store, rerun->run->run, stored->n + 1, &reason);
	store_state_free(rerun->next_state);
	rerun->next_state = next;
	if (reason)
		g_propagate_error(error, reason);
	return good && !reason;
}

static bool begin(struct rerun *rerun, const json_t *detail, GError **error)
{
	if (rerun->begun)
		return is_damaged(rerun, error);
	if (!rerun->engine && !make_engine(rerun, error))
		return false;
	compare_setup(rerun, detail);
	if (!stored_backend_begin(rerun->backend, rerun->input->time_s, rerun->input->answers))
		return is_damaged(rerun, error);
	rerun->begun = true;
	engine_begin_run(rerun->engine);
	return true;
}

/* Whether an input of that kind comes in this state of the run. */
static bool comes_now(const struct rerun *rerun, enum engine_input_kind kind)
{
	const double time_s = rerun->input->time_s;

	switch (kind) {
	case ENGINE_INPUT_TIME:
	case ENGINE_INPUT_EVENT:
	case ENGINE_INPUT_LATE:
		return rerun->begun && isfinite(time_s);
	case ENGINE_INPUT_STOP:
	case ENGINE_INPUT_FINISH:
		return rerun->begun && !rerun->result.ended;
	case ENGINE_INPUT_SUSPEND:
	case ENGINE_INPUT_RESUME:
	case ENGINE_INPUT_MIGRATE:
		return true;
	default: /* of services */
		return rerun->setup.open != NULL;
	}
}

/* Hands the input over. `detail` may be NULL. */
static bool hand_over(struct rerun *rerun, enum engine_input_kind kind,
		      enum backend_event_kind event_kind, const json_t *detail, GError **error)
{
	const struct store_input *input = rerun->input;
	struct input_event read;

	if (kind == ENGINE_INPUT_BEGIN)
		return begin(rerun, detail, error);
	if (kind == ENGINE_INPUT_RESTORE)
		return restore(rerun, error);
	/* A setting may come before the run begins. */
	if (!rerun->engine && kind >= ENGINE_INPUT_SUBMIT && !make_engine(rerun, error))
		return false;
	if (!rerun->engine)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "the inputs before number %u are not in the store", input->n);
	if (!comes_now(rerun, kind) ||
	    !stored_backend_begin(rerun->backend, input->time_s, input->answers))
		return is_damaged(rerun, error);
	switch (kind) {
	case ENGINE_INPUT_TIME:
		engine_event(rerun->engine, &(struct backend_event){.time_s = input->time_s});
		return true;
	case ENGINE_INPUT_EVENT:
	case ENGINE_INPUT_LATE:
		if (kind == ENGINE_INPUT_LATE)
			event_kind = BACKEND_EVENT_ENDED;
		if (!input_read_event(event_kind, input, detail, &read))
			return is_damaged(rerun, error);
		if (kind == ENGINE_INPUT_EVENT)
			engine_event(rerun->engine, &read.event);
		else
			engine_late_event(rerun->engine, &read.event);
		input_event_clear(&read);
		return true;
	case ENGINE_INPUT_STOP:
		engine_stop_run(rerun->engine);
		return true;
	case ENGINE_INPUT_FINISH:
		engine_finish_run(rerun->engine, &rerun->result.engine);
		rerun->result.ended = true;
		return true;
	default:
		return rerun_request(rerun->engine, rerun->setup.system, kind, input->time_s,
				     detail) ||
		       is_damaged(rerun, error);
	}
}

/* Whether the engine has come to its end in this input as the run has. */
static void compare_end(struct rerun *rerun, enum engine_input_kind kind)
{
	const bool stored = kind == ENGINE_INPUT_STOP || kind == ENGINE_INPUT_LATE ||
			    kind == ENGINE_INPUT_FINISH;

	if (!rerun->over && stored && !engine_has_ended(rerun->engine))
		diverge(rerun, "end", "the run has ended", "it has not");
}

static bool handle(struct rerun *rerun, const struct store_input *input, GError **error)
{
	enum engine_input_kind kind;
	enum backend_event_kind event;
	g_autoptr(json_t) detail = NULL;
	bool was_ended;

	rerun->input = input;
	if (rerun->next_state && rerun->next_state->n <= input->n) {
		if (!take_state(rerun, error))
			return false;
		if (rerun->result.divergence.input != 0)
			return true;
	}
	rerun->snapshot_sum = rerun->plan_sum = -1;
	rerun->flushes = 0;
	if (!input_find(input->kind, &kind, &event))
		return is_damaged(rerun, error);
	if (rerun->over && kind != ENGINE_INPUT_RESTORE)
		return error_fail(
			error, RERUN_ERROR, RERUN_ERROR_DAMAGED,
			"input %u: the run continues without a restart, though its process had ended",
			input->n);
	rerun->over = false;
	was_ended = rerun->engine && engine_has_ended(rerun->engine);
	/* Each answer of the policy's thread has sums. */
	if (input->snapshot_sum != -1)
		stored_platform_answer(&rerun->platform);
	if (input->detail)
		detail = json_parse(input->detail, strlen(input->detail), "an input", NULL);
	if (kind == ENGINE_INPUT_ENERGY && !detail)
		detail = input_read_energy(input);
	if (kind == ENGINE_INPUT_SUBMIT && !detail)
		detail = json_incref(rerun->submitted); /* as the one before it */
	if (kind == ENGINE_INPUT_SUBMIT && detail) {
		json_decref(rerun->submitted);
		rerun->submitted = json_incref(detail);
	}
	if ((input->detail && !detail) || fabs(input->time_s) > STORED_TIME_MAX_S)
		return is_damaged(rerun, error);
	if (was_ended && (kind == ENGINE_INPUT_TIME || kind == ENGINE_INPUT_EVENT))
		diverge(rerun, "end", "the run has not ended", "it has");
	if (!hand_over(rerun, kind, event, detail, error))
		return false;
	if (rerun->setup.outside && rerun->setup.outside->problem)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS, "%s",
				  rerun->setup.outside->problem);
	if (stored_backend_is_damaged(rerun->backend))
		return is_damaged(rerun, error);
	if (!stored_backend_end(rerun->backend) && !rerun->over)
		diverge(rerun, "answers", "more", "fewer readings of clock and energy");
	compare_sums(rerun);
	compare_requests(rerun);
	compare_pack(rerun);
	compare_end(rerun, kind);
	/* Between two inputs, as in the run. */
	if (kind == ENGINE_INPUT_RESTORE)
		engine_queue_again(rerun->engine);
	rerun->result.inputs++;
	return true;
}

/* The result. */

static void compare_number(struct rerun *rerun, const char *field, double stored, double here)
{
	g_autofree char *was = NULL;
	g_autofree char *is = NULL;

	if (stored == here || (isnan(stored) && isnan(here)))
		return;
	was = g_strdup_printf("%.17g", stored);
	is = g_strdup_printf("%.17g", here);
	diverge(rerun, field, was, is);
}

/* At the end of the inputs: whether the run ends there, and with it its decisions. */
static void compare_rest(struct rerun *rerun)
{
	const char *ended_by = rerun->run->ended_by;
	struct store_decision *further = NULL;

	if (!ended_by || g_str_equal(ended_by, engine_end_name(ENGINE_END_ABORTED)))
		return;
	if (!rerun->result.ended)
		diverge(rerun, "end", "the run has ended", "there are no further inputs");
	else if (rerun->recorder.decision)
		further =
			store_decision_after(rerun->store, rerun->run->run, rerun->decision, NULL);
	if (further)
		diverge(rerun, "decision", "made", "none");
	store_decision_free(further);
}

/*
 * Corrects a measured result as the run's was: samples that came after its end may have shown that
 * the limit was reached before it, and tasks that ended after the end do not count.
 */
static void correct_result(struct rerun *rerun, struct engine_result *result)
{
	const struct store_run *run = rerun->run;
	struct engine_task late;

	if (result->ended_by != ENGINE_END_LIMIT && rerun->setup.limit_j > 0 &&
	    g_str_equal(run->ended_by, engine_end_name(ENGINE_END_LIMIT)) &&
	    run->ended_s <= result->ended_s) {
		result->ended_by = ENGINE_END_LIMIT;
		result->ended_s = run->ended_s;
	}
	result->tasks_arrived = 0;
	for (uint32_t i = 0; i < engine_tasks_count(rerun->engine); i++) {
		const struct engine_task *task = engine_task_at(rerun->engine, i);

		result->tasks_arrived += task->task->arrival_s <= result->ended_s;
		run_overshoot_correct(task, result, &late);
	}
}

/* The energy of a measured run is by all its samples, which the engine has not seen. */
static void compare_result(struct rerun *rerun)
{
	const struct store_run *run = rerun->run;
	struct engine_result *result = &rerun->result.engine;

	if (!rerun->result.ended || !run->ended_by ||
	    (run->measured && result->ended_by == ENGINE_END_ABORTED))
		return;
	if (run->measured)
		correct_result(rerun, result);
	if (g_strcmp0(run->ended_by, engine_end_name(result->ended_by)) != 0)
		diverge(rerun, "ended_by", run->ended_by, engine_end_name(result->ended_by));
	compare_number(rerun, "ended_s", run->ended_s, result->ended_s);
	compare_number(rerun, "utility", run->utility, result->utility);
	if (!run->measured)
		compare_number(rerun, "energy_j", run->energy_j, result->energy_j);
	compare_number(rerun, "tasks_arrived", run->tasks_arrived, result->tasks_arrived);
	compare_number(rerun, "tasks_completed", run->tasks_completed, result->tasks_completed);
	compare_number(rerun, "tasks_failed", run->tasks_failed, result->tasks_failed);
	compare_number(rerun, "tasks_dropped", run->tasks_dropped, result->tasks_dropped);
}

bool rerun_until(struct rerun *rerun, uint32_t until, GError **error)
{
	struct rerun_result *result = &rerun->result;
	uint32_t last = rerun->last;
	bool good = true;

	until = MIN(until, rerun->count);
	while (good && last < until && result->divergence.input == 0) {
		g_autoptr(GPtrArray) inputs =
			store_inputs_after(rerun->store, rerun->run->run, last,
					   MIN(READ_AT_ONCE, until - last), error);

		if (!inputs || inputs->len == 0)
			return inputs != NULL;
		for (guint i = 0; good && i < inputs->len && result->divergence.input == 0; i++) {
			const struct store_input *input = inputs->pdata[i];

			if (input->n != last + 1)
				return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
						  "the inputs from number %u to %u are not in "
						  "the store",
						  last + 1, input->n - 1);
			rerun->last = last = input->n;
			good = handle(rerun, input, error);
			if (good && last == rerun->count) {
				compare_rest(rerun);
				compare_result(rerun);
			}
		}
		rerun->input = NULL;
		if (rerun->progress)
			rerun->progress(last, rerun->count, rerun->progress_data);
	}
	return good;
}

bool rerun_reload(struct rerun *rerun)
{
	g_autoptr(json_t) state = rerun->begun ? engine_save(rerun->engine) : NULL;
	g_autoptr(json_t) again = NULL;

	if (!state)
		return false;
	engine_free(rerun->engine);
	rerun->engine = engine_new(&rerun->setup, rerun->backend);
	g_assert_true(engine_load(rerun->engine, state));
	again = engine_save(rerun->engine);
	g_assert_true(json_equal(state, again));
	return true;
}

/* Forks. */

/* Brings a task into the simulation as the backend of the run had it. */
static void carry(struct rerun *rerun, struct backend *sim, uint32_t index)
{
	const struct engine_task *task = engine_task_at(rerun->engine, index);
	const enum engine_task_state state = task->state;
	const bool resuming = state == ENGINE_TASK_RESUMING;
	const bool suspended = resuming || engine_task_state_in(state, ENGINE_TASK_ANY_SUSPENDED);
	const double interval_s = suspended ? 0 : fmax(0, backend_now_s(sim) - task->since_s);
	const struct backend_sim_carried carried = {
		.placed = engine_task_allocation(task),
		.attempt = task->attempts,
		.earlier_s = task->executed_s,
		.interval_s = interval_s,
		.progress_s = rerun->setup.system->shared
				      ? engine_virtual_time_s(rerun->engine, index)
				      : task->executed_s + interval_s,
		.yield = task->yield > 0 ? task->yield : 1,
		/* A suspension that is under way is requested below. */
		.suspensions =
			task->suspensions - engine_task_state_in(state, ENGINE_TASK_ANY_SUSPENDING),
		.reported = state != ENGINE_TASK_STARTING,
		.suspended = suspended,
	};

	backend_sim_carry(sim, &carried);
	if (engine_task_state_in(state, ENGINE_TASK_ANY_SUSPENDING))
		backend_suspend(sim, index, task->attempts, task->suspensions);
	if (resuming)
		backend_resume(sim, index, task->attempts, task->suspensions, task->nodes,
			       task->nodes_count);
	if (task->request == REQUEST_CANCELLED)
		backend_kill(sim, index, task->attempts);
}

/* By the time of their starts, then by number: so the simulation breaks ties between their ends. */
static int compare_starts(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct rerun *rerun = data;
	const struct engine_task *one = engine_task_at(rerun->engine, *(const uint32_t *)a);
	const struct engine_task *other = engine_task_at(rerun->engine, *(const uint32_t *)b);

	if (one->started_s != other->started_s)
		return one->started_s < other->started_s ? -1 : 1;
	return one->task->id < other->task->id ? -1 : one->task->id > other->task->id;
}

static void carry_all(struct rerun *rerun, struct backend *sim)
{
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < engine_tasks_count(rerun->engine); i++)
		if (engine_task_state_in(engine_task_at(rerun->engine, i)->state,
					 ENGINE_TASK_UNDER_WAY))
			g_array_append_val(tasks, i);
	g_array_sort_with_data(tasks, compare_starts, rerun);
	for (guint i = 0; i < tasks->len; i++)
		carry(rerun, sim, g_array_index(tasks, uint32_t, i));
}

/* Why the history cannot be left now; NULL: it can be. */
static const char *fork_refusal(const struct rerun *rerun, const struct policy *policy)
{
	const struct engine *engine = rerun->engine;

	if (rerun->result.divergence.input != 0)
		return "the run differs from what is stored before that event";
	if (!engine || !rerun->begun || rerun->over)
		return "the run is not under way after that event";
	if (engine_has_ended(engine))
		return "the run has ended by that event";
	if (rerun->setup.open)
		return "a service has no end to which it could be simulated";
	if (rerun->setup.system->queueing && backend_keeps_queues(rerun->backend))
		return "clusters kept their queues themselves, which no simulation does";
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++)
		if (engine_task_at(engine, i)->state == ENGINE_TASK_MIGRATING)
			return "a task migrates at that event; take one before or after";
	return policy ? policy_misfit(policy, rerun->setup.system) : NULL;
}

bool rerun_fork(struct rerun *rerun, struct backend *sim, const struct policy *policy,
		struct engine_result *ret_result, GError **error)
{
	const char *refusal = fork_refusal(rerun, policy);

	if (refusal)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_FORK, "%s", refusal);
	backend_sim_continue(sim, stored_backend_last_s(rerun->backend),
			     stored_backend_last_j(rerun->backend));
	carry_all(rerun, sim);
	stored_backend_leave(rerun->backend, sim);
	rerun->over = true; /* nothing that follows is stored */
	g_hash_table_remove_all(rerun->fallbacks);
	stored_platform_leave(&rerun->platform);
	if (policy)
		engine_request_policy(rerun->engine, policy, rerun->setup.mapping_interval_s);
	simulation_continue(rerun->engine, sim, ret_result);
	return experiment_check_outside(&rerun->setup, ret_result, error);
}

/* Life cycle. */

bool rerun_check(struct store *store, const struct store_run *run, GError **error)
{
	uint32_t last;

	if (store_version(store) < 11)
		return error_fail(
			error, RERUN_ERROR, RERUN_ERROR_LACKS,
			"the store is of version %d: an older virtbed wrote it, and "
			"stored neither the inputs of the engine nor sums of its decisions",
			store_version(store));
	if (!store_last_input(store, run->run, &last, error))
		return false;
	if (last == 0)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "run %" PRId64 ": the store has none of its inputs", run->run);
	return true;
}

struct rerun *rerun_new(struct store *store, const struct store_run *run,
			const struct engine_setup *setup, GError **error)
{
	g_autoptr(rerun_t) rerun = NULL;
	struct store_decision *first;

	if (!rerun_check(store, run, error))
		return NULL;
	rerun = g_new0(struct rerun, 1);
	*rerun = (struct rerun){
		.recorder =
			{
				.decided = decided,
				.task = record_task,
				.suspension = record_suspension,
				.migration = record_migration,
				.lost = record_lost,
				.event = record_event,
				.flush = record_flush,
			},
		.store = store,
		.run = run,
		.setup = *setup,
		.result.divergence.task = UINT32_MAX,
	};
	rerun->fallbacks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!store_last_input(store, run->run, &rerun->count, error) ||
	    !store_each_event(store, run->run, "fallback", note_fallback, rerun->fallbacks, error))
		return NULL;
	/* Runs of many tasks may have no texts at all. */
	first = store_decision_after(store, run->run, 0, NULL);
	if (first)
		rerun->recorder.decision = decision;
	store_decision_free(first);
	if (setup->open) {
		rerun->next_state = store_next_state(store, run->run, 0, error);
		if (!rerun->next_state)
			return NULL;
		rerun->last = rerun->next_state->n - 1;
	}
	rerun->result.from = rerun->last + 1;
	if (setup->system->queueing)
		rerun->pet = recorder_store_pet_key(setup->system);
	if (!setup->open && store_count_restores(store, run->run) > 0 &&
	    !open_records(&rerun->records, run, error))
		return NULL;
	return g_steal_pointer(&rerun);
}

void rerun_free(struct rerun *rerun)
{
	if (!rerun)
		return;
	engine_free(rerun->engine);
	plugin_free(rerun->plugin);
	backend_destroy(rerun->backend);
	g_clear_pointer(&rerun->fallbacks, g_hash_table_unref);
	close_records(&rerun->records);
	rerun_setup_clear(&rerun->made);
	store_state_free(rerun->next_state);
	json_decref(rerun->submitted);
	rerun_result_clear(&rerun->result);
	g_free(rerun->pet);
	g_free(rerun);
}

void rerun_configure(struct rerun *rerun, const struct config *config)
{
	rerun->config = config;
}

void rerun_watch(struct rerun *rerun, rerun_progress_f progress, void *data)
{
	rerun->progress = progress;
	rerun->progress_data = data;
}

const struct rerun_result *rerun_result(const struct rerun *rerun)
{
	return &rerun->result;
}

double rerun_time_s(const struct rerun *rerun)
{
	return rerun->backend ? stored_backend_last_s(rerun->backend) : 0;
}

uint32_t rerun_inputs_count(const struct rerun *rerun)
{
	return rerun->count;
}

const struct engine *rerun_engine(const struct rerun *rerun)
{
	return rerun->engine;
}
