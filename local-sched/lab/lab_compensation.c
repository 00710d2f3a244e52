/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "lab"

#include "local-sched/lab/lab_compensation.h"

#include <glib/gstdio.h>
#include <inttypes.h>

#include "common/lab_state.h"
#include "common/log.h"
#include "local-sched/lab/lab_metronome.h"
#include "local-sched/lab/lab_speed.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_quotas.h"

struct lab_compensation {
	const struct lab_cgroup *cgroup;
	const struct lab_spec *spec;
	struct lab_metronome *metronome;
	struct lab_quotas *quotas;
	struct lab_speed pace;
	double now; /* the factor of this second */
	int64_t due_ns;
	char *path;
	char *counters_path;
};

struct lab_compensation *lab_compensation_start(const struct lab_cgroup *cgroup,
						const struct lab_spec *spec, GError **error)
{
	struct lab_metronome *metronome =
		lab_metronome_start(cgroup, spec->name, CONFIG_LAB_STEADY_CORES, error);
	struct lab_compensation *steady;

	if (!metronome)
		return NULL;
	steady = g_new0(struct lab_compensation, 1);
	steady->cgroup = cgroup;
	steady->spec = spec;
	steady->metronome = metronome;
	steady->quotas = lab_quotas_new(cgroup, spec->name, spec->blades_count);
	steady->now = 1;
	steady->counters_path = lab_paths_run(spec->name, LAB_STATE_METRONOME_FILE);
	steady->path = lab_paths_run(spec->name, LAB_COMPENSATION_FILE);
	return steady;
}

static uint64_t vms_ns(const struct lab_compensation *steady)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < steady->spec->blades_count; i++)
		sum += lab_cgroup_vms_ns(steady->cgroup, steady->spec->name, i + 1);
	return sum;
}

static void write_factor(const struct lab_compensation *steady)
{
	g_autofree char *text = g_strdup_printf("%.3f\n", steady->now);
	g_autoptr(GError) error = NULL;

	if (!g_file_set_contents_full(steady->path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644,
				      &error))
		log_warning("%s", error->message);
}

/* For comparisons of its speed at different times. */
static void log_counters(const struct lab_compensation *steady,
			 const struct lab_metronome_reading *beat)
{
	g_autofree char *text =
		g_strdup_printf("%" PRIu32 " %" PRIu64 "\n", beat->rounds, beat->cpu_ns);
	g_autoptr(GError) error = NULL;

	if (!g_file_set_contents_full(steady->counters_path, text, -1,
				      G_FILE_SET_CONTENTS_CONSISTENT, 0644, &error))
		log_warning("%s", error->message);
}

/* Without the gauge the quotas are those of a factor of 1. */
static void stand_still(struct lab_compensation *steady)
{
	steady->now = 1;
	g_unlink(steady->counters_path);
	if (!lab_speed_is_known(&steady->pace))
		return;
	lab_quotas_scale(steady->quotas, steady->now, LAB_COMPENSATION_APART_S);
	g_unlink(steady->path);
}

static void follow(struct lab_compensation *steady, int64_t now_ns)
{
	struct lab_metronome_reading beat;
	const bool was_known = lab_speed_is_known(&steady->pace);

	if (!lab_metronome_read(steady->metronome, &beat)) {
		stand_still(steady);
		return;
	}
	log_counters(steady, &beat);
	steady->now = lab_speed_update(&steady->pace, &(struct lab_speed_reading){
							      .at_ns = now_ns,
							      .rounds = beat.rounds,
							      .cpu_ns = beat.cpu_ns,
							      .vms_ns = vms_ns(steady),
						      });
	if (!lab_speed_is_known(&steady->pace))
		return;
	lab_quotas_scale(steady->quotas, steady->now, LAB_COMPENSATION_APART_S);
	if (!was_known)
		log_info("quotas follow the machine's speed from now on");
	write_factor(steady);
}

double lab_compensation_tick(struct lab_compensation *steady, int64_t now_ns)
{
	if (now_ns < steady->due_ns)
		return steady->now;
	steady->due_ns = MAX(steady->due_ns, now_ns - (int64_t)(LAB_COMPENSATION_APART_S * 1e9)) +
			 (int64_t)(LAB_COMPENSATION_APART_S * 1e9);
	follow(steady, now_ns);
	return steady->now;
}
