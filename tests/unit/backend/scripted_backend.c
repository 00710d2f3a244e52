/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/backend/scripted_backend.h"

#include <math.h>

/* An event to come. Of kind NONE: script.call(). */
struct coming {
	struct backend_event event;
	uint32_t cluster;
	uint32_t *nodes; /* that it frees */
	uint32_t nodes_count;
};

/* How far an attempt has come. */
struct progress {
	uint32_t task, attempt, cluster;
	double since_s;    /* of its present stretch */
	double executed_s; /* in the stretches before */
	double left_s;     /* of a suspended one */
	uint32_t n;        /* the last suspension and the last resumption that were done */
	uint32_t resumed_n;
};

struct scripted {
	struct backend backend;
	const struct script *script;
	double now_s;
	double limit_j;
	GQueue coming; /* of struct coming, by time */
	GQueue late;   /* of struct coming: told by scripted_backend_run() after the run */
	GHashTable *taken;
	GHashTable *progress; /* by attempt_key() */
	uint32_t *tries;      /* per step of the script */
	GString *log;
};

static gpointer node_key(uint32_t cluster, uint32_t node)
{
	return GUINT_TO_POINTER(cluster << 16 | node);
}

static gpointer attempt_key(uint32_t task, uint32_t attempt)
{
	return GUINT_TO_POINTER(task << 8 | attempt);
}

static gint compare_coming(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct coming *a = left;
	const struct coming *b = right;

	return (a->event.time_s > b->event.time_s) - (a->event.time_s < b->event.time_s);
}

static void free_coming(gpointer data)
{
	struct coming *coming = data;

	g_free(coming->nodes);
	g_free(coming);
}

static void add_to(GQueue *queue, const struct coming *coming)
{
	g_queue_insert_sorted(queue, g_memdup2(coming, sizeof(*coming)), compare_coming, NULL);
}

static void add(struct scripted *scripted, const struct coming *coming)
{
	add_to(&scripted->coming, coming);
}

static double scripted_now_s(struct backend *backend)
{
	return ((struct scripted *)backend)->now_s;
}

static double scripted_energy_j(struct backend *backend)
{
	struct scripted *scripted = (struct scripted *)backend;

	return scripted->script->watts * scripted->now_s;
}

static void scripted_set_limit(struct backend *backend, double limit_j)
{
	((struct scripted *)backend)->limit_j = limit_j;
}

static const struct script_attempt *find_attempt(const struct script *script, uint32_t task,
						 uint32_t attempt)
{
	for (uint32_t i = 0; i < script->attempts_count; i++)
		if (script->attempts[i].task == task && script->attempts[i].attempt == attempt)
			return &script->attempts[i];
	return NULL;
}

static void take_nodes(struct scripted *scripted, uint32_t cluster, const uint32_t *nodes,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		g_assert_cmpuint(nodes[i], <, scripted->script->system->clusters[cluster].nodes);
		g_assert_true(g_hash_table_add(scripted->taken, node_key(cluster, nodes[i])));
	}
}

static struct progress *note_progress(struct scripted *scripted,
				      const struct sched_allocation *placed, uint32_t attempt,
				      double since_s)
{
	struct progress *progress = g_new0(struct progress, 1);

	progress->task = placed->task->id;
	progress->attempt = attempt;
	progress->cluster = placed->cluster;
	progress->since_s = since_s;
	g_hash_table_insert(scripted->progress, attempt_key(progress->task, attempt), progress);
	return progress;
}

void scripted_backend_adopt(struct backend *backend, const struct sched_allocation *placed,
			    uint32_t attempt, double start_s)
{
	struct scripted *scripted = (struct scripted *)backend;
	const struct script *script = scripted->script;
	const struct script_attempt *known = find_attempt(script, placed->task->id, attempt);
	const struct sched_option *option = sched_system_option(script->system, placed->task->row,
								placed->cluster, placed->pstate);
	const double exec_s = known ? known->exec_s : option->etc_s;

	take_nodes(scripted, placed->cluster, placed->nodes, placed->nodes_count);
	note_progress(scripted, placed, attempt, start_s);
	add_to(known && known->late ? &scripted->late : &scripted->coming,
	       &(struct coming){
		       .event =
			       {
				       .kind = BACKEND_EVENT_ENDED,
				       .time_s = start_s + exec_s,
				       .task = placed->task->id,
				       .attempt = attempt,
				       .outcome =
					       known ? known->outcome : BACKEND_OUTCOME_COMPLETED,
				       .exec_s = exec_s,
				       .energy_j = option->eec_j,
				       .reason = known && known->outcome == BACKEND_OUTCOME_FAILED
							 ? "bad luck"
							 : NULL,
			       },
		       .cluster = placed->cluster,
		       .nodes = g_memdup2(placed->nodes, placed->nodes_count * sizeof(uint32_t)),
		       .nodes_count = placed->nodes_count,
	       });
}

