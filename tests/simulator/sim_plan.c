/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_plan.h"

const char *const sim_death_names[] = {"killed", "without power", "without power, torn"};

const char *const sim_action_names[] = {
	"submit",  "cancel", "hold",   "release",    "suspend", "resume", "migrate", "drain",
	"undrain", "list",   "reload", "stop-local", "stop",    "die",    "die-all", "die-at-write",
	"part",    "freeze", "cut",    "slow",       "disk",    "clock",  "odd",
};

/* The kinds from then on are drawn apart, by draw_more(). */
#define DRAWN_KINDS SIM_ODD
G_STATIC_ASSERT(G_N_ELEMENTS(sim_action_names) == SIM_ACTION_KINDS);

/* How often each kind happens beside the others, where a seed has it. */
static const uint32_t weights[DRAWN_KINDS] = {
	[SIM_SUBMIT] = 12,      [SIM_CANCEL] = 4,  [SIM_HOLD] = 3,       [SIM_RELEASE] = 3,
	[SIM_SUSPEND] = 3,      [SIM_RESUME] = 3,  [SIM_MIGRATE] = 2,    [SIM_DRAIN] = 2,
	[SIM_UNDRAIN] = 2,      [SIM_LIST] = 2,    [SIM_RELOAD] = 1,     [SIM_STOP] = 1,
	[SIM_DIE] = 4,          [SIM_DIE_ALL] = 1, [SIM_STOP_LOCAL] = 1, [SIM_FREEZE] = 2,
	[SIM_DIE_AT_WRITE] = 5, [SIM_PART] = 3,    [SIM_CUT] = 2,        [SIM_SLOW] = 1,
	[SIM_DISK] = 2,         [SIM_CLOCK] = 1,
};

/* What a long task takes, in most seeds. */
#define LONG_S 60

static bool chance(struct random_stream *random, uint64_t one_in)
{
	return random_stream_below(random, one_in) == 0;
}

/* Which kinds a seed has: a bit for each. */
static uint32_t draw_kinds(struct random_stream *random)
{
	const uint64_t rare = 2 + random_stream_below(random, 4);
	uint32_t kinds = 1u << SIM_SUBMIT;

	for (uint32_t kind = 0; kind < DRAWN_KINDS; kind++)
		if (chance(random, kind >= SIM_FAULT_FIRST ? rare : 2))
			kinds |= 1u << kind;
	return kinds;
}

static enum sim_action_kind draw_kind(struct random_stream *random, uint32_t kinds)
{
	uint32_t sum = 0;
	uint64_t at;

	for (uint32_t kind = 0; kind < DRAWN_KINDS; kind++)
		sum += kinds >> kind & 1 ? weights[kind] : 0;
	at = random_stream_below(random, sum);
	for (uint32_t kind = 0; kind < DRAWN_KINDS; kind++) {
		const uint32_t weight = kinds >> kind & 1 ? weights[kind] : 0;

		if (at < weight)
			return (enum sim_action_kind)kind;
		at -= weight;
	}
	return SIM_SUBMIT;
}

static void draw_settings(struct sim_plan *plan, struct random_stream *random)
{
	static const struct {
		const char *name;
		bool drops;
	} policies[] = {
		{"easy"},         {"easy"},           {"fcfs"},
		{"conservative"}, {"max-util", true}, {"max-upt-preempt-greedy", true},
	};
	static const double intervals_s[] = {0.5, 2, 10};
	const uint64_t policy = random_stream_below(random, G_N_ELEMENTS(policies));

	plan->clusters = 1 + (uint32_t)random_stream_below(random, SIM_CLUSTERS_MAX);
	for (uint32_t i = 0; i < plan->clusters; i++) {
		plan->hosts[i] = 1 + (uint32_t)random_stream_below(random, 2);
		plan->nodes[i] = 2 + (uint32_t)random_stream_below(random, 3);
	}
	plan->policy = policies[policy].name;
	plan->drops = policies[policy].drops;
	plan->mapping_interval_s = intervals_s[random_stream_below(random, 3)];
	if (chance(random, 4)) {
		plan->energy_limit_j = 500 + random_stream_uniform(random) * 5000;
		plan->energy_window_s = 30 + random_stream_uniform(random) * 300;
	}
	plan->gentle = chance(random, 2);
	if (chance(random, 4))
		plan->retention_days =
			(60 + 2 * plan->energy_window_s + random_stream_uniform(random) * 300) /
			86400;
	plan->delay_ms = (guint)random_stream_below(random, 4);
	plan->jitter_ms = chance(random, 2) ? 0 : 1 + (guint)random_stream_below(random, 60);
	plan->work_ms = chance(random, 2) ? 0 : 1 + (guint)random_stream_below(random, 200);
}

static void add_action(struct sim_plan *plan, struct random_stream *random, double at_s,
		       enum sim_action_kind kind)
{
	struct sim_action action = {.at_s = at_s, .kind = kind};

