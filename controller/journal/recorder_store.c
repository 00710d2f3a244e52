/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/recorder_store.h"

#include <math.h>

#include "common/decimal.h"
#include "common/json.h"
#include "controller/engine/full_state.h"
#include "controller/journal/input_json.h"
#include "controller/journal/listener.h"
#include "controller/journal/state_pack.h"
#include "controller/sched/decision_sum.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/store/store_records.h"

/*
 * The most inputs that wait for a transaction: an input that changed no records is not worth a
 * transaction of its own. After a crash it is as if it had not come. Where all is one transaction,
 * they wait to be packed.
 */
#define INPUTS_WAITING_MAX 64

/* The most packs that are made at a time: inputs of an older version may be many. */
#define PACKS_AT_ONCE 4

/* The inputs of a run (input_json.h). */
struct inputs {
	struct listener listener;
	const struct engine_setup *setup; /* of the engine that listens; NULL: none does yet */
	struct store_input now;           /* the input that is being handled */
	int64_t flushes;                  /* since it began */
	GPtrArray *waiting;               /* struct store_input: those before it */
	uint32_t rows;                    /* stored by this recorder, and not packed */
	char *submitted; /* the last detail of a SUBMIT since the last full state; NULL: none */
};

struct recorder_store {
	struct engine_recorder recorder; /* first: callbacks cast back */
	struct store *store;
	int64_t run;
	const struct sched_system *system;
	bool durable;
	uint32_t most; /* most tasks of a recorded snapshot */
	bool open;     /* a transaction is open */
	struct inputs inputs;
	char *pet;     /* the key of the matrix of execution times in meta; NULL: not stored */
	GError *error; /* the first failure */
	void (*on_event)(const char *kind, const char *detail); /* recorder_store_tell() */
};

static bool put_input(struct recorder_store *recorder, const struct store_input *input)
{
	recorder->inputs.rows++;
	return store_put_input(recorder->store, input, &recorder->error);
}

/* Stores the inputs that wait; a transaction is open. */
static bool put_waiting(struct recorder_store *recorder)
{
	GPtrArray *waiting = recorder->inputs.waiting;

	for (guint i = 0; i < waiting->len; i++)
		if (!put_input(recorder, waiting->pdata[i]))
			return false;
	g_ptr_array_set_size(waiting, 0);
	return true;
}

/* Begins a transaction unless one is open. */
static bool ensure_transaction(struct recorder_store *recorder)
{
	if (recorder->error)
		return false;
	if (recorder->open)
		return store_check_begun(recorder->store, &recorder->error);
	recorder->open = store_begin(recorder->store, &recorder->error);
	return recorder->open && (!recorder->durable || put_waiting(recorder));
}

/* Packs all inputs that were handled; a transaction is open. */
static bool pack_inputs(struct recorder_store *recorder)
{
	struct inputs *inputs = &recorder->inputs;

	if (!recorder->durable && inputs->waiting->len > 0 &&
	    !store_put_input_pack(recorder->store, inputs->waiting, &recorder->error))
		return false;
	if (!recorder->durable)
		g_ptr_array_set_size(inputs->waiting, 0);
	inputs->rows = 0;
	return store_pack_inputs(recorder->store, recorder->run,
				 inputs->now.n - inputs->listener.noting, PACKS_AT_ONCE,
				 &recorder->error);
}

static bool commit(struct recorder_store *recorder)
{
	if (recorder->error)
		return false;
	if (!recorder->open)
		return true;
	if (recorder->inputs.rows >= STORE_PACK_INPUTS && !pack_inputs(recorder))
		return false;
	recorder->open = false;
	return store_commit(recorder->store, &recorder->error);
}

/*
 * The matrix of a system with queues is large and does not change: it is stored once, under its
 * checksum, and snapshots name it.
 */
static char *pet_key(const char *text)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

	return g_strdup_printf("pet:%.16s", sum);
}

char *recorder_store_pet_key(const struct sched_system *system)
{
	g_autoptr(json_t) object = snapshot_json_pet(system);
	g_autofree char *text = json_text(object);

	return pet_key(text);
}

