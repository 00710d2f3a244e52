/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/core/host_usage.h"

#include "common/clock.h"

enum {
	KEPT_MAX = 16384, /* four and a half hours of one host at 1 Hz */
	ANSWER_MAX = 1000,
};

/* An interval gives up waiting for a reading after this many samples at the earliest. */
enum { SAMPLES_MIN = 4 };

/* An interval of a host. */
struct interval {
	uint64_t seq;
	uint32_t index;
	struct sample_ring_entry from, to;
	bool gap;
	GArray *uses;       /* NULL: the CPU times are not known */
	int64_t others_ns;  /* of processes outside VMs; -1: not known */
};

/* A host, and its current interval. */
struct source {
	struct host_usage *usage;
	uint32_t index;
	bool begun;                    /* from and last are valid */
	bool based;                    /* the CPU times were read at `from` */
	bool reading;                    /* the CPU times for `to` are being read */
	bool gap; /* the meter only estimates a part of the interval up to `to` */
	bool gap_after;                /* the meter only estimates a part of the time after `to` */
	uint32_t samples;              /* samples since `from` */
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
	GQueue intervals; /* of struct interval, oldest first */
	uint64_t last_seq;
	char *stream;     /* names the numbers of this process's intervals */
	bool wanted;
};

/* Intervals. */

static void interval_free(gpointer data)
{
	struct interval *interval = data;

	if (interval->uses)
		g_array_unref(interval->uses);
	g_free(interval);
}

/* Adds an interval that ends at `to`. Takes over `uses`. */
static void append_interval(struct source *source, const struct sample_ring_entry *to, GArray *uses,
			    int64_t others_ns)
{
	struct host_usage *usage = source->usage;
	struct interval *interval = g_new(struct interval, 1);

	*interval = (struct interval){
		.seq = ++usage->last_seq,
		.index = source->index,
		.from = source->from,
		.to = *to,
		.gap = source->gap,
		.uses = uses,
		.others_ns = uses ? others_ns : -1,
	};
	g_queue_push_tail(&usage->intervals, interval);
	if (usage->intervals.length > KEPT_MAX)
		interval_free(g_queue_pop_head(&usage->intervals));
	source->from = *to;
	source->samples = 0;
	source->gap = source->gap_after;
	source->gap_after = false;
}

static json_t *interval_json(const struct host_usage *usage, const struct interval *interval)
{
	json_t *tasks = json_object();
	uint64_t nobodys_ns = 0;

	for (guint i = 0; interval->uses && i < interval->uses->len; i++) {
		const struct cpu_account_use *use =
			&g_array_index(interval->uses, struct cpu_account_use, i);

		if (use->owner)
			json_object_set_new(tasks, use->owner,
					    json_integer((json_int_t)use->cpu_ns));
		else
			nobodys_ns += use->cpu_ns;
	}
	return json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:o, s:I, s:o}",
			 "seq",
			 (json_int_t)interval->seq, "host",
			 usage->cluster->hosts[interval->index].name, "counter",
			 power_counter_id(usage->power, interval->index), "from_seq",
			 (json_int_t)interval->from.seq, "to_seq", (json_int_t)interval->to.seq,
			 "from_ns", (json_int_t)interval->from.t_ns, "to_ns",
			 (json_int_t)interval->to.t_ns, "from_uj",
			 (json_int_t)interval->from.energy_uj, "to_uj",
			 (json_int_t)interval->to.energy_uj, "gap", (int)interval->gap, "read",
			 (int)(interval->uses != NULL), "tasks", tasks, "vms_ns",
			 (json_int_t)nobodys_ns, "others_ns",
			 interval->others_ns >= 0 ? json_integer((json_int_t)interval->others_ns)
						  : json_null());
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
	g_autoptr(GArray) left = uses;

	if (uses && source->to.seq > source->from.seq)
		append_interval(source, &source->to, source->based ? g_steal_pointer(&left) : NULL,
					   others_ns);
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
	usage->stream = g_uuid_string_random();
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
		json_array_append_new(list, interval_json(usage, link->data));
	return json_pack("{s:s, s:o}", "stream", usage->stream, "intervals", list);
}