	for (guint i = 0; i < G_N_ELEMENTS(action.numbers); i++)
		action.numbers[i] = (uint32_t)random_stream_next(random);
	g_array_append_val(plan->actions, action);
}

static int by_time(gconstpointer a, gconstpointer b)
{
	const double a_s = ((const struct sim_action *)a)->at_s;
	const double b_s = ((const struct sim_action *)b)->at_s;

	return (a_s > b_s) - (a_s < b_s);
}

/*
 * What half of the seeds have beyond the rest, by random numbers of their own: the other half, and
 * the rest of these, stay what they are without it.
 */
static void draw_more(struct sim_plan *plan, uint32_t kinds)
{
	static const double operations_s[] = {0, 0.5, 3, 20};
	struct random_stream random;
	double at_s = 5;
	double mean_s;

	random_stream_init(&random, plan->seed, 8);
	if (chance(&random, 2))
		return;
	plan->operation_s = operations_s[random_stream_below(&random, G_N_ELEMENTS(operations_s))];
	plan->other_policy = chance(&random, 2);
	if (kinds >> SIM_STOP & 1)
		plan->long_s = 300;
	if (chance(&random, 2))
		return;
	mean_s = 10 + random_stream_uniform(&random) * 60;
	while ((at_s += random_stream_exponential(&random, mean_s)) < plan->active_s)
		add_action(plan, &random, at_s, SIM_ODD);
	g_array_sort(plan->actions, by_time);
	if (!plan->gentle && chance(&random, 2))
		plan->mute = 1 + (uint32_t)random_stream_below(&random, 20);
}

struct sim_plan *sim_plan_new(uint64_t seed)
{
	struct sim_plan *plan = g_new0(struct sim_plan, 1);
	struct random_stream random;
	double at_s = 3;
	double mean_s;
	uint32_t kinds;

	random_stream_init(&random, seed, 1);
	plan->seed = seed;
	plan->long_s = LONG_S;
	draw_settings(plan, &random);
	kinds = draw_kinds(&random);
	mean_s = 0.5 + random_stream_uniform(&random) * 12;
	plan->active_s = 120 + random_stream_uniform(&random) * 600;
	plan->actions = g_array_new(FALSE, FALSE, sizeof(struct sim_action));
	if (plan->gentle)
		kinds &= ~(1u << SIM_DISK | 1u << SIM_SLOW | 1u << SIM_STOP_LOCAL);
	while ((at_s += random_stream_exponential(&random, mean_s)) < plan->active_s)
		add_action(plan, &random, at_s, draw_kind(&random, kinds));
	draw_more(plan, kinds);
	return plan;
}

struct sim_plan *sim_plan_one(const struct sim_one *one)
{
	static const struct sim_action actions[] = {
		{.at_s = 8, .kind = SIM_SUBMIT, .numbers = {0, 0, 0, 1}},
		{.at_s = 9, .kind = SIM_SUBMIT, .numbers = {3, 1, 2, 1}},
		{.at_s = 10, .kind = SIM_SUBMIT, .numbers = {2, 1, 3, 1}},
		{.at_s = 12, .kind = SIM_DRAIN, .numbers = {0, 1}},
		{.at_s = 13, .kind = SIM_HOLD, .numbers = {0}},
		{.at_s = 14, .kind = SIM_SUSPEND, .numbers = {1}},
		{.at_s = 15, .kind = SIM_MIGRATE, .numbers = {1}},
		{.at_s = 17, .kind = SIM_CANCEL, .numbers = {2}},
		{.at_s = 18, .kind = SIM_RESUME, .numbers = {1}},
		{.at_s = 20, .kind = SIM_STOP},
		{.at_s = 21, .kind = SIM_DIE, .numbers = {1, 0, 0}},
		{.at_s = 30, .kind = SIM_SUBMIT, .numbers = {0, 0, 2, 1}},
		{.at_s = 32, .kind = SIM_RELOAD, .numbers = {3}},
	};
	struct sim_plan *plan = g_new0(struct sim_plan, 1);

	plan->seed = one->change;
	plan->long_s = LONG_S;
	plan->clusters = 1;
	plan->nodes[0] = 3;
	plan->hosts[0] = 1;
	plan->policy = "easy";
	plan->mapping_interval_s = 2;
	plan->gentle = one->death == SIM_KILL && !one->fails;
	plan->one = *one;
	plan->active_s = 40;
	plan->actions = g_array_new(FALSE, FALSE, sizeof(struct sim_action));
	g_array_append_vals(plan->actions, actions, G_N_ELEMENTS(actions));
	return plan;
}

void sim_plan_free(struct sim_plan *plan)
{
	if (!plan)
		return;
	g_array_unref(plan->actions);
	g_free(plan);
}

char *sim_action_text(const struct sim_action *action)
{
	return g_strdup_printf("%.3f s: %s %u %u %u %u", action->at_s,
			       sim_action_names[action->kind], action->numbers[0],
			       action->numbers[1], action->numbers[2], action->numbers[3]);
}