static bool keep_pet(struct recorder_store *recorder, const struct sched_system *system)
{
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;

	if (!system->queueing || recorder->pet)
		return true;
	object = snapshot_json_pet(system);
	text = json_text(object);
	recorder->pet = pet_key(text);
	return store_set_meta(recorder->store, recorder->pet, text, &recorder->error);
}

static uint32_t snapshot_tasks(const struct sched_snapshot *snapshot)
{
	return snapshot->waiting_count + snapshot->suspended_count + snapshot->running_count +
	       snapshot->reservations_count;
}

/* Whether an action lasts longer than until the next mapping event. */
static bool outlasts_event(const struct sched_action *action)
{
	return action->kind != SCHED_ACTION_PLACEHOLDER && action->kind != SCHED_ACTION_DEFER;
}

/*
 * A snapshot that only counts its tasks. With tens of thousands of tasks each whole snapshot takes
 * megabytes, and a service decides once a second.
 */
static json_t *brief_snapshot(const struct policy *policy, const struct sched_snapshot *snapshot)
{
	return json_pack("{s:I, s:f, s:s, s:{s:i, s:i, s:i, s:i}}", "event",
			 (json_int_t)snapshot->event, "now_s", snapshot->now_s, "policy",
			 policy->name, "left_out", "waiting", (int)snapshot->waiting_count,
			 "suspended", (int)snapshot->suspended_count, "running",
			 (int)snapshot->running_count, "reservations",
			 (int)snapshot->reservations_count);
}

static void describe(const struct engine_recorder *base, const struct policy *policy,
		     const struct sched_snapshot *snapshot, const struct sched_plan *plan,
		     struct engine_description *ret_description)
{
	const struct recorder_store *recorder = (const struct recorder_store *)base;
	const bool whole = snapshot_tasks(snapshot) <= recorder->most;
	g_autoptr(json_t) object = whole ? snapshot_json_write(snapshot, policy, recorder->pet)
					 : brief_snapshot(policy, snapshot);

	*ret_description = (struct engine_description){
		.now_s = snapshot->now_s,
		.snapshot = json_text(object),
		.actions = snapshot_text_actions(snapshot->system, plan,
						 whole ? NULL : outlasts_event),
	};
}

static bool record_described(struct engine_recorder *base,
			     const struct engine_description *description)
{
	struct recorder_store *recorder = (struct recorder_store *)base;

	return ensure_transaction(recorder) &&
	       store_add_decision(recorder->store, recorder->run, description->now_s,
				  description->snapshot, description->actions, &recorder->error);
}

static bool record_decision(struct engine_recorder *base, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	struct engine_description description;
	bool good;

	if (!ensure_transaction(recorder) || !keep_pet(recorder, snapshot->system))
		return false;
	describe(base, policy, snapshot, plan, &description);
	good = record_described(base, &description);
	g_free(description.snapshot);
	g_free(description.actions);
	return good;
}

/* "0,1,5" */
static char *nodes_text(const uint32_t *nodes, uint32_t count)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			g_string_append_c(text, ',');
		decimal_append(text, nodes[i]);
	}
	return g_string_free(text, FALSE);
}

static bool record_task(struct engine_recorder *base, const struct engine_task *task)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct sched_system *system = recorder->system;
	const bool placed = task->nodes_count > 0;
	g_autofree char *nodes = placed ? nodes_text(task->nodes, task->nodes_count) : NULL;
	const struct store_task row = {
		.run = recorder->run,
		.task = task->task->id,
		.type = task->task->row < system->rows_count
				? (char *)system->row_names[task->task->row]
				: NULL,
		.arrival_s = task->task->arrival_s,
		.utility_max = task->task->utility.max,
		.state = (char *)engine_task_state_name(task->state),
		.cluster = placed ? (char *)system->clusters[task->cluster].name : NULL,
		.nodes = nodes,
		.pstate = task->pstate,
		.reservation = task->reservation,
		.attempts = task->attempts,
		.planned_start_s = task->planned_start_s,
		.started_s = task->started_s,
		.ended_s = task->ended_s,
		.exec_s = task->exec_s,
		.etc_s = isfinite(task->etc_s) ? task->etc_s : (double)NAN, /* not known */
		.energy_j = task->energy_j,
		.eec_j = task->eec_j,
		.utility = task->utility,
		.reason = (char *)task->reason,
		.deadline_s = system->queueing ? task->task->deadline_s : (double)NAN,
		.chance = task->chance,
		.threshold = task->threshold,
		.queued_n = task->queued_n,
	};

	return ensure_transaction(recorder) &&
	       store_put_task(recorder->store, &row, &recorder->error);
}

