/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_usage.h"

#include <math.h>

#include "local-sched/hypervisor/domain.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

/* Counters at one instant; index 0 = start, 1 = end. */
struct reading {
	double cpu_ns; /* NAN: not read */
	double host_cpu_ns;
	double energy_uj;
	double gap_ns;
	bool came;
};

struct job_usage {
	GArray *parts;
	struct reading (*readings)[2]; /* per part */
	guint phase;                   /* which reading is under way */
	guint under_way;
	bool orphan; /* its owner has freed it */
	job_usage_done_f done;
	void *data;
};

struct question {
	struct job_usage *usage;
	guint part;
	guint phase;
};

void usage_add(struct usage *total, const struct usage *interval)
{
	total->cpu_s += interval->cpu_s;
	total->host_cpu_s += interval->host_cpu_s;
	total->host_energy_uj += interval->host_energy_uj;
	total->host_gap_ns += interval->host_gap_ns;
}

GArray *usage_parts_new(struct usage_source *sources, uint32_t sources_count, struct vm *const *vms,
			uint32_t count)
{
	GArray *parts = g_array_new(FALSE, TRUE, sizeof(struct usage_part));

	for (uint32_t s = 0; s < sources_count; s++) {
		struct usage_part part = {.source = &sources[s], .domains = g_ptr_array_new()};

		for (uint32_t i = 0; i < count; i++)
			if (vm_current_host(vms[i]) == sources[s].host)
				g_ptr_array_add(part.domains, (gpointer)vm_domain(vms[i]));
		if (part.domains->len > 0)
			g_array_append_val(parts, part);
		else
			g_ptr_array_unref(part.domains);
	}
	return parts;
}

void usage_parts_expect(GArray *parts, struct usage_source *sources, uint32_t sources_count,
			const struct vm *vm, const char *host)
{
	struct usage_part *part = NULL;
	struct usage_part more = {0};

	for (guint i = 0; i < parts->len && !part; i++) {
		struct usage_part *known = &g_array_index(parts, struct usage_part, i);

		if (g_str_equal(host_name(known->source->host), host))
			part = known;
	}
	for (uint32_t s = 0; s < sources_count && !part; s++) {
		if (!g_str_equal(host_name(sources[s].host), host))
			continue;
		more = (struct usage_part){.source = &sources[s],
					   .domains = g_ptr_array_new(),
					   .coming = g_ptr_array_new()};
		g_array_append_val(parts, more);
		part = &g_array_index(parts, struct usage_part, parts->len - 1);
	}
	if (!part || vm_current_host(vm) == part->source->host)
		return;
	g_ptr_array_add(part->domains, (gpointer)vm_domain(vm));
	if (part->coming)
		g_ptr_array_add(part->coming, (gpointer)vm);
}

static struct usage_part *part_at(struct job_usage *usage, guint i)
{
	return &g_array_index(usage->parts, struct usage_part, i);
}

static void part_clear(struct usage_part *part)
{
	g_ptr_array_unref(part->domains);
	if (part->coming)
		g_ptr_array_unref(part->coming);
}

static void really_free(struct job_usage *usage)
{
	for (guint i = 0; i < usage->parts->len; i++)
		part_clear(part_at(usage, i));
	g_array_unref(usage->parts);
	g_free(usage->readings);
	g_free(usage);
}

/* Reads the counter at `t_ns`, extrapolated from the last sample at that sample's power. */
static void read_energy(const struct usage_source *source, int64_t t_ns, struct reading *reading)
{
	const struct energy_counter *counter = NULL;

	reading->energy_uj = reading->gap_ns = (double)NAN;
	if (source->power)
		counter = power_counter(source->power, host_name(source->host));
	if (!counter || !counter->has_last)
		return;
	/* mW x ns = 1e-12 J = 1e-6 uJ */
	reading->energy_uj = (double)counter->energy_uj +
			     (double)counter->last_mw * (double)(t_ns - counter->last_ns) * 1e-6;
	reading->gap_ns = (double)counter->gap_ns;
}

/* Whether a host had nothing to do with the task: VMs were to arrive there, and none did. */
static bool was_stale(const struct usage_part *part)
{
	for (guint i = 0; part->coming && i < part->coming->len; i++)
		if (vm_current_host(part->coming->pdata[i]) == part->source->host)
			return false;
	return part->coming != NULL;
}

static bool is_read(const struct reading *r)
{
	return !isnan(r[0].host_cpu_ns) && !isnan(r[1].host_cpu_ns) && !isnan(r[0].energy_uj) &&
	       !isnan(r[1].energy_uj);
}

/* The rise of a counter. Counters never fall: where one seems to, the usage is not known. */
static double rise(double start, double end)
{
	return end >= start ? end - start : (double)NAN;
}

