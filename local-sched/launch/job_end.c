/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a task whose ranks have ended: its outcome, its results and its output. */
#include "local-sched/launch/job_private.h"
#include "local-sched/launch/npb_output.h"
#include "local-sched/launch/task_fsm.h"

void job_decide_outcome(struct job *job)
{
	struct task *task = job->task;
	const struct job_output *output = &job->ranks[0].output;
	struct npb_output result;

	/*
	 * The results of a script come with the output of each node; the output of a benchmark
	 * comes from rank 0.
	 */
	for (uint32_t i = 0; i < (task->script_summary ? job->processes : 1); i++) {
		if (!job->ranks[i].lost_output)
			continue;
		task->outcome = TASK_OUTCOME_LOST;
		task->cause = TASK_CAUSE_VM;
		task->reason = g_strdup_printf("the output of rank %u was lost", i);
		return;
	}
	if (task->script_summary) {
		task->outcome = TASK_OUTCOME_COMPLETED;
		return;
	}
	npb_output_parse(output->out ? output->out : "", &result);
	if (npb_output_verified(&result, task->benchmark)) {
		task->outcome = TASK_OUTCOME_COMPLETED;
		task->benchmark_time_s = result.time_s;
		return;
	}
	task->outcome = TASK_OUTCOME_FAILED;
	task->reason = g_strdup_printf("%u of %u results verified", result.successful,
				       npb_output_blocks(task->benchmark));
}

void job_learn_patience(struct job *job)
{
	const struct task *task = job->task;

	if (task->outcome == TASK_OUTCOME_COMPLETED && task->progress.total &&
	    job->settings.patience)
		patience_learn(job->settings.patience, task->benchmark, task->class_,
			       job->silence.longest_s);
}

/* Results. */

/* The standard error of a script's virtbed-ranks is the stream of its results. */
static void take_results(struct job *job)
{
	g_autoptr(GPtrArray) streams =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

	if (!job->task->script_summary)
		return;
	for (uint32_t i = 0; i < job->processes; i++) {
		struct job_output *output = &job->ranks[i].output;

		g_ptr_array_add(streams, g_bytes_new_take(g_steal_pointer(&output->err),
							  output->err_length));
		output->err_length = 0;
	}
	job->results = task_script_join((GBytes *const *)streams->pdata, streams->len);
}

/* Keeps the output that was read before the VM was lost. */
static void keep_printed(struct job *job)
{
	struct rank *first = &job->ranks[0];

	if (!first->lost_output || !job->live.text)
		return;
	g_free(first->output.out);
	first->output.out_length = job->live.text->len;
	first->output.out = g_string_free(g_steal_pointer(&job->live.text), FALSE);
}

void job_end(struct job *job)
{
	struct job_output_rank *outputs = g_new0(struct job_output_rank, job->processes);
	const struct task_events *events = job->events;
	struct task *task = job->task;
	void *data = job->data;
	g_autofree char *text = NULL;
	size_t length;

	job->phase = PHASE_ENDED;
	task_fsm_move(task, TASK_FSM_END);
	keep_printed(job);
	take_results(job);
	for (uint32_t i = 0; i < job->processes; i++)
		outputs[i] = (struct job_output_rank){
			.output = &job->ranks[i].output,
			.status = job->ranks[i].status,
			.lost = job->ranks[i].lost_output,
		};
	text = job_output_text(outputs, job->processes,
			       job->task->script_summary && job->processes > 1 ? "node" : "rank",
			       &length);
	g_free(outputs);
	if (job->results)
		events->results(task, job->results, data);
	job->settings.release(job, job->settings.owner);
	events->ended(task, text, length, data);
}
