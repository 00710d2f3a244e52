/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_faults.h"

#include <errno.h>

/*
 * A controller waits for a silent local scheduler for 30 s (REMOTE_LINK_AWAY_S): shorter faults
 * excuse nothing, unless several follow one another.
 */
#define SHORT_S 8.0

/* A part that can die. */
static struct sim_part *part_of(struct sim_world *world, uint32_t number)
{
	return &world->parts[SIM_CONTROLLER + number % (world->parts_count - SIM_CONTROLLER)];
}

static enum sim_death death_of(const struct sim_world *world, uint32_t number)
{
	return world->plan->gentle || number % 2 == 0 ? SIM_KILL
						      : (enum sim_death)(number / 2 % SIM_DEATHS);
}

/* A time from `least` to `most`; most of them are short. */
static double time_of(uint32_t number, double least_s, double most_s)
{
	const double x = number / 4294967296.0;

	return least_s + (most_s - least_s) * x * x * x;
}

/* After how long a part that died is started again. */
static double restart_of(const struct sim_world *world, uint32_t number)
{
	return time_of(number, 0.4, world->plan->gentle ? 12 : 60);
}

/* A fault that ends after some time. */
struct lasting {
	struct sim_world *world;
	struct sim_part *part;
	guint from, to;
	guint ms;
};

static struct lasting *last(struct sim_world *world, double s, GSourceFunc function)
{
	struct lasting *lasting = g_new0(struct lasting, 1);

	lasting->world = world;
	platform_after_ms(virtual_platform_of(world->ground), (guint)(s * 1e3), function, lasting);
	return lasting;
}

static gboolean on_together(gpointer data)
{
	g_autofree struct lasting *lasting = data;
	struct sim_world *world = lasting->world;

	if (world->healed || world->over)
		return G_SOURCE_REMOVE;
	world->blocked[lasting->from][lasting->to]--;
	world->last_silence_s = sim_now_s(world);
	sim_log_add(world->log, sim_now_s(world), "network", "%s reaches %s again",
		    world->parts[lasting->from].name, world->parts[lasting->to].name);
	virtual_platform_release(world->ground);
	return G_SOURCE_REMOVE;
}

static void hold(struct sim_world *world, guint from, guint to, double s)
{
	struct lasting *lasting = last(world, s, on_together);

	lasting->from = from;
	lasting->to = to;
	world->blocked[from][to]++;
	sim_log_add(world->log, sim_now_s(world), "network", "%s does not reach %s for %.3f s",
		    world->parts[from].name, world->parts[to].name, s);
}

/* Gentle faults of the network do not overlap. */
static bool is_parted(const struct sim_world *world)
{
	bool parted = false;

	for (guint i = 0; i < world->parts_count; i++)
		for (guint k = 0; k < world->parts_count; k++)
			parted = parted || world->blocked[i][k] > 0;
	return world->plan->gentle && (parted || world->odd.request ||
				       sim_now_s(world) < world->last_silence_s + 2 * SHORT_S);
}

/* Between the service and another part, in one direction or both. */
static void part(struct sim_world *world, const struct sim_action *action)
{
	guint other = action->numbers[0] % (world->parts_count - 1);
	const double s = time_of(action->numbers[1], 0.2, world->plan->gentle ? SHORT_S : 90);

	if (is_parted(world))
		return;
	other = other == SIM_USERS ? SIM_USERS : other + 1;
	world->counts.partitions++;
	world->long_silence = world->long_silence || s > SHORT_S;
	if (action->numbers[2] % 4 != 0)
		hold(world, SIM_CONTROLLER, other, s);
	if (action->numbers[2] % 4 != 1)
		hold(world, other, SIM_CONTROLLER, s);
}

static gboolean on_thaw(gpointer data)
{
	g_autofree struct lasting *lasting = data;
	struct sim_world *world = lasting->world;

	if (world->healed || world->over || !lasting->part->frozen)
		return G_SOURCE_REMOVE;
	sim_part_thaw(lasting->part);
	return G_SOURCE_REMOVE;
}

