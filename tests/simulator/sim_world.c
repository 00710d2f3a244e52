/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_world.h"

#include <glib/gstdio.h>
#include <string.h>

#include "common/subprocess.h"
#include "controller/backend/remote.h"
#include "controller/run/run_plan.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "tests/simulator/sim_checks.h"
#include "tests/simulator/sim_faults.h"
#include "tests/simulator/sim_promises.h"
#include "tests/simulator/sim_users.h"

/* A part that could not start, or ended by itself, is started again after so long. */
#define AGAIN_S 2.0

/* A shorter silence of a local scheduler excuses nothing, seconds. */
#define SILENT_S 20.0

/* How often the invariants in memory are checked. */
#define CHECK_MS 1000

/* After the last fault users ask so often for what lets tasks end. */
#define TIDY_S 10

/* All has to be quiet so long after the last fault. */
#define QUIET_WITHIN_S 1800.0

/* The same for each task, which may have to wait for long ones before it; times their length. */
#define QUIET_TASK 1.0

/* It has to stay so for this number of checks. */
#define QUIET_CHECKS 3

/* What libraries open once, the main loop's among them. */
#define DESCRIPTORS 8

/* How long the service waits at its end, as its program does. */
#define LINGER_S 2.5

double sim_now_s(const struct sim_world *world)
{
	return virtual_platform_s(world->ground);
}

static struct sim_part *controller_of(struct sim_world *world)
{
	return &world->parts[SIM_CONTROLLER];
}

static const struct platform *ground_of(const struct sim_world *world)
{
	return virtual_platform_of(world->ground);
}

static guint after(struct sim_world *world, double s, GSourceFunc function, void *data)
{
	return platform_after_ms(ground_of(world), (guint)(s * 1e3), function, data);
}

/* The network. */

static struct sim_part *part_of(struct sim_world *world, const struct virtual_platform *virtual)
{
	for (guint i = 0; i < world->parts_count; i++)
		if (world->parts[i].virtual == virtual)
			return &world->parts[i];
	return &world->parts[SIM_USERS];
}

static struct sim_part *part_at(struct sim_world *world, const char *address)
{
	for (guint i = SIM_CONTROLLER; i < world->parts_count; i++)
		if (g_str_equal(world->parts[i].address, address))
			return &world->parts[i];
	return &world->parts[SIM_USERS];
}

static guint delay_ms(const struct virtual_platform *client, const char *address, bool answer,
		      void *data)
{
	struct sim_world *world = data;
	const guint one = part_of(world, client)->index;
	const guint other = part_at(world, address)->index;
	guint jitter_ms = 0;

	if (answer ? world->blocked[other][one] : world->blocked[one][other])
		return VIRTUAL_HELD;
	if (world->plan->jitter_ms > 0 && !world->healed)
		jitter_ms =
			(guint)random_stream_exponential(&world->messages, world->plan->jitter_ms);
	return world->plan->delay_ms + world->slow_ms + jitter_ms;
}

static bool refuses(const char *address, void *data)
{
	return !part_at(data, address)->down;
}

static guint work_ms(const struct virtual_platform *virtual, bool *ret_late, void *data)
{
	struct sim_world *world = data;

	if (world->plan->work_ms == 0)
		return 0;
	*ret_late = random_stream_below(&world->work, 2) == 0;
	return (guint)random_stream_exponential(&world->work, world->plan->work_ms);
}

/* Whether a request asks about the attempt that cannot be asked about. */
static bool is_mute(const struct sim_world *world, const char *request)
{
	g_autofree char *end = g_strdup_printf("-%u-1", world->plan->mute - 1);

	return world->plan->mute > 0 && g_str_has_prefix(request, "GET /v1/tasks/") &&
	       g_str_has_suffix(request, end);
}

static void fate(const struct virtual_platform *client, const char *address, const char *request,
		 struct virtual_fate *ret_fate, void *data)
{
	struct sim_world *world = data;
	const struct sim_odd *odd = &world->odd;
	guint ms;