/* Records the overhead of the step that has just ended, by VM. */
static bool record_vms(struct recorder_store *recorder, const struct engine_suspension *suspension)
{
	const bool resumed = !isnan(suspension->since_s);

	for (uint32_t i = 0; i < suspension->vms_count; i++) {
		const struct backend_overhead *overhead = &suspension->vms[i].overhead;
		const struct store_vm_overhead row = {
			.run = recorder->run,
			.task = suspension->task,
			.attempt = suspension->attempt,
			.n = suspension->n,
			.vm = i,
			.freeze_s = resumed ? (double)NAN : overhead->freeze_s,
			.save_s = resumed ? (double)NAN : overhead->save_s,
			.restore_s = resumed ? overhead->restore_s : (double)NAN,
			.resume_s = resumed ? overhead->resume_s : (double)NAN,
		};

		if (!store_put_vm_overhead(recorder->store, &row, &recorder->error))
			return false;
	}
	return true;
}

static bool record_suspension(struct engine_recorder *base,
			      const struct engine_suspension *suspension)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct sched_cluster *cluster = &recorder->system->clusters[suspension->cluster];
	const bool goes = !isnan(suspension->resume_requested_s);
	const uint32_t count = suspension->nodes_count;
	g_autofree char *nodes = nodes_text(suspension->nodes, count);
	g_autofree char *to_nodes = goes ? nodes_text(suspension->to_nodes, count) : NULL;
	const struct store_suspension row = {
		.run = recorder->run,
		.task = suspension->task,
		.attempt = suspension->attempt,
		.n = suspension->n,
		.cluster = (char *)cluster->name,
		.nodes = nodes,
		.to_nodes = to_nodes,
		.by_person = suspension->by_person,
		.held = suspension->held,
		.requested_s = suspension->requested_s,
		.suspended_s = suspension->suspended_s,
		.exec_s = suspension->exec_s,
		.resume_requested_s = suspension->resume_requested_s,
		.resumed_s = suspension->resumed_s,
		.since_s = suspension->since_s,
		.freeze_s = suspension->overhead.freeze_s,
		.save_s = suspension->overhead.save_s,
		.restore_s = suspension->overhead.restore_s,
		.resume_s = suspension->overhead.resume_s,
		.skew_s = suspension->overhead.skew_s,
	};

	return ensure_transaction(recorder) &&
	       store_put_suspension(recorder->store, &row, &recorder->error) &&
	       record_vms(recorder, suspension);
}

/* Records the moves of a migration that has ended, by VM. */
static bool record_moves(struct recorder_store *recorder, const struct engine_migration *migration)
{
	for (uint32_t i = 0; i < migration->moves_count; i++) {
		const struct backend_vm_move *move = &migration->moves[i];
		const struct store_migration_vm row = {
			.run = recorder->run,
			.task = migration->task,
			.attempt = migration->attempt,
			.n = migration->n,
			.vm = i,
			.from_node = move->from,
			.to_node = move->to,
			.total_s = move->total_s,
			.downtime_s = move->downtime_s,
		};

		if (!store_put_migration_vm(recorder->store, &row, &recorder->error))
			return false;
	}
	return true;
}

