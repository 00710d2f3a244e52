/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/batsim_output.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"

struct batsim_schedule {
	char *workload;
	char *version;
	uint32_t machines;
	GString *rows;
	uint64_t jobs;
	uint64_t finished;
	uint64_t success;
	uint64_t killed;
	uint64_t rejected;
	double first_s; /* first submission; INFINITY: none */
	double last_s;  /* last end; -INFINITY: none */
	double wait_s, wait_max_s;
	double turnaround_s, turnaround_max_s;
	double slowdown, slowdown_max;
	double computing_s; /* resource-seconds */
	double energy_j;    /* NAN: a job's is not known */
};

static const char *const state_names[] = {
	[BATSIM_SUCCESS] = "COMPLETED_SUCCESSFULLY",
	[BATSIM_FAILED] = "COMPLETED_FAILED",
	[BATSIM_WALLTIME] = "COMPLETED_WALLTIME_REACHED",
	[BATSIM_KILLED] = "COMPLETED_KILLED",
	[BATSIM_REJECTED] = "REJECTED",
	[BATSIM_RUNNING] = "RUNNING",
	[BATSIM_SUBMITTED] = "SUBMITTED",
};

struct batsim_schedule *batsim_schedule_new(const char *workload, uint32_t machines,
					    const char *version)
{
	struct batsim_schedule *schedule = g_new0(struct batsim_schedule, 1);

	schedule->workload = g_strdup(workload);
	schedule->version = g_strdup(version);
	schedule->machines = machines;
	schedule->first_s = (double)INFINITY;
	schedule->last_s = -(double)INFINITY;
	schedule->rows = g_string_new(
		"job_id,workload_name,profile,submission_time,requested_number_of_resources,"
		"requested_time,success,final_state,starting_time,execution_time,finish_time,"
		"waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,"
		"metadata\n");
	return schedule;
}

void batsim_schedule_free(struct batsim_schedule *schedule)
{
	if (!schedule)
		return;
	g_string_free(schedule->rows, TRUE);
	g_free(schedule->workload);
	g_free(schedule->version);
	g_free(schedule);
}

/* Adds a number, with all of its digits, or an empty field if it is not finite. */
static void add_number(GString *rows, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_c(rows, ',');
	if (isfinite(value))
		g_string_append(rows, g_ascii_dtostr(text, sizeof(text), value));
}

static void add_sums(struct batsim_schedule *schedule, const struct batsim_job *job)
{
	const double run_s = job->end_s - job->start_s;
	const double wait_s = job->start_s - job->submit_s;
	const double turnaround_s = job->end_s - job->submit_s;

	schedule->finished++;
	schedule->wait_s += wait_s;
	schedule->wait_max_s = fmax(schedule->wait_max_s, wait_s);
	schedule->turnaround_s += turnaround_s;
	schedule->turnaround_max_s = fmax(schedule->turnaround_max_s, turnaround_s);
	if (run_s > 0) {
		schedule->slowdown += turnaround_s / run_s;
		schedule->slowdown_max = fmax(schedule->slowdown_max, turnaround_s / run_s);
	}
	schedule->last_s = fmax(schedule->last_s, job->end_s);
	schedule->computing_s += run_s * (double)MAX(job->procs, 0);
	schedule->energy_j += job->energy_j;
}

void batsim_schedule_add(struct batsim_schedule *schedule, const struct batsim_job *job)
{
	const double run_s = job->end_s - job->start_s;
	GString *rows = schedule->rows;

	g_string_append_printf(rows, "%" G_GINT64_FORMAT ",%s,%s", job->id, schedule->workload,
			       job->profile);
	add_number(rows, job->submit_s);
	add_number(rows, job->procs >= 0 ? (double)job->procs : (double)NAN);
	add_number(rows, job->walltime_s);
	g_string_append_printf(rows, ",%d,%s", job->state == BATSIM_SUCCESS,
			       state_names[job->state]);
	add_number(rows, job->start_s);
	add_number(rows, run_s);
	add_number(rows, job->end_s);
	add_number(rows, job->start_s - job->submit_s);
	add_number(rows, job->end_s - job->submit_s);
	add_number(rows, run_s > 0 ? (job->end_s - job->submit_s) / run_s : (double)NAN);
	g_string_append_printf(rows, ",%s", job->resources ? job->resources : "");
	add_number(rows, job->energy_j);
	g_string_append(rows, ",\n");

	schedule->jobs++;
	schedule->first_s = fmin(schedule->first_s, job->submit_s);
	schedule->success += job->state == BATSIM_SUCCESS;
	schedule->killed += job->state == BATSIM_KILLED || job->state == BATSIM_WALLTIME;
	schedule->rejected += job->state == BATSIM_REJECTED;
	if (isfinite(job->start_s) && isfinite(job->end_s))
		add_sums(schedule, job);
}