static void log_nodes(struct scripted *scripted, const uint32_t *nodes, uint32_t nodes_count)
{
	for (uint32_t i = 0; i < nodes_count; i++)
		g_string_append_printf(scripted->log, "%s%u", i ? "," : "", nodes[i]);
	g_string_append_c(scripted->log, '\n');
}

static void scripted_start(struct backend *backend, const struct sched_allocation *placed,
			   uint32_t attempt)
{
	struct scripted *scripted = (struct scripted *)backend;

	g_string_append_printf(scripted->log, "%g start %u.%u c%u ", scripted->now_s,
			       placed->task->id, attempt, placed->cluster);
	log_nodes(scripted, placed->nodes, placed->nodes_count);
	add(scripted, &(struct coming){
			      .event =
				      {
					      .kind = BACKEND_EVENT_STARTED,
					      .time_s = scripted->now_s,
					      .task = placed->task->id,
					      .attempt = attempt,
				      },
		      });
	scripted_backend_adopt(backend, placed, attempt, scripted->now_s);
}

/* How the step goes: what the script says of it, or at once. */
static struct script_step find_step(struct scripted *scripted, uint32_t task, uint32_t n,
				    bool resume)
{
	const struct script *script = scripted->script;

	for (uint32_t i = 0; i < script->steps_count; i++) {
		const struct script_step *step = &script->steps[i];

		if (step->task != task || step->n != n || step->resume != resume)
			continue;
		if (step->times == 0 || scripted->tries[i]++ < step->times)
			return *step;
	}
	return (struct script_step){
		.task = task,
		.n = n,
		.resume = resume,
		.after_s = resume ? script->resume_s : script->suspend_s,
	};
}

/* Removes the end of an attempt from the pending events, with its nodes. */
static struct coming *take_end(struct scripted *scripted, const struct progress *progress)
{
	for (GList *i = scripted->coming.head; i; i = i->next) {
		struct coming *coming = i->data;

		if (coming->event.kind != BACKEND_EVENT_ENDED || !coming->nodes ||
		    coming->event.task != progress->task ||
		    coming->event.attempt != progress->attempt)
			continue;
		g_queue_delete_link(&scripted->coming, i);
		return coming;
	}
	return NULL;
}

static void scripted_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct progress *progress =
		g_hash_table_lookup(scripted->progress, attempt_key(task, attempt));
	struct coming end = {0};

	g_string_append_printf(scripted->log, "%g kill %u.%u\n", scripted->now_s, task, attempt);
	if (!scripted->script->kills || !progress)
		return;
	g_autofree struct coming *due = take_end(scripted, progress);

	if (due)
		end = *due; /* otherwise it is suspended, and on no nodes */
	end.event = (struct backend_event){
		.kind = BACKEND_EVENT_ENDED,
		.time_s = scripted->now_s,
		.task = task,
		.attempt = attempt,
		.outcome = BACKEND_OUTCOME_KILLED,
		.exec_s = progress->executed_s,
	};
	add(scripted, &end);
}

static struct coming step_coming(struct scripted *scripted, const struct progress *progress,
				 const struct script_step *step, enum backend_event_kind kind)
{
	return (struct coming){
		.event =
			{
				.kind = kind,
				.time_s = scripted->now_s + step->after_s,
				.task = progress->task,
				.attempt = progress->attempt,
				.n = step->n,
				.reason =
					kind == BACKEND_EVENT_SUSPENSION_FAILED ? "no luck" : NULL,
			},
		.cluster = progress->cluster,
	};
}