	if (is_mute(world, request))
		ret_fate->status = 500;
	if (part_of(world, client)->index != SIM_CONTROLLER || !odd->request ||
	    !g_str_has_prefix(request, odd->request) ||
	    random_stream_below(&world->messages, 2) == 0)
		return;
	ms = (guint)random_stream_exponential(&world->messages, odd->ms);
	world->counts.odd++;
	switch (odd->how) {
	case SIM_ODD_FAILS:
		ret_fate->status = 500;
		break;
	case SIM_ODD_UNANSWERED:
		ret_fate->answer_ms = VIRTUAL_HELD;
		break;
	case SIM_ODD_LATE:
		ret_fate->request_ms = ms;
		break;
	case SIM_ODD_ANSWERED_LATE:
		ret_fate->answer_ms = ms;
		break;
	}
}

static void trace(const struct virtual_platform *client, const char *address, const char *request,
		  int status, void *data)
{
	struct sim_world *world = data;
	const struct sim_part *part = part_of(world, client);
	const char *to = part_at(world, address)->name;

	world->counts.requests += status == 0;
	if (status == 0)
		sim_say(part, "-> %s: %s", to, request);
	else if (status < 0)
		sim_say(part, "<- %s: no answer to %s", to, request);
	else
		sim_say(part, "<- %s: %d to %s", to, status, request);
}

static const struct virtual_rules rules = {
	.delay_ms = delay_ms,
	.refuses = refuses,
	.work_ms = work_ms,
	.fate = fate,
	.trace = trace,
};

/* Lives of parts. */

/* A new process of a part, on its disk. */
static void begin_life(struct sim_part *part)
{
	struct virtual_platform *former = part->virtual;

	part->virtual = virtual_platform_beside(part->world->ground,
						part->world->plan->seed * 1000 + part->index * 100 +
							part->lives);
	if (former)
		virtual_platform_follow(part->virtual, former, part->death != SIM_KILL);
	virtual_platform_free(former);
	virtual_platform_use_disk(part->virtual, part->disk);
	part->lives++;
	part->world->counts.lives++;
	part->up = true;
	part->dying = part->down = false;
	part->disk_fails = part->disk_bad;
	part->death = SIM_KILL;
	sim_say(part, "starts, life %u", part->lives);
	sim_faults_begin_life(part);
}

static void start_local(struct sim_part *part);

static gboolean on_start(gpointer data)
{
	struct sim_part *part = data;

	part->start = 0;
	if (part->index == SIM_CONTROLLER)
		part->world->start_wanted = true;
	else
		start_local(part);
	return G_SOURCE_REMOVE;
}

static void start_after(struct sim_part *part, double s)
{
	if (!part->start)
		part->start = after(part->world, s, on_start, part);
}

/* The objects of a local scheduler are dropped. */
static void drop_local(struct sim_part *part)
{
	g_clear_pointer(&part->api, api_free);
	g_clear_pointer(&part->scheduler, scheduler_free);
	g_clear_pointer(&part->store, task_store_close);
	g_clear_pointer(&part->config, config_free);
	part->up = false;
}

/* A message without the name of the world's directory, which differs from run to run. */
static char *plain(const struct sim_world *world, const char *message)
{
	g_auto(GStrv) parts = g_strsplit(message, world->dir, -1);

	return g_strjoinv("", parts);
}

/* A start has failed, or a daemon has ended by itself: it is tried again. */
static void try_again(struct sim_part *part, const char *what, const GError *error)
{
	g_autofree char *message = plain(part->world, error ? error->message : "");

	/* A service begins only where every meter answers. */
	const bool excused =
		part->index == SIM_CONTROLLER && !part->world->has_served && !part->world->healed;

	sim_say(part, "%s: %s", what, message);
	if (!part->dying && !part->disk_fails && !excused)
		sim_violate(part->world, "a daemon starts and serves", "%s: %s: %s", part->name,
			    what, message);
	start_after(part, part->dying ? part->restart_s : AGAIN_S);
}