static void freeze(struct sim_world *world, const struct sim_action *action)
{
	struct sim_part *part =
		&world->parts[SIM_LOCALS + action->numbers[0] % world->plan->clusters];
	const double s = time_of(action->numbers[1], 0.2, world->plan->gentle ? SHORT_S : 90);

	if (!part->up || part->dying || part->frozen || is_parted(world))
		return;
	world->counts.freezes++;
	world->long_silence = world->long_silence || s > SHORT_S;
	sim_part_freeze(part);
	last(world, s, on_thaw)->part = part;
}

static void cut(struct sim_world *world, const struct sim_action *action)
{
	const struct sim_part *at = part_of(world, action->numbers[0]);

	world->counts.cuts++;
	sim_log_add(world->log, sim_now_s(world), "network", "%u connections to %s are cut",
		    virtual_platform_cut(world->ground, at->address), at->name);
}

static gboolean on_even(gpointer data)
{
	g_autofree struct lasting *lasting = data;
	struct sim_world *world = lasting->world;

	if (world->healed || world->over)
		return G_SOURCE_REMOVE;
	world->odd.request = NULL;
	world->last_silence_s = sim_now_s(world);
	sim_log_add(world->log, sim_now_s(world), "network", "all requests fare alike again");
	return G_SOURCE_REMOVE;
}

/* Requests of a kind fail, or take long. */
static void begin_odd(struct sim_world *world, const struct sim_action *action)
{
	static const char *const requests[] = {
		"PUT /v1/tasks/", "DELETE /v1/tasks/", "GET /v1/tasks/",
		"GET /v1/tasks",  "GET /v1/events",    "GET /v1/samples",
		"GET /v1/usage",  "GET /v1/nodes",     "",
	};
	static const char *const texts[] = {"fail", "get no answer", "arrive late",
					    "are answered late"};
	const double s = time_of(action->numbers[1], 1, world->plan->gentle ? SHORT_S : 60);
	struct sim_odd odd = {
		.request = requests[action->numbers[0] % G_N_ELEMENTS(requests)],
		.how = action->numbers[2] % G_N_ELEMENTS(texts),
		.ms = (guint)(time_of(action->numbers[3], 0.1, world->plan->gentle ? 2 : 30) * 1e3),
		.until_s = sim_now_s(world) + s,
	};

	if (world->odd.request || is_parted(world))
		return;
	world->odd = odd;
	world->long_silence = world->long_silence || !world->plan->gentle;
	last(world, s, on_even);
	sim_log_add(world->log, sim_now_s(world), "network", "requests '%s' %s for %.3f s",
		    odd.request, texts[odd.how], s);
}

static gboolean on_fast(gpointer data)
{
	g_autofree struct lasting *lasting = data;

	if (!lasting->world->healed)
		lasting->world->slow_ms -= lasting->ms;
	return G_SOURCE_REMOVE;
}

static void slow(struct sim_world *world, const struct sim_action *action)
{
	struct lasting *lasting = last(world, time_of(action->numbers[0], 1, 60), on_fast);

	lasting->ms = 1 + action->numbers[1] % 1500;
	world->slow_ms += lasting->ms;
	world->long_silence = world->long_silence || world->slow_ms > 2000;
	sim_log_add(world->log, sim_now_s(world), "network", "messages take %u ms longer",
		    lasting->ms);
}

static void mend_disk(struct sim_part *part)
{
	if (!part->disk_bad)
		return;
	part->disk_bad = false;
	virtual_disk_fail(part->disk, 0, 0);
	sim_say(part, "its disk is good again");
}

static gboolean on_disk(gpointer data)
{
	g_autofree struct lasting *lasting = data;

	if (!lasting->world->healed && !lasting->world->over)
		mend_disk(lasting->part);
	return G_SOURCE_REMOVE;
}

static void fail_disk(struct sim_world *world, const struct sim_action *action)
{
	struct sim_part *part = part_of(world, action->numbers[0]);
	const int code = action->numbers[1] % 2 ? EIO : ENOSPC;

	if (part->disk_bad)
		return;
	world->counts.disk_faults++;
	world->disk_fault = true;
	part->disk_fails = part->disk_bad = true;
	last(world, time_of(action->numbers[2], 0.1, 60), on_disk)->part = part;
	virtual_disk_fail(part->disk, code, action->numbers[3] % 40);
	sim_say(part, "its disk fails after %u changes: %s", action->numbers[3] % 40,
		g_strerror(code));
}