static bool record_migration(struct engine_recorder *base, const struct engine_migration *migration)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	g_autofree char *nodes = nodes_text(migration->nodes, migration->nodes_count);
	g_autofree char *to_nodes = nodes_text(migration->to_nodes, migration->nodes_count);
	const struct store_migration row = {
		.run = recorder->run,
		.task = migration->task,
		.attempt = migration->attempt,
		.n = migration->n,
		.cluster = (char *)recorder->system->clusters[migration->cluster].name,
		.nodes = nodes,
		.to_nodes = to_nodes,
		.by_person = migration->by_person,
		.requested_s = migration->requested_s,
		.ended_s = migration->ended_s,
		.reason = (char *)migration->reason,
	};

	return ensure_transaction(recorder) &&
	       store_put_migration(recorder->store, &row, &recorder->error) &&
	       record_moves(recorder, migration);
}

static bool record_lost(struct engine_recorder *base, const struct engine_task *task,
			double ended_s, const char *reason)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	g_autofree char *nodes = nodes_text(task->nodes, task->nodes_count);
	const struct store_task row = {
		.run = recorder->run,
		.task = task->task->id,
		.attempts = task->attempts,
		.cluster = (char *)recorder->system->clusters[task->cluster].name,
		.nodes = nodes,
		.started_s = task->started_s,
		.ended_s = ended_s,
		.reason = (char *)reason,
	};

	return ensure_transaction(recorder) &&
	       store_put_lost(recorder->store, &row, &recorder->error);
}

static bool record_share(struct engine_recorder *base, double time_s,
			 const struct engine_task *task)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct store_share row = {
		.run = recorder->run,
		.task = task->task->id,
		.attempt = task->attempts + (task->state == ENGINE_TASK_WAITING),
		.time_s = time_s,
		.yield = task->yield,
		.virtual_s = task->virtual_s,
	};

	return ensure_transaction(recorder) &&
	       store_put_share(recorder->store, &row, &recorder->error);
}

static bool record_event(struct engine_recorder *base, double time_s, const char *kind,
			 const char *detail)
{
	struct recorder_store *recorder = (struct recorder_store *)base;

	if (!ensure_transaction(recorder) ||
	    !store_add_event(recorder->store, recorder->run, time_s, kind, detail,
			     &recorder->error))
		return false;
	if (recorder->on_event)
		recorder->on_event(kind, detail);
	return true;
}

/* Inputs. */

static struct backend *listen(struct engine_recorder *base, const struct engine_setup *setup,
			      struct backend *backend)
{
	struct inputs *inputs = &((struct recorder_store *)base)->inputs;

	inputs->setup = setup;
	listener_set(&inputs->listener, backend);
	return &inputs->listener.backend;
}

/* Leaves a detail out that is equal to the one before it. */
static void omit_repeated(char **before, char **detail)
{
	if (g_strcmp0(*before, *detail) == 0) {
		g_clear_pointer(detail, g_free);
		return;
	}
	g_free(*before);
	*before = g_strdup(*detail);
}

/* Sets what describes an input in its row. */
static void describe_input(struct inputs *inputs, const struct engine_input *input,
			   struct store_input *row)
{
	g_autoptr(json_t) setup = NULL;

	if (input->event)
		input_write_event(input->event, row);
	else if (input->kind == ENGINE_INPUT_BEGIN && inputs->setup)
		setup = input_write_setup(inputs->setup, inputs->listener.other);
	if (input->kind == ENGINE_INPUT_ENERGY)
		input_write_energy(input->detail, row);
	else if (input->detail || setup)
		row->detail = json_text(input->detail ?: setup);
	if (input->kind == ENGINE_INPUT_SUBMIT)
		omit_repeated(&inputs->submitted, &row->detail);
}

static bool record_input(struct engine_recorder *base, const struct engine_input *input)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	struct inputs *inputs = &recorder->inputs;

	answers_begin(&inputs->listener.answers, input->time_s, NULL);
	requests_begin(&inputs->listener.requests);
	inputs->listener.noting = true;
	inputs->flushes = 0;
	/* Before the first decision, which may be described on another thread. */
	if (!recorder->pet && recorder->system->queueing &&
	    (!ensure_transaction(recorder) || !keep_pet(recorder, recorder->system)))
		return false;
	inputs->now = (struct store_input){
		.run = recorder->run,
		.n = inputs->now.n + 1,
		.kind = (char *)input_name(input),
		.time_s = input->time_s,
		.task = -1,
		.attempt = -1,
		.exec_s = (double)NAN,
		.energy_j = (double)NAN,
		.snapshot_sum = -1,
		.plan_sum = -1,
		.request_sum = -1,
	};
	describe_input(inputs, input, &inputs->now);
	return !recorder->error;
}