/* The attempt is lost after that time, whatever it was about to do. */
static void lose(struct scripted *scripted, const struct progress *progress,
		 const struct script_step *step, struct coming *end)
{
	end->event.time_s = scripted->now_s + step->after_s;
	end->event.outcome = BACKEND_OUTCOME_LOST;
	end->event.exec_s = progress->executed_s;
	add(scripted, end);
}

/* Frozen at time_s, off its nodes after_s later. `end` would have been its end. */
static void suspend_at(struct scripted *scripted, struct progress *progress, double time_s,
		       double after_s, struct coming *end)
{
	const struct script_step step = {.n = progress->n};
	struct coming left = step_coming(scripted, progress, &step, BACKEND_EVENT_SUSPENDED);

	left.event.time_s = time_s + after_s;
	left.event.exec_s = time_s - progress->since_s;
	left.event.overhead.save_s = after_s;
	left.nodes = end->nodes;
	left.nodes_count = end->nodes_count;
	add(scripted, &left);
	progress->executed_s += left.event.exec_s;
	progress->left_s = end->event.time_s - time_s;
}

static void scripted_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct progress *progress =
		g_hash_table_lookup(scripted->progress, attempt_key(task, attempt));
	const struct script_step step = find_step(scripted, task, n, false);
	struct coming *end;

	g_string_append_printf(scripted->log, "%g suspend %u.%u #%u\n", scripted->now_s, task,
			       attempt, n);
	if (!progress || n <= progress->n || step.way == SCRIPT_SILENT)
		return;
	if (step.way == SCRIPT_STAYED) {
		add(scripted, &(struct coming){step_coming(scripted, progress, &step,
							   BACKEND_EVENT_SUSPENSION_FAILED)
						       .event});
		return;
	}
	end = take_end(scripted, progress);
	g_assert_nonnull(end);
	if (step.way == SCRIPT_LOST) {
		lose(scripted, progress, &step, end);
	} else {
		progress->n = n;
		suspend_at(scripted, progress, scripted->now_s, step.after_s, end);
	}
	g_free(end);
}

/* The attempt continues after_s after time_s. */
static void resume_at(struct scripted *scripted, struct progress *progress, double time_s,
		      double after_s, struct coming *end)
{
	const struct script_step step = {.n = progress->n};
	struct coming on = step_coming(scripted, progress, &step, BACKEND_EVENT_RESUMED);

	on.event.time_s = time_s + after_s;
	progress->since_s = on.event.since_s = on.event.time_s;
	on.event.overhead.resume_s = after_s;
	progress->resumed_n = progress->n;
	end->event.time_s = progress->since_s + progress->left_s;
	end->event.outcome = BACKEND_OUTCOME_COMPLETED;
	end->event.exec_s = progress->executed_s + progress->left_s;
	add(scripted, &on);
	add(scripted, end);
}

static void scripted_resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			    const uint32_t *nodes, uint32_t nodes_count)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct progress *progress =
		g_hash_table_lookup(scripted->progress, attempt_key(task, attempt));
	const struct script_step step = find_step(scripted, task, n, true);
	struct coming end;

	g_assert_nonnull(progress);
	g_string_append_printf(scripted->log, "%g resume %u.%u #%u c%u ", scripted->now_s, task,
			       attempt, n, progress->cluster);
	log_nodes(scripted, nodes, nodes_count);
	if (n <= progress->resumed_n)
		return;
	g_assert_cmpuint(n, ==, progress->n);
	take_nodes(scripted, progress->cluster, nodes, nodes_count);
	end = step_coming(scripted, progress, &step,
			  step.way == SCRIPT_STAYED ? BACKEND_EVENT_SUSPENSION_FAILED
						    : BACKEND_EVENT_ENDED);
	end.nodes = g_memdup2(nodes, nodes_count * sizeof(*nodes));
	end.nodes_count = nodes_count;
	if (step.way == SCRIPT_STAYED)
		add(scripted, &end);
	else if (step.way == SCRIPT_LOST)
		lose(scripted, progress, &step, &end);
	else
		resume_at(scripted, progress, scripted->now_s, step.after_s, &end);
}

/*
 * The task takes its new nodes at once. After resume_s its old nodes become free, or its new ones if
 * the migration fails.
 */
