/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "local-sched/cpu/host_cap.h"

#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/cpu_freq.h"
#include "local-sched/cpu/cpu_idle.h"

#define LOG_SUBSYSTEM "caps"
#include "common/log.h"

/* In the order of the API. */
enum { KNOB_FREQUENCY = 0, KNOB_BOOST, KNOB_IDLE, KNOBS };

struct host_cap {
	const struct platform *platform;
	char *host;
	struct cap_originals *originals;
	struct cpu_freq *freq; /* NULL: not configured */
	struct cpu_idle *idle; /* NULL: not configured */
	struct host_knob knobs[KNOBS];
	bool reported[KNOBS]; /* a warning that the knob is not effective was logged */
	double check_s;
	guint timer_id;
};

static bool is_asked(const struct host_cap *cap, int knob)
{
	return knob == KNOB_IDLE ? cap->idle != NULL : cap->freq != NULL;
}

/* Warns, once for each knob, that it is not effective. */
static void warn_ineffective(struct host_cap *cap)
{
	for (int i = 0; i < KNOBS; i++) {
		const struct host_knob *knob = &cap->knobs[i];

		if (!is_asked(cap, i) || cap->reported[i] ||
		    knob->effect != HOST_KNOB_NOT_EFFECTIVE)
			continue;
		cap->reported[i] = true;
		log_warning_of(LOG_HOST(cap->host), "cap of %s at %s is not effective: %s",
			       knob->name, knob->requested, knob->reason ? knob->reason : "");
	}
}

void host_cap_check(struct host_cap *cap)
{
	if (cap->freq)
		cpu_freq_check(cap->freq, &cap->knobs[KNOB_FREQUENCY], &cap->knobs[KNOB_BOOST]);
	if (cap->idle)
		cpu_idle_check(cap->idle, &cap->knobs[KNOB_IDLE]);
	warn_ineffective(cap);
}

static void plan_check(struct host_cap *cap, double most_s);

static gboolean on_check(gpointer data)
{
	struct host_cap *cap = data;

	host_cap_check(cap);
	plan_check(cap, cap->check_s);
	return G_SOURCE_REMOVE;
}

static void plan_check(struct host_cap *cap, double most_s)
{
	const double wait_s = cap->freq ? MIN(most_s, cpu_freq_patience_s(cap->freq)) : most_s;

	cap->timer_id = platform_after_ms(cap->platform, (guint)(wait_s * 1e3), on_check, cap);
}

struct host_cap *host_cap_new(const struct host_cap_settings *settings, GError **error)
{
	struct cap_originals *originals =
		cap_originals_open(settings->platform, settings->originals, error);
	struct host_cap *cap;

	if (!originals)
		return NULL;
	cap = g_new0(struct host_cap, 1);
	cap->platform = settings->platform;
	cap->host = g_strdup(settings->host);
	cap->originals = originals;
	cap->check_s = settings->check_s > 0 ? settings->check_s : HOST_CAP_CHECK_S;
	if (settings->max_mhz > 0)
		cap->freq = cpu_freq_apply(settings->platform, settings->sys_root,
					   settings->dev_root, settings->max_mhz,
					   settings->settle_s > 0 ? settings->settle_s
								  : HOST_CAP_SETTLE_S,
					   originals, &cap->knobs[KNOB_FREQUENCY],
					   &cap->knobs[KNOB_BOOST]);
	if (settings->max_cstate)
		cap->idle = cpu_idle_apply(settings->sys_root, settings->dev_root,
					   settings->max_cstate, originals, &cap->knobs[KNOB_IDLE]);
	warn_ineffective(cap);
	plan_check(cap, MIN(HOST_CAP_FIRST_CHECK_S, cap->check_s));
	return cap;
}

void host_cap_free(struct host_cap *cap)
{
	if (!cap)
		return;
	g_clear_handle_id(&cap->timer_id, g_source_remove);
	cpu_freq_free(cap->freq);
	cpu_idle_free(cap->idle);
	cap_originals_close(cap->originals);
	for (int i = 0; i < KNOBS; i++)
		host_knob_clear(&cap->knobs[i]);
	g_free(cap->host);
	g_free(cap);
}

enum host_knob_effect host_cap_effect(const struct host_cap *cap)
{
	enum host_knob_effect least = HOST_KNOB_EFFECTIVE;

	for (int i = 0; i < KNOBS; i++) {
		/* A machine without a boost switch has no boost to switch off. */
		if (!is_asked(cap, i) || (i == KNOB_BOOST && !cap->knobs[i].set &&
					  cap->knobs[i].effect == HOST_KNOB_UNKNOWN))
			continue;
		if (cap->knobs[i].effect == HOST_KNOB_NOT_EFFECTIVE)
			return HOST_KNOB_NOT_EFFECTIVE;
		if (cap->knobs[i].effect == HOST_KNOB_UNKNOWN)
			least = HOST_KNOB_UNKNOWN;
	}
	return least;
}

json_t *host_cap_json(const struct host_cap *cap)
{
	json_t *array = json_array();

	for (int i = 0; i < KNOBS; i++) {
		const struct host_knob *knob = &cap->knobs[i];

		if (is_asked(cap, i))
			json_array_append_new(array,
					      json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:s?}", "knob",
							knob->name, "requested", knob->requested,
							"set", knob->set, "read_back",
							knob->read_back, "effective",
							host_knob_effect_name(knob->effect),
							"reason", knob->reason));
	}
	return array;
}