static void note_answer(struct engine_recorder *base, double value)
{
	struct inputs *inputs = &((struct recorder_store *)base)->inputs;

	if (inputs->listener.noting)
		answers_add(&inputs->listener.answers, ANSWER_OTHER, value);
}

/* Adds the sum of a decision to that of the decisions before it in the same input. */
static void add_sum(int64_t *sum, uint64_t one)
{
	const uint64_t joined = *sum == -1 ? one : sched_sums_join((uint64_t)*sum, one);

	*sum = (int64_t)joined == -1 ? -2 : (int64_t)joined;
}

static bool note_decided(struct engine_recorder *base, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct store_input *now = &((struct recorder_store *)base)->inputs.now;

	add_sum(&now->snapshot_sum, sched_snapshot_sum(snapshot));
	add_sum(&now->plan_sum, sched_plan_sum(plan));
	return true;
}

/* Sets what is known of the input that is being handled by now. */
static void complete_input(struct inputs *inputs, int64_t cut)
{
	g_free(inputs->now.answers);
	inputs->now.answers = answers_text(&inputs->listener.answers);
	inputs->now.request_sum = requests_sum(&inputs->listener.requests);
	inputs->now.cut = cut;
}

static void clear_input(struct inputs *inputs)
{
	inputs->listener.noting = false;
	g_clear_pointer(&inputs->now.detail, g_free);
	g_clear_pointer(&inputs->now.answers, g_free);
}

/*
 * Stores an input that was handled: at once where a transaction is open, which has records of it or
 * of inputs before it; else it waits. Where all is one transaction, it waits for its pack.
 */
static bool record_input_done(struct engine_recorder *base)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	struct inputs *inputs = &recorder->inputs;
	bool good = !recorder->error;

	complete_input(inputs, -1);
	if (recorder->open && recorder->durable)
		good = good && put_input(recorder, &inputs->now);
	else if (good)
		g_ptr_array_add(inputs->waiting, record_copy(&store_input_record, &inputs->now));
	clear_input(inputs);
	if (good && recorder->durable && inputs->waiting->len >= INPUTS_WAITING_MAX)
		good = ensure_transaction(recorder) && commit(recorder);
	else if (good && !recorder->durable && inputs->waiting->len >= STORE_PACK_INPUTS)
		good = ensure_transaction(recorder) && pack_inputs(recorder);
	return good;
}

static bool record_flush(struct engine_recorder *base)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	struct inputs *inputs = &recorder->inputs;

	if (!recorder->durable)
		return !recorder->error;
	inputs->flushes++;
	if (inputs->listener.noting && recorder->open) {
		complete_input(inputs, inputs->flushes);
		if (!put_input(recorder, &inputs->now))
			return false;
	}
	return commit(recorder);
}

struct recorder_store *recorder_store_new(struct store *store, int64_t run,
					  const struct sched_system *system, bool durable)
{
	struct recorder_store *recorder = g_new0(struct recorder_store, 1);

	recorder->recorder = (struct engine_recorder){
		.decision = record_decision,
		.describe = describe,
		.described = record_described,
		.task = record_task,
		.suspension = record_suspension,
		.migration = record_migration,
		.lost = record_lost,
		.share = record_share,
		.event = record_event,
		.flush = record_flush,
		.listen = listen,
		.input = record_input,
		.input_done = record_input_done,
		.answer = note_answer,
		.decided = note_decided,
	};
	recorder->store = store;
	recorder->run = run;
	recorder->system = system;
	recorder->durable = durable;
	recorder->most = UINT32_MAX;
	answers_init(&recorder->inputs.listener.answers);
	store_last_input(store, run, &recorder->inputs.now.n, &recorder->error);
	recorder->inputs.waiting = g_ptr_array_new_with_free_func((GDestroyNotify)store_input_free);
	return recorder;
}