static void scripted_migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			     const uint32_t *nodes, uint32_t nodes_count)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct progress *progress =
		g_hash_table_lookup(scripted->progress, attempt_key(task, attempt));
	const struct script_step step = {.n = n, .after_s = scripted->script->resume_s};
	const bool unmoved = scripted->script->unmoved;
	uint32_t *there = g_memdup2(nodes, nodes_count * sizeof(*nodes));
	struct coming moved, *end;

	g_assert_nonnull(progress);
	g_string_append_printf(scripted->log, "%g migrate %u.%u #%u c%u ", scripted->now_s, task,
			       attempt, n, progress->cluster);
	log_nodes(scripted, nodes, nodes_count);
	end = take_end(scripted, progress);
	g_assert_nonnull(end);
	moved = step_coming(scripted, progress, &step,
			    unmoved ? BACKEND_EVENT_MIGRATION_FAILED : BACKEND_EVENT_MIGRATED);
	moved.nodes = unmoved ? there : end->nodes;
	moved.nodes_count = nodes_count;
	if (!unmoved)
		end->nodes = there;
	add(scripted, &moved);
	take_nodes(scripted, progress->cluster, nodes, nodes_count);
	add(scripted, end);
	g_free(end);
}

void scripted_backend_adopt_suspended(struct backend *backend,
				      const struct sched_allocation *placed, uint32_t attempt,
				      const struct script_suspended *known)
{
	struct scripted *scripted = (struct scripted *)backend;
	const struct sched_option *option =
		sched_system_option(scripted->script->system, placed->task->row, placed->cluster,
				    placed->pstate);
	const struct script_step step = {.n = known->n};
	struct progress *progress = note_progress(scripted, placed, attempt, known->since_s);
	struct coming end = step_coming(scripted, progress, &step, BACKEND_EVENT_ENDED);

	progress->executed_s = known->executed_s;
	progress->left_s = option->etc_s - known->executed_s;
	progress->n = known->n;
	progress->resumed_n = known->n - 1;
	end.nodes = g_memdup2(placed->nodes, placed->nodes_count * sizeof(*placed->nodes));
	end.nodes_count = placed->nodes_count;
	end.event.time_s = known->since_s + progress->left_s;
	if (!isnan(known->leaves_s) || known->runs || !isnan(known->goes_on_s))
		take_nodes(scripted, placed->cluster, placed->nodes, placed->nodes_count);
	if (known->runs) {
		progress->resumed_n = known->n;
		end.event.outcome = BACKEND_OUTCOME_COMPLETED;
		end.event.exec_s = option->etc_s;
		add(scripted, &end);
		return;
	}
	if (!isnan(known->leaves_s))
		suspend_at(scripted, progress, known->leaves_s, scripted->script->suspend_s, &end);
	else if (!isnan(known->goes_on_s))
		resume_at(scripted, progress, known->goes_on_s, scripted->script->resume_s, &end);
	else
		g_free(end.nodes);
}

static void happen(struct scripted *scripted, const struct coming *coming)
{
	const struct backend_event *event = &coming->event;

	scripted->now_s = MAX(scripted->now_s, event->time_s);
	for (uint32_t i = 0; i < coming->nodes_count; i++)
		g_hash_table_remove(scripted->taken, node_key(coming->cluster, coming->nodes[i]));
	if (event->kind == BACKEND_EVENT_NODE_DOWN)
		g_hash_table_add(scripted->taken, node_key(event->cluster, event->node));
	if (event->kind == BACKEND_EVENT_NODE_UP)
		g_hash_table_remove(scripted->taken, node_key(event->cluster, event->node));
	if (scripted->script->twice && coming->nodes &&
	    (event->kind == BACKEND_EVENT_ENDED || event->kind == BACKEND_EVENT_SUSPENDED))
		add(scripted, &(struct coming){.event = *event});
	if (event->kind == BACKEND_EVENT_NONE)
		scripted->script->call(event->time_s, scripted->script->data);
}