static void start_local(struct sim_part *part)
{
	g_autofree char *path = g_build_filename(part->world->dir, "run", "wanted.yaml", NULL);
	struct scheduler_settings settings = {
		.cluster = part->index - SIM_LOCALS,
		.state_directory = part->dir,
		.boot_timeout_s = 10,
	};
	g_autoptr(GError) error = NULL;

	begin_life(part);
	settings.platform = virtual_platform_of(part->virtual);
	settings.config = part->config = config_load(path, &error);
	if (part->config)
		settings.store = part->store =
			task_store_open(settings.platform, part->dir, &error);
	if (part->store)
		part->scheduler = scheduler_new(&settings, &error);
	if (part->scheduler)
		part->api = api_new(part->address, NULL, part->scheduler, &error);
	if (part->api || part->dying) /* dropped by on_unwind() */
		return;
	drop_local(part);
	virtual_platform_die(part->virtual, false);
	virtual_disk_kill(part->disk);
	try_again(part, "does not start", error);
}

static gboolean on_unwind(gpointer data)
{
	struct sim_part *part = data;

	part->unwind = 0;
	if (part->index == SIM_CONTROLLER) {
		if (part->world->session)
			run_session_stop(part->world->session, "it is dead");
		return G_SOURCE_REMOVE;
	}
	drop_local(part);
	start_after(part, part->restart_s);
	return G_SOURCE_REMOVE;
}

void sim_part_die(struct sim_part *part, enum sim_death death, double restart_s)
{
	struct sim_counts *counts = &part->world->counts;
	g_autoptr(GSource) source = NULL;

	if (!part->up || part->dying || part->world->over)
		return;
	if (part->frozen)
		sim_part_thaw(part);
	sim_say(part, "%s", sim_death_names[death]);
	part->dying = true;
	part->death = death;
	part->down = death != SIM_KILL;
	part->restart_s = restart_s;
	part->world->lost_machine = part->world->lost_machine || part->down;
	virtual_platform_die(part->virtual, part->down);
	if (death == SIM_KILL)
		virtual_disk_kill(part->disk);
	else if (death == SIM_CRASH)
		virtual_disk_crash(part->disk);
	else
		virtual_disk_tear(part->disk, &part->world->disks);
	counts->kills += death == SIM_KILL;
	counts->crashes += death == SIM_CRASH;
	counts->tears += death == SIM_TEAR;
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_HIGH - 100);
	g_source_set_callback(source, on_unwind, part, NULL);
	part->unwind = g_source_attach(source, NULL);
}

void sim_stop_service(struct sim_world *world, double restart_s)
{
	struct sim_part *part = controller_of(world);

	if (!part->up || part->dying || !world->session || world->stopping)
		return;
	sim_say(part, "is stopped");
	world->stopping = true;
	part->restart_s = restart_s;
	run_session_stop(world->session, "stopped by a signal");
}

static void on_local_stopped(bool clean, void *data)
{
	struct sim_part *part = data;

	if (part->dying)
		return;
	sim_part_die(part, SIM_KILL, part->restart_s);
}

void sim_stop_local(struct sim_part *part, double restart_s)
{
	if (!part->up || part->dying || part->frozen || !part->scheduler)
		return;
	sim_say(part, "is stopped");
	part->restart_s = restart_s;
	scheduler_stop(part->scheduler, on_local_stopped, part);
}

void sim_part_freeze(struct sim_part *part)
{
	sim_say(part, "is frozen");
	part->frozen = true;
	virtual_platform_freeze(part->virtual, true);
	part->world->blocked[SIM_CONTROLLER][part->index]++;
	part->world->blocked[part->index][SIM_CONTROLLER]++;
}