static void on_write(void *data)
{
	struct sim_part *part = data;

	part->world->counts.one++;
	sim_part_die(part, part->at_write, part->restart_s);
}

static void die_at_write(struct sim_world *world, const struct sim_action *action)
{
	struct sim_part *part = part_of(world, action->numbers[0]);

	if (!part->up || part->dying || (part->index == SIM_CONTROLLER && world->stopping))
		return;
	part->at_write = death_of(world, action->numbers[1]);
	part->restart_s = restart_of(world, action->numbers[2]);
	virtual_disk_watch(part->disk, 1 + action->numbers[3] % 60, on_write, part);
}

static gboolean on_mended(gpointer data)
{
	mend_disk(data);
	return G_SOURCE_REMOVE;
}

static void on_failing(void *data)
{
	struct sim_part *part = data;
	struct sim_world *world = part->world;

	world->counts.disk_faults++;
	world->counts.one++;
	world->disk_fault = part->disk_fails = part->disk_bad = true;
	virtual_disk_fail(part->disk, EIO, 0);
	sim_say(part, "its disk fails");
	platform_after_s(virtual_platform_of(world->ground), 3, on_mended, part);
}

void sim_faults_begin_life(struct sim_part *part)
{
	const struct sim_one *one = &part->world->plan->one;

	if (one->life == 0 || one->part != part->index || one->life != part->lives)
		return;
	part->at_write = one->death;
	part->restart_s = 0.4;
	virtual_disk_watch(part->disk, one->change, one->fails ? on_failing : on_write, part);
}

static void set_clock(struct sim_world *world, const struct sim_action *action)
{
	struct sim_part *part = part_of(world, action->numbers[0]);
	const double by_s =
		(action->numbers[1] % 2 ? 1 : -1) * time_of(action->numbers[2], 1, 7200);

	if (!part->up || part->dying)
		return;
	world->counts.steps++;
	world->clock_set = world->clock_set || part->index == SIM_CONTROLLER;
	virtual_platform_step_utc(part->virtual, by_s);
	sim_say(part, "its clock is set by %.3f s", by_s);
}

void sim_faults_act(struct sim_world *world, const struct sim_action *action)
{
	switch (action->kind) {
	case SIM_STOP:
		world->counts.stops++;
		sim_stop_service(world, time_of(action->numbers[0], 0.4, 60));
		break;
	case SIM_STOP_LOCAL:
		world->counts.stops++;
		sim_stop_local(
			&world->parts[SIM_LOCALS + action->numbers[0] % world->plan->clusters],
			time_of(action->numbers[1], 0.4, 60));
		break;
	case SIM_DIE_ALL:
		for (guint i = SIM_CONTROLLER; i < world->parts_count; i++)
			sim_part_die(&world->parts[i], death_of(world, action->numbers[1]),
				     restart_of(world, action->numbers[2]) +
					     (action->numbers[3] >> i) % 4);
		break;
	case SIM_FREEZE:
		freeze(world, action);
		break;
	case SIM_DIE:
		sim_part_die(part_of(world, action->numbers[0]),
			     death_of(world, action->numbers[1]),
			     restart_of(world, action->numbers[2]));
		break;
	case SIM_DIE_AT_WRITE:
		die_at_write(world, action);
		break;
	case SIM_PART:
		part(world, action);
		break;
	case SIM_CUT:
		cut(world, action);
		break;
	case SIM_SLOW:
		slow(world, action);
		break;
	case SIM_DISK:
		fail_disk(world, action);
		break;
	case SIM_CLOCK:
		set_clock(world, action);
		break;
	case SIM_ODD:
		begin_odd(world, action);
		break;
	default:
		g_assert_not_reached();
	}
}

void sim_faults_heal(struct sim_world *world)
{
	for (guint i = 0; i < world->parts_count; i++) {
		for (guint k = 0; k < world->parts_count; k++)
			world->blocked[i][k] = 0;
		if (i == SIM_USERS)
			continue;
		mend_disk(&world->parts[i]);
		if (world->parts[i].frozen)
			sim_part_thaw(&world->parts[i]);
		virtual_disk_watch(world->parts[i].disk, 0, NULL, NULL);
	}
	world->slow_ms = 0;
	world->odd.request = NULL;
	virtual_platform_release(world->ground);
}
