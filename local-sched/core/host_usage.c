/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/core/host_usage.h"

#include "common/clock.h"
#include "common/wire/wire_report.h"

enum { ANSWER_MAX = 1000 };

/* An interval gives up waiting for a reading after this many samples at the earliest. */
enum { SAMPLES_MIN = 4 };

/* A host, and its current interval. */
struct source {
	struct host_usage *usage;
	uint32_t index;
	bool begun;       /* from and last are valid */
	bool based;       /* the CPU times were read at `from` */
	bool reading;     /* the CPU times for `to` are being read */
	bool gap;         /* the meter only estimates a part of the interval up to `to` */
	bool gap_after;   /* the meter only estimates a part of the time after `to` */
	uint32_t samples; /* samples since `from` */
	struct sample_ring_entry from; /* the interval's begin */
	struct sample_ring_entry to;   /* the sample whose reading is under way */
	struct sample_ring_entry last;
};

struct host_usage {
	const struct config_cluster *cluster;
	const struct power *power;
	host_usage_read_f read;
	void *data;
	struct source *sources; /* by host */
	GQueue intervals;       /* of struct wire_usage, oldest first */
	uint64_t last_seq;
	char *stream; /* names the numbers of this process's intervals */
	bool wanted;
};

/* Intervals. */

static void interval_free(gpointer data)
{
	struct wire_usage *interval = data;

	for (uint32_t i = 0; i < interval->tasks_count; i++)
		g_ref_string_release((char *)interval->tasks[i].id);
	wire_usage_free(interval);
}

/*
 * Sets the CPU time of each task, and of VMs without one. A task has its intervals for as long as
 * it runs: they share the text of its id.
 */
static void set_uses(struct wire_usage *interval, const GArray *uses)
{
	interval->tasks = g_new0(struct wire_usage_task, uses->len);
	for (guint i = 0; i < uses->len; i++) {
		const struct cpu_account_use *use = &g_array_index(uses, struct cpu_account_use, i);

		if (use->owner)
			interval->tasks[interval->tasks_count++] =
				(struct wire_usage_task){g_ref_string_new_intern(use->owner),
							 (int64_t)use->cpu_ns};
		else
			interval->vms_ns += (int64_t)use->cpu_ns;
	}
}

/* Adds an interval that ends at `to`. `uses` NULL: the CPU times are not known. */
static void append_interval(struct source *source, const struct sample_ring_entry *to,
			    const GArray *uses, int64_t others_ns)
{
	struct host_usage *usage = source->usage;
	struct wire_usage *interval = record_new(&wire_usage_record);

	*interval = (struct wire_usage){
		.seq = (int64_t)++usage->last_seq,
		.host = usage->cluster->hosts[source->index].name,
		.counter = power_counter_id(usage->power, source->index),
		.from_seq = (int64_t)source->from.seq,
		.to_seq = (int64_t)to->seq,
		.from_ns = source->from.t_ns,
		.to_ns = to->t_ns,
		.from_uj = (int64_t)source->from.energy_uj,
		.to_uj = (int64_t)to->energy_uj,
		.gap = source->gap,
		.read = uses != NULL,
		.others_ns = uses ? others_ns : -1,
	};
	if (uses)
		set_uses(interval, uses);
	g_queue_push_tail(&usage->intervals, interval);
	if (usage->intervals.length > power_samples_kept(usage->power))
		interval_free(g_queue_pop_head(&usage->intervals));
	source->from = *to;
	source->samples = 0;
	source->gap = source->gap_after;
	source->gap_after = false;
}

/* Readings. */

/* Ends the reading for `to`, which has succeeded or failed. */
static void end_reading(struct source *source)
{
	source->reading = false;
	source->gap |= source->gap_after;
	source->gap_after = false;
}

/* The reading for `to` has arrived. */
static void was_read(GArray *uses, int64_t others_ns, void *data)
{
	struct source *source = data;
	g_autoptr(GArray) owned = uses;

	if (uses && source->to.seq > source->from.seq)
		append_interval(source, &source->to, source->based ? uses : NULL, others_ns);
	/* A reading that comes after its interval was reported belongs to no sample. */
	if (uses)
		source->based = source->to.seq == source->from.seq;
	end_reading(source);
}

static void request_reading(struct source *source)
{
	source->reading = true;
	source->to = source->last;
	source->usage->read(source->index, was_read, source, source->usage->data);
}

/* Stops waiting for a reading. */
static void give_up(struct source *source)
{
	source->gap |= source->gap_after;
	source->gap_after = false;
	append_interval(source, &source->last, NULL, -1);
	source->based = false;
}

static void note_sample(struct source *source, const struct sample_ring_entry *sample)
{
	source->last = *sample;
	source->samples++;
	if (!source->begun)
		source->from = *sample;
	else if (source->reading)
		source->gap_after |= sample->gap;
	else
		source->gap |= sample->gap;
	source->begun = true;
}

void host_usage_sampled(struct host_usage *usage, uint32_t index,
			const struct sample_ring_entry *sample)
{
	struct source *source = &usage->sources[index];

	if (!usage->wanted)
		return;
	note_sample(source, sample);
	if (source->samples > SAMPLES_MIN &&
	    clock_elapsed_s(source->from.t_ns, sample->t_ns) > HOST_USAGE_UNREAD_S)
		give_up(source);
	if (!source->reading)
		request_reading(source);
}

/* Life. */

struct host_usage *host_usage_new(const struct config_cluster *cluster, const struct power *power,
				  host_usage_read_f read, void *data)
{
	struct host_usage *usage = g_new0(struct host_usage, 1);

	usage->cluster = cluster;
	usage->power = power;
	usage->read = read;
	usage->data = data;
	usage->stream = platform_uuid(power_platform(power));
	usage->sources = g_new0(struct source, cluster->hosts_count);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		usage->sources[i] = (struct source){.usage = usage, .index = i};
	return usage;
}

void host_usage_free(struct host_usage *usage)
{
	if (!usage)
		return;
	g_queue_clear_full(&usage->intervals, interval_free);
	g_free(usage->sources);
	g_free(usage->stream);
	g_free(usage);
}

json_t *host_usage_json(struct host_usage *usage, uint64_t after)
{
	const uint64_t first = usage->last_seq - usage->intervals.length + 1;
	json_t *list = json_array();
	GList *link;

	usage->wanted = true;
	/* `after` is of another process, or of the far future: begin with the first interval. */
	if (after > usage->last_seq)
		after = 0;
	link = g_queue_peek_nth_link(&usage->intervals,
				     after >= first ? (guint)(after - first + 1) : 0);
	for (; link && json_array_size(list) < ANSWER_MAX; link = link->next)
		json_array_append_new(list, record_to_json(&wire_usage_record, link->data));
	return json_pack("{s:s, s:o}", "stream", usage->stream, "intervals", list);
}