void sim_part_thaw(struct sim_part *part)
{
	struct sim_world *world = part->world;

	sim_say(part, "runs again");
	part->frozen = false;
	virtual_platform_freeze(part->virtual, false);
	if (world->blocked[SIM_CONTROLLER][part->index] > 0) {
		world->blocked[SIM_CONTROLLER][part->index]--;
		world->blocked[part->index][SIM_CONTROLLER]--;
	}
	world->last_silence_s = sim_now_s(world);
	virtual_platform_release(world->ground);
}

bool sim_serves(const struct sim_world *world)
{
	return world->session && world->session->service && !world->parts[SIM_CONTROLLER].dying &&
	       !world->stopping;
}

static bool end_seen(void *data)
{
	return ((struct run_session *)data)->progress->end_seen;
}

/* Adds the service's notices, which users see, to the log. */
static void log_notices(struct sim_world *world)
{
	const struct run_progress *progress = world->session ? world->session->progress : NULL;

	if (!progress || controller_of(world)->dying)
		return;
	for (const GList *at = progress->notices.head; at; at = at->next) {
		const struct run_notice *notice = at->data;
		g_autofree char *text = plain(world, notice->text);

		if (notice->seq > world->notices)
			sim_say(controller_of(world), "%s: %s", notice->kind, text);
	}
	world->notices = progress->notices_last;
}

/* Serves until it is stopped or dies. False: it could not begin, or ended by itself. */
static bool serve(struct sim_world *world, GError **error)
{
	struct sim_part *part = controller_of(world);
	bool stopped;

	world->status = status_api_new(part->address, world->session, error);
	if (!world->status)
		return false;
	run_service_work(world->session, error);
	stopped = remote_fleet_stopped(world->session->fleet) && !world->session->store_failed;
	if (!part->dying)
		remote_fleet_until(world->session->fleet, end_seen, world->session, LINGER_S,
				   !world->session->store_failed);
	return stopped;
}

/* A life of the controller; blocks. */
static void live(struct sim_world *world)
{
	struct sim_part *part = controller_of(world);
	g_autoptr(GError) error = NULL;
	g_autofree char *message = NULL;
	bool good = false;
	bool go_on;

	go_on = part->lives > 0 && part->death == SIM_KILL && !world->stopping;
	world->start_wanted = world->stopping = false;
	begin_life(part);
	world->notices = 0;
	world->session = run_session_open(virtual_platform_of(part->virtual), part->dir, &error);
	if (world->session && !part->dying) {
		world->session->go_on = go_on;
		good = serve(world, &error);
	}
	log_notices(world);
	g_clear_pointer(&world->status, status_api_free);
	g_clear_pointer(&world->session, run_session_close);
	g_clear_handle_id(&part->unwind, g_source_remove);
	part->up = false;
	message = plain(world, error ? error->message : "");
	if (!part->dying) {
		virtual_platform_die(part->virtual, false);
		virtual_disk_kill(part->disk);
	}
	if (world->ending) {
		sim_say(part, "has ended: %s", message);
		world->over = true;
	} else if (good || part->dying) {
		sim_say(part, "has ended: %s", message);
		start_after(part, part->restart_s);
	} else {
		try_again(part, "ends by itself", error);
	}
}

/* The descriptors of this process. */
static guint count_descriptors(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint count = 0;

	while (dir && g_dir_read_name(dir))
		count++;
	return count;
}

/* The course of the world. */

void sim_end(struct sim_world *world)
{
	world->over = true;
	if (world->session)
		run_session_stop(world->session, "the world ends");
}

struct next_action {
	struct sim_world *world;
	guint index;
};

static gboolean on_action(gpointer data);

