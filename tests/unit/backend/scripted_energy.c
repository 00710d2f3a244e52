/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meter of a scripted scheduler, and whose CPU time it was between its samples. */
#include "common/clock.h"
#include "tests/unit/backend/scripted_private.h"

static double watts_now(const struct scripted_scheduler *scheduler)
{
	double sum_w = scheduler->watts;
	const char *id;
	json_t *task;

	json_object_foreach ((json_t *)scheduler->tasks, id, task) {
		if (json_is_null(json_object_get(task, "outcome")) && !scripted_is_suspended(task))
			sum_w += scheduler->busy_w;
	}
	return sum_w;
}

/* CPU time that the model of this host gives each task that runs, and its VMs' own, per sample. */
#define TASK_CPU_NS 3000000
#define VMS_CPU_NS 1000000

/* What happened since the sample before, which is the last of the list. */
static void add_interval(struct scripted_scheduler *scheduler, int64_t now_ns)
{
	const size_t count = json_array_size(scheduler->samples);
	const json_t *from = count ? json_array_get(scheduler->samples, count - 1) : NULL;
	json_t *tasks;
	json_t *task;
	const char *id;

	if (!from)
		return;
	tasks = json_object();
	json_object_foreach ((json_t *)scheduler->tasks, id, task) {
		if (json_is_null(json_object_get(task, "outcome")) && !scripted_is_suspended(task))
			json_object_set_new(tasks, id, json_integer(TASK_CPU_NS));
	}
	json_array_append_new(
		scheduler->intervals,
		json_pack("{s:i, s:s, s:O, s:O, s:i, s:I, s:I, s:b, s:b, s:o, s:i, s:i}", "seq",
			  (int)json_array_size(scheduler->intervals) + 1, "host", scheduler->host,
			  "from_ns", json_object_get(from, "t_ns"), "from_uj",
			  json_object_get(from, "energy_uj"), "to_seq", (int)count + 1, "to_ns",
			  (json_int_t)now_ns, "to_uj", (json_int_t)scheduler->energy.energy_uj,
			  "gap", 0, "read", 1, "tasks", tasks, "vms_ns", VMS_CPU_NS, "others_ns",
			  0));
}

gboolean scripted_take_sample(gpointer data)
{
	struct scripted_scheduler *scheduler = data;
	int64_t now_ns = clock_now_ns();
	int64_t mw = (int64_t)(watts_now(scheduler) * 1000);

	energy_counter_add(&scheduler->energy, now_ns, mw);
	if (scheduler->metering)
		add_interval(scheduler, now_ns);
	if (scheduler->metering)
		json_array_append_new(scheduler->samples,
				      json_pack("{s:i, s:s, s:I, s:I, s:I, s:b}", "seq",
						(int)json_array_size(scheduler->samples) + 1,
						"host", scheduler->host, "t_ns", (json_int_t)now_ns,
						"mw", (json_int_t)mw, "energy_uj",
						(json_int_t)scheduler->energy.energy_uj, "gap", 0));
	return G_SOURCE_CONTINUE;
}

void scripted_scheduler_misdate_sample(struct scripted_scheduler *scheduler, int64_t t_ns)
{
	const size_t count = json_array_size(scheduler->samples);
	json_t *sample = json_copy(json_array_get(scheduler->samples, count - 1));

	json_object_set_new(sample, "seq", json_integer((json_int_t)count + 1));
	json_object_set_new(sample, "t_ns", json_integer(t_ns));
	json_array_append_new(scheduler->samples, sample);
}

void scripted_get_energy(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	struct scripted_scheduler *scheduler = data;
	size_t count = json_array_size(scheduler->samples);
	const json_t *last = count ? json_array_get(scheduler->samples, count - 1) : NULL;
	const json_t *mw = json_object_get(last, "mw");

	if (scripted_moody(scheduler, request, false))
		return;
	scripted_reply(request, 200,
		       json_pack("{s:[{s:s, s:I, s:i, s:i, s:o, s:b}]}", "hosts", "host",
				 scheduler->host, "energy_uj",
				 (json_int_t)scheduler->energy.energy_uj, "gap_ns", 0, "sample_seq",
				 (int)count, "watts",
				 last ? json_real(1e-3 * (double)json_integer_value(mw))
				      : json_null(),
				 "lost", 0));
}

void scripted_get_samples(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data)
{
	struct scripted_scheduler *scheduler = data;
	size_t after = (size_t)g_ascii_strtoull(http_request_query(request, "after"), NULL, 10);
	size_t last = json_array_size(scheduler->samples);
	json_t *list;

	if (scripted_moody(scheduler, request, false))
		return;
	list = json_array();
	for (size_t i = after; i < last; i++)
		json_array_append(list, json_array_get(scheduler->samples, i));
	scripted_reply(request, 200, json_pack("{s:o, s:i}", "samples", list, "last", (int)last));
}

/* As many as docs/reference/api.md says. */
#define USAGE_ANSWER_MAX 1000

void scripted_get_usage(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct scripted_scheduler *scheduler = data;
	size_t after = (size_t)g_ascii_strtoull(http_request_query(request, "after"), NULL, 10);
	const size_t last = json_array_size(scheduler->intervals);
	json_t *list;

	if (scripted_moody(scheduler, request, false))
		return;
	after = after > last ? 0 : after;
	list = json_array();
	for (size_t i = after; i < last && i < after + USAGE_ANSWER_MAX; i++)
		json_array_append(list, json_array_get(scheduler->intervals, i));
	scripted_reply(request, 200,
		       json_pack("{s:s, s:o}", "stream", scheduler->stream, "intervals", list));
}

void scripted_scheduler_spoil_usage(struct scripted_scheduler *scheduler, const char *key,
				    json_t *value)
{
	const size_t count = json_array_size(scheduler->intervals);
	json_t *interval = json_copy(json_array_get(scheduler->intervals, count - 1));

	json_object_set_new(interval, "seq", json_integer((json_int_t)count + 1));
	json_object_set_new(interval, key, value);
	json_array_append_new(scheduler->intervals, interval);
}

int64_t scripted_scheduler_last_interval(const struct scripted_scheduler *scheduler)
{
	return (int64_t)json_array_size(scheduler->intervals);
}

void scripted_scheduler_set_watts(struct scripted_scheduler *scheduler, double watts)
{
	scripted_take_sample(scheduler);
	scheduler->watts = watts;
	scripted_take_sample(scheduler);
}

void scripted_scheduler_set_busy(struct scripted_scheduler *scheduler, double busy_w)
{
	scheduler->busy_w = busy_w;
}

void scripted_scheduler_set_metering(struct scripted_scheduler *scheduler, bool on)
{
	scheduler->metering = on;
}