void recorder_store_limit(struct recorder_store *recorder, uint32_t most)
{
	recorder->most = most;
}

struct engine_recorder *recorder_store_engine(struct recorder_store *recorder)
{
	return &recorder->recorder;
}

void recorder_store_tell(struct recorder_store *recorder,
			 void (*on_event)(const char *kind, const char *detail))
{
	recorder->on_event = on_event;
}

void recorder_store_await_state(struct recorder_store *recorder)
{
	recorder->recorder.input = NULL;
	recorder->recorder.input_done = NULL;
}

/* Sets `error` to the recorder's error unless `good`. Returns `good`. */
static bool copy_error(const struct recorder_store *recorder, bool good, GError **error)
{
	if (!good)
		g_propagate_error(error, g_error_copy(recorder->error));
	return good;
}

bool recorder_store_join(struct recorder_store *recorder, GError **error)
{
	return copy_error(recorder, ensure_transaction(recorder), error);
}

/* A full state; NULL: `config` is not UTF-8. */
static GBytes *describe_state(struct recorder_store *recorder, struct engine *engine,
			      const char *config)
{
	const struct inputs *inputs = &recorder->inputs;
	g_autoptr(json_t) whole =
		json_pack("{s:o, s:o, s:s, s:I}", "engine", engine_save_head(engine), "setup",
			  input_write_setup(inputs->setup, inputs->listener.other), "config",
			  config, "decision",
			  (json_int_t)store_last_decision(recorder->store, recorder->run));

	struct state_packer *packer;

	if (!whole)
		return NULL;
	packer = state_packer_new(whole);
	engine_save_tasks(engine, state_packer_add, packer);
	return state_packer_end(packer);
}

bool recorder_store_keep_state(struct recorder_store *recorder, struct engine *engine,
			       const char *config, bool start, GError **error)
{
	struct inputs *inputs = &recorder->inputs;
	g_autoptr(GBytes) state = NULL;
	struct store_state row = {
		.run = recorder->run,
		.n = inputs->now.n + 1,
		.time_s = backend_now_s(inputs->listener.other),
		.start = start,
	};

	/* Waiting inputs first: the last decision among them is named. */
	if (!ensure_transaction(recorder))
		return copy_error(recorder, false, error);
	row.state = state = describe_state(recorder, engine, config);
	if (!state)
		return true;
	if (!pack_inputs(recorder) || !store_put_state(recorder->store, &row, &recorder->error) ||
	    !commit(recorder))
		return copy_error(recorder, false, error);
	answers_restart(&inputs->listener.answers);
	g_clear_pointer(&inputs->submitted, g_free);
	recorder->recorder.input = record_input;
	recorder->recorder.input_done = record_input_done;
	return true;
}

bool recorder_store_pack(struct recorder_store *recorder, GError **error)
{
	return copy_error(recorder,
			  ensure_transaction(recorder) && pack_inputs(recorder) && commit(recorder),
			  error);
}

bool recorder_store_finish(struct recorder_store *recorder, GError **error)
{
	const bool good = recorder->inputs.waiting->len == 0 ||
			  (ensure_transaction(recorder) && put_waiting(recorder));

	return copy_error(recorder, good && commit(recorder), error);
}

void recorder_store_fail(struct recorder_store *recorder, const GError *reason)
{
	store_rollback(recorder->store);
	recorder->open = false;
	if (!recorder->error)
		recorder->error = g_error_copy(reason);
}

void recorder_store_free(struct recorder_store *recorder)
{
	if (!recorder)
		return;
	if (recorder->open)
		store_rollback(recorder->store);
	g_clear_error(&recorder->error);
	clear_input(&recorder->inputs);
	answers_finish(&recorder->inputs.listener.answers);
	g_ptr_array_unref(recorder->inputs.waiting);
	g_free(recorder->inputs.submitted);
	g_free(recorder->pet);
	g_free(recorder);
}