/* Sets a timer for the next action from number `index` on that is not left out. */
static void await_action(struct sim_world *world, guint index)
{
	const GArray *actions = world->plan->actions;
	struct next_action *next;

	while (index < actions->len && g_array_index(actions, struct sim_action, index).left_out)
		index++;
	if (index == actions->len)
		return;
	next = g_new0(struct next_action, 1);
	next->world = world;
	next->index = index;
	after(world,
	      MAX(g_array_index(actions, struct sim_action, index).at_s - sim_now_s(world), 0),
	      on_action, next);
}

static gboolean on_action(gpointer data)
{
	g_autofree struct next_action *next = data;
	struct sim_world *world = next->world;
	const struct sim_action *action =
		&g_array_index(world->plan->actions, struct sim_action, next->index);

	await_action(world, next->index + 1);
	if (world->over)
		return G_SOURCE_REMOVE;
	if (action->kind < SIM_FAULT_FIRST)
		sim_users_act(world->users, next->index);
	else
		sim_faults_act(world, action);
	sim_checks_now(world);
	return G_SOURCE_REMOVE;
}

static gboolean on_heal(gpointer data)
{
	struct sim_world *world = data;

	if (world->over)
		return G_SOURCE_REMOVE;
	sim_log_add(world->log, sim_now_s(world), "world", "there are no faults from now on");
	world->healed = true;
	world->healed_s = sim_now_s(world);
	sim_faults_heal(world);
	sim_users_lift_limit(world->users);
	return G_SOURCE_REMOVE;
}

/* After the last fault: until all is quiet. */
static void come_to_rest(struct sim_world *world, guint *quiet)
{
	g_autoptr(GString) why = g_string_new(NULL);
	const double since_s = sim_now_s(world) - world->healed_s;
	const double task_s = world->plan->long_s + 3 * world->plan->operation_s;

	if ((guint)since_s % TIDY_S == 0)
		sim_users_tidy(world->users);
	*quiet = sim_checks_quiet(world, why) ? *quiet + 1 : 0;
	if (since_s > QUIET_WITHIN_S + QUIET_TASK * task_s * sim_users_tasks(world->users)->len) {
		sim_violate(world, "liveness", "%.0f s after the last fault: %s", since_s,
			    why->str);
	} else if (*quiet >= QUIET_CHECKS) {
		sim_log_add(world->log, sim_now_s(world), "world", "all is quiet");
		world->counts.quiet_s = since_s;
		sim_checks_note_counters(world);
		world->ending = true;
		sim_stop_service(world, 0);
	}
}

/*
 * A controller gives a local scheduler up that is silent for 30 s (REMOTE_LINK_AWAY_S); its tasks
 * may then be executed twice.
 */
static void note_silence(struct sim_world *world)
{
	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		struct sim_part *part = &world->parts[i];

		if (part->up && !part->dying && !part->frozen &&
		    world->blocked[SIM_CONTROLLER][i] == 0 &&
		    world->blocked[i][SIM_CONTROLLER] == 0 && !world->odd.request)
			part->heard_s = sim_now_s(world);
		else if (sim_now_s(world) > part->heard_s + SILENT_S)
			world->long_silence = true;
	}
}

struct check {
	struct sim_world *world;
	guint quiet;
};

static gboolean on_check(gpointer data)
{
	struct check *check = data;
	struct sim_world *world = check->world;

	log_notices(world);
	world->has_served = world->has_served || sim_serves(world);
	note_silence(world);
	if (world->over || world->ending)
		return G_SOURCE_CONTINUE;
	sim_checks_now(world);
	if (world->healed && !world->over)
		come_to_rest(world, &check->quiet);
	return G_SOURCE_CONTINUE;
}