static void report_usage(struct job_usage *usage)
{
	struct usage total = {0};

	for (guint i = 0; i < usage->parts->len; i++) {
		const struct reading *r = usage->readings[i];

		if (was_stale(part_at(usage, i)) && !is_read(r))
			continue;
		total.cpu_s += rise(r[0].cpu_ns, r[1].cpu_ns) * 1e-9;
		total.host_cpu_s += rise(r[0].host_cpu_ns, r[1].host_cpu_ns) * 1e-9;
		total.host_energy_uj += r[1].energy_uj - r[0].energy_uj;
		total.host_gap_ns += rise(r[0].gap_ns, r[1].gap_ns);
	}
	/* Two estimates may cross within microjoules. */
	if (total.host_energy_uj < 0)
		total.host_energy_uj = 0;
	usage->done(&total, usage->data);
}

static void read_account(struct usage_part *part, const GPtrArray *times, struct reading *reading)
{
	struct cpu_account *account = part->source->account;

	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *cpu = g_ptr_array_index(times, i);

		cpu_account_add(account, cpu->name, cpu->cpu_ns);
	}
	reading->host_cpu_ns = (double)cpu_account_total_ns(account);
	reading->cpu_ns = 0;
	for (guint i = 0; i < part->domains->len; i++)
		reading->cpu_ns +=
			(double)cpu_account_domain_ns(account, g_ptr_array_index(part->domains, i));
}

/* Logs why the CPU time of a task's interval stays unknown. */
static void log_unread(const struct usage_part *part, const GError *error)
{
	log_info_of(LOG_HOST(host_name(part->source->host)),
		    "the CPU time of a task's VMs stays unknown: %s",
		    error ? error->message : "its first reading arrived when the task had stopped");
}

static void times_read(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	struct job_usage *usage = question->usage;
	struct reading *reading = &usage->readings[question->part][question->phase];
	g_autoptr(GPtrArray) times = result;

	/* Set before the account asks for the VMs' owners: job_usage_is_over(). */
	reading->came = true;
	if (times)
		read_account(part_at(usage, question->part), times, reading);
	/* A reading that was delayed until the end is useless for the start. */
	if (question->phase < usage->phase)
		reading->cpu_ns = reading->host_cpu_ns = (double)NAN;
	if (isnan(reading->cpu_ns) && !was_stale(part_at(usage, question->part)))
		log_unread(part_at(usage, question->part), error);
	usage->under_way--;
	if (usage->under_way > 0)
		return;
	if (usage->orphan)
		really_free(usage);
	else if (usage->done)
		report_usage(usage);
}

static void take_readings(struct job_usage *usage, int64_t t_ns)
{
	for (guint i = 0; i < usage->parts->len; i++) {
		struct question *question = g_new0(struct question, 1);
		struct reading *reading = &usage->readings[i][usage->phase];

		*question = (struct question){.usage = usage, .part = i, .phase = usage->phase};
		reading->cpu_ns = reading->host_cpu_ns = (double)NAN;
		read_energy(part_at(usage, i)->source, t_ns, reading);
		usage->under_way++;
		domain_cpu_times(part_at(usage, i)->source->host, times_read, question);
	}
}

bool job_usage_is_over(const struct job_usage *usage, const struct vm *vm)
{
	for (guint i = 0; i < usage->parts->len; i++) {
		const struct usage_part *part = &g_array_index(usage->parts, struct usage_part, i);

		if (part->source->host == vm_current_host(vm))
			return usage->readings[i][1].came;
	}
	return usage->phase == 1;
}

static void looked(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	struct job_usage *usage = question->usage;
	g_autoptr(GPtrArray) times = result;
	struct reading passing;

	if (times)
		read_account(part_at(usage, question->part), times, &passing);
	if (--usage->under_way > 0)
		return;
	if (usage->orphan)
		really_free(usage);
	else if (usage->done)
		report_usage(usage);
}

void job_usage_look(struct job_usage *usage)
{
	if (usage->under_way > 0)
		return;
	for (guint i = 0; i < usage->parts->len && !usage->done; i++) {
		struct question *question = g_new0(struct question, 1);

		*question = (struct question){.usage = usage, .part = i};
		usage->under_way++;
		domain_cpu_times(part_at(usage, i)->source->host, looked, question);
	}
}

struct job_usage *job_usage_start(GArray *parts, int64_t t_ns)
{
	struct job_usage *usage = g_new0(struct job_usage, 1);

	usage->parts = parts;
	usage->readings = g_malloc0_n(parts->len, sizeof(*usage->readings));
	take_readings(usage, t_ns);
	return usage;
}

void job_usage_finish(struct job_usage *usage, int64_t t_ns, job_usage_done_f done, void *data)
{
	usage->phase = 1;
	usage->done = done;
	usage->data = data;
	take_readings(usage, t_ns);
}

void job_usage_free(struct job_usage *usage)
{
	if (!usage)
		return;
	usage->orphan = true;
	if (usage->under_way == 0)
		really_free(usage);
}