void batsim_schedule_reject(struct batsim_schedule *schedule, uint64_t count)
{
	schedule->jobs += count;
	schedule->rejected += count;
}

/* The sums, in the order of their names. */
static json_t *sums_json(const struct batsim_schedule *schedule)
{
	const double finished = schedule->finished > 0 ? (double)schedule->finished : 1;
	const double jobs = schedule->jobs > 0 ? (double)schedule->jobs : 1;
	const bool any = schedule->finished > 0;
	const double span_s = any ? schedule->last_s - schedule->first_s : 0;
	json_t *sums = json_object();

	json_object_set_new(sums, "batsim_version", json_string(schedule->version));
	json_object_set_new(sums, "consumed_joules", json_number_or_null(schedule->energy_j));
	json_object_set_new(sums, "makespan", json_real(any ? schedule->last_s : 0));
	json_object_set_new(sums, "max_slowdown", json_real(schedule->slowdown_max));
	json_object_set_new(sums, "max_turnaround_time", json_real(schedule->turnaround_max_s));
	json_object_set_new(sums, "max_waiting_time", json_real(schedule->wait_max_s));
	json_object_set_new(sums, "mean_slowdown", json_real(schedule->slowdown / finished));
	json_object_set_new(sums, "mean_turnaround_time",
			    json_real(schedule->turnaround_s / finished));
	json_object_set_new(sums, "mean_waiting_time", json_real(schedule->wait_s / finished));
	json_object_set_new(sums, "nb_computing_machines", json_integer(schedule->machines));
	json_object_set_new(sums, "nb_grouped_switches", json_integer(0));
	json_object_set_new(sums, "nb_jobs", json_integer((json_int_t)schedule->jobs));
	json_object_set_new(sums, "nb_jobs_finished", json_integer((json_int_t)schedule->finished));
	json_object_set_new(sums, "nb_jobs_killed", json_integer((json_int_t)schedule->killed));
	json_object_set_new(sums, "nb_jobs_rejected", json_integer((json_int_t)schedule->rejected));
	json_object_set_new(sums, "nb_jobs_success", json_integer((json_int_t)schedule->success));
	json_object_set_new(sums, "nb_machine_switches", json_integer(0));
	json_object_set_new(sums, "success_rate", json_real((double)schedule->success / jobs));
	json_object_set_new(sums, "time_computing", json_real(schedule->computing_s));
	json_object_set_new(sums, "time_idle",
			    json_real(
				    fmax(0, span_s * schedule->machines - schedule->computing_s)));
	json_object_set_new(sums, "time_sleeping", json_real(0));
	json_object_set_new(sums, "time_switching_off", json_real(0));
	json_object_set_new(sums, "time_switching_on", json_real(0));
	json_object_set_new(sums, "time_unavailable", json_real(0));
	return sums;
}

static bool write_text(const char *dir, const char *name, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	return g_file_set_contents(path, text, -1, error);
}

bool batsim_schedule_write(const struct batsim_schedule *schedule, const char *dir, GError **error)
{
	g_autoptr(json_t) sums = sums_json(schedule);
	g_autofree char *text = json_pretty(sums);
	g_autofree char *lines = g_strconcat(text, "\n", NULL);

	if (g_mkdir_with_parents(dir, 0755) != 0)
		return error_fail(error, G_FILE_ERROR, g_file_error_from_errno(errno),
				  "cannot make the directory \"%s\": %s", dir, g_strerror(errno));
	return write_text(dir, "jobs.csv", schedule->rows->str, error) &&
	       write_text(dir, "schedule.json", lines, error);
}