static gboolean past(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* What libraries still have of connections ends. */
static void pass(struct sim_world *world, double s)
{
	bool over = false;

	after(world, s, past, &over);
	while (!over)
		g_main_context_iteration(NULL, TRUE);
}

/* Beginning and end. */

static char *write_config(const struct sim_plan *plan)
{
	const struct {
		const char *name;
		guint cores, etc_s, eec_j;
		const char *more;
	} types[] = {
		{"SHORT", 1, 4, 40, ""},
		{"WIDE", 2, 15, 200, ""},
		{"LONG", 1, (guint)plan->long_s, 400, ", preemptible: true"},
	};
	GString *text = g_string_new("name: simulator\nclusters:\n");

	for (uint32_t i = 0; i < plan->clusters; i++) {
		g_string_append_printf(
			text,
			"  - {name: c%u, nodes: %u, cores: 1, memory_mib: 128, "
			"simulated: {idle_w: 60, seed: %u, operation_s: %g}, hosts: [",
			i + 1, plan->nodes[i], i + 1, plan->operation_s);
		for (uint32_t h = 0; h < plan->hosts[i]; h++)
			g_string_append_printf(text, "%s{name: h%u-%u}", h ? ", " : "", i + 1, h);
		g_string_append(text, "]}\n");
	}
	g_string_append(text, "types:\n");
	for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
		g_string_append_printf(text,
				       "  - {name: %s, benchmark: is, class: S, cores: %u, "
				       "memory_mib: 96, share: %s%s}\n",
				       types[i].name, types[i].cores, i ? "0.25" : "0.5",
				       types[i].more);
	g_string_append(text, "estimates:\n");
	for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
		for (uint32_t c = 0; c < plan->clusters; c++)
			g_string_append_printf(text,
					       "  - {type: %s, cluster: c%u, etc_s: %u, eec_j: %u, "
					       "etc_sd_s: %u}\n",
					       types[i].name, c + 1, types[i].etc_s, types[i].eec_j,
					       types[i].etc_s / 4);
	g_string_append(
		text,
		"workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}\n"
		"experiment: {policies: [easy], limits: [1], budget_j: 100000, duration_s: 60,\n"
		"             mapping_interval_s: 0.2, baseline_s: 1, task_deadline_s: 3600}\n");
	g_string_append_printf(text, "service: {policy: %s, mapping_interval_s: %g", plan->policy,
			       plan->mapping_interval_s);
	if (plan->energy_limit_j > 0)
		g_string_append_printf(text, ", energy_limit_j: %.0f, energy_window_s: %.0f",
				       plan->energy_limit_j, plan->energy_window_s);
	if (plan->retention_days > 0)
		g_string_append_printf(text, ", retention_days: %.6f", plan->retention_days);
	g_string_append(text, "}\n");
	return g_string_free(text, FALSE);
}

static void write_files(struct sim_world *world)
{
	const struct sim_part *controller = controller_of(world);
	const char *policies[] = {world->plan->policy, NULL};
	const char *schedulers[SIM_CLUSTERS_MAX + 1] = {NULL};
	g_autofree char *text = write_config(world->plan);
	double limit = 1;
	struct run_plan plan = {
		.experiment = (char *)"sim",
		.api = controller->address,
		.estimates = (char *)"given",
		.serve = true,
		.policies = (char **)policies,
		.limits = &limit,
		.limits_count = 1,
		.profile_repeats = 1,
		.repeats = 1,
		.schedulers = (char **)schedulers,
	};
	g_autoptr(GError) error = NULL;

	for (guint i = SIM_CONTROLLER; i < world->parts_count; i++) {
		g_assert_cmpint(g_mkdir(world->parts[i].dir, 0700), ==, 0);
		if (i >= SIM_LOCALS)
			schedulers[i - SIM_LOCALS] = world->parts[i].address;
	}
	for (guint i = 0; i < 2; i++) {
		g_autofree char *path =
			g_build_filename(controller->dir, i ? "wanted.yaml" : "config.yaml", NULL);

		g_assert_true(g_file_set_contents(path, text, -1, NULL));
	}
	g_assert_true(run_plan_save(&plan, controller->dir, &error));
}

static void make_parts(struct sim_world *world)
{
	world->parts_count = SIM_LOCALS + world->plan->clusters;
	for (guint i = 0; i < world->parts_count; i++) {
		struct sim_part *part = &world->parts[i];

		part->world = world;
		part->index = i;
		part->name = i == SIM_USERS        ? g_strdup("users")
			     : i == SIM_CONTROLLER ? g_strdup("service")
						   : g_strdup_printf("c%u", i - SIM_LOCALS + 1);
		if (i == SIM_USERS)
			continue;
		part->address = g_strdup_printf("unix:%s/%s.sock", world->dir, part->name);
		part->dir = g_build_filename(world->dir, i == SIM_CONTROLLER ? "run" : part->name,
					     NULL);
		part->disk = virtual_disk_new();
	}
	world->parts[SIM_USERS].virtual = virtual_platform_beside(world->ground,
								  world->plan->seed * 1000 + 999);
}

static void drop_world(struct sim_world *world)
{
	const char *const argv[] = {"rm", "-rf", world->dir, NULL};

	for (guint i = SIM_CONTROLLER; i < world->parts_count; i++) {
		g_clear_handle_id(&world->parts[i].start, g_source_remove);
		g_clear_handle_id(&world->parts[i].unwind, g_source_remove);
		drop_local(&world->parts[i]);
	}
	sim_users_free(world->users);
	sim_promises_free(world->promises);
	pass(world, 120);
	for (guint i = 0; i < world->parts_count; i++) {
		struct sim_part *part = &world->parts[i];

		virtual_platform_free(part->virtual);
		virtual_disk_free(part->disk);
		g_free(part->name);
		g_free(part->address);
		g_free(part->dir);
	}
	virtual_platform_free(world->ground);
	subprocess_run(argv, NULL, 10, NULL, NULL);
	g_free(world->dir);
}

/* The local schedulers are stopped, and what all have on record is checked. */
static void check_records(struct sim_world *world)
{
	if (sim_log_violation(world->log))
		return;
	for (guint i = SIM_LOCALS; i < world->parts_count; i++)
		drop_local(&world->parts[i]);
	sim_checks_end(world);
}

void sim_run(const struct sim_plan *plan, struct sim_log *log, struct sim_counts *ret_counts)
{
	struct sim_world world = {.plan = plan, .log = log};
	struct check check = {.world = &world};
	guint checks;

	world.long_silence = plan->mute > 0; /* its attempt is given up */
	random_stream_init(&world.messages, plan->seed, 2);
	random_stream_init(&world.work, plan->seed, 3);
	random_stream_init(&world.disks, plan->seed, 4);
	world.counters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	world.descriptors = count_descriptors();
	world.dir = g_dir_make_tmp("virtbed-simulator-XXXXXX", NULL);
	g_assert_nonnull(world.dir);
	world.ground = virtual_platform_new(plan->seed);
	virtual_platform_rules(world.ground, &rules, &world);
	make_parts(&world);
	write_files(&world);
	world.users = sim_users_new(&world);
	world.promises = sim_promises_new();
	for (guint i = SIM_LOCALS; i < world.parts_count; i++)
		start_after(&world.parts[i], 0);
	start_after(controller_of(&world), 0.1);
	await_action(&world, 0);
	after(&world, plan->active_s, on_heal, &world);
	checks = platform_after_ms(ground_of(&world), CHECK_MS, on_check, &check);
	while (!world.over)
		if (world.start_wanted)
			live(&world);
		else
			g_main_context_iteration(NULL, TRUE);
	g_source_remove(checks);
	world.counts.simulated_s = sim_now_s(&world);
	world.counts.events = sim_log_count(log);
	check_records(&world);
	if (count_descriptors() > world.descriptors + DESCRIPTORS)
		sim_violate(&world, "descriptors are bounded", "%u at the end, %u at the beginning",
			    count_descriptors(), world.descriptors);
	drop_world(&world);
	g_hash_table_unref(world.counters);
	if (ret_counts)
		*ret_counts = world.counts;
}