/* What happens at the very time of a call is told after it. */
void scripted_backend_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct coming *next = g_queue_peek_head(&scripted->coming);
	const double limit_s = scripted->limit_j > 0 && scripted->script->watts > 0
				       ? scripted->limit_j / scripted->script->watts
				       : (double)INFINITY;

	while (next && next->event.kind == BACKEND_EVENT_NONE && next->event.time_s <= until_s) {
		g_queue_pop_head(&scripted->coming);
		happen(scripted, next);
		free_coming(next);
		next = g_queue_peek_head(&scripted->coming);
		*ret_event = (struct backend_event){.time_s = scripted->now_s};
		if (scripted->now_s < until_s)
			return; /* the engine may want its turn earlier now */
	}
	if (next && next->event.time_s <= until_s && next->event.time_s <= limit_s) {
		g_queue_pop_head(&scripted->coming);
		happen(scripted, next);
		*ret_event = next->event;
		free_coming(next);
	} else if (limit_s <= until_s) {
		scripted->now_s = limit_s;
		scripted->limit_j = 0;
		*ret_event = (struct backend_event){BACKEND_EVENT_ENERGY_LIMIT, limit_s};
	} else {
		scripted->now_s = MAX(scripted->now_s, until_s);
		*ret_event = (struct backend_event){.time_s = until_s};
	}
}

static void scripted_destroy(struct backend *backend)
{
	struct scripted *scripted = (struct scripted *)backend;

	g_queue_clear_full(&scripted->coming, free_coming);
	g_queue_clear_full(&scripted->late, free_coming);
	g_hash_table_unref(scripted->taken);
	g_hash_table_unref(scripted->progress);
	g_free(scripted->tries);
	g_string_free(scripted->log, TRUE);
	g_free(scripted);
}

static const struct backend_ops scripted_ops = {
	.name = "scripted",
	.now_s = scripted_now_s,
	.start = scripted_start,
	.kill = scripted_kill,
	.suspend = scripted_suspend,
	.resume = scripted_resume,
	.migrate = scripted_migrate,
	.energy_j = scripted_energy_j,
	.set_limit = scripted_set_limit,
	.destroy = scripted_destroy,
};

struct backend *scripted_backend_new(const struct script *script)
{
	struct scripted *scripted = g_new0(struct scripted, 1);

	scripted->backend.ops = &scripted_ops;
	scripted->script = script;
	scripted->now_s = script->now_s;
	scripted->taken = g_hash_table_new(NULL, NULL);
	scripted->progress = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	scripted->tries = g_new0(uint32_t, script->steps_count);
	scripted->log = g_string_new(NULL);
	g_queue_init(&scripted->coming);
	g_queue_init(&scripted->late);
	for (uint32_t i = 0; i < script->events_count; i++)
		if (script->events[i].time_s >= script->now_s)
			add(scripted, &(struct coming){
					      .event =
						      {
							      .kind = script->events[i].kind,
							      .time_s = script->events[i].time_s,
							      .cluster = script->events[i].cluster,
							      .node = script->events[i].node,
							      .reason = script->events[i].reason,
						      },
				      });
	for (uint32_t i = 0; i < script->calls_count; i++)
		add(scripted, &(struct coming){.event = {.time_s = script->calls_s[i]}});
	return &scripted->backend;
}

const char *scripted_backend_log(struct backend *backend)
{
	return ((struct scripted *)backend)->log->str;
}

void scripted_backend_run(struct backend *backend, struct engine *engine,
			  struct engine_result *ret_result)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct backend_event event;
	struct coming *late;
	double late_s;

	engine_begin_run(engine);
	while (!engine_has_ended(engine)) {
		const double next_s = engine_next_s(engine);

		scripted_backend_wait(backend,
				      next_s > -(double)INFINITY ? next_s : backend_now_s(backend),
				      &event);
		engine_event(engine, &event);
	}
	if (engine_stop_run(engine)) {
		late_s = scripted->now_s;
		while ((late = g_queue_pop_head(&scripted->late))) {
			late_s = fmax(late_s, late->event.time_s);
			g_queue_insert_sorted(&scripted->coming, late, compare_coming, NULL);
		}
		for (scripted_backend_wait(backend, late_s, &event);
		     event.kind != BACKEND_EVENT_NONE && event.kind != BACKEND_EVENT_ABORTED;
		     scripted_backend_wait(backend, late_s, &event))
			engine_late_event(engine, &event);
	}
	engine_finish_run(engine, ret_result);
}
