/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/machine_private.h"

#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/machine_requests.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "machine"
#include "common/log.h"

#define AGAIN_MS 1000
#define POLL_MS 50
#define HEALTH_S 30
#define HEALTH_FAILURES 2
#define SYNC_ID 0x76627364

/* A call to the host that is under way for one state of the VM. */
struct question {
	struct machine *machine;
	guint generation;
	void (*answer)(struct machine *machine, gpointer result, const GError *error);
};

/* Questions. */

static struct question *ask(struct machine *machine,
			    void (*answer)(struct machine *machine, gpointer result,
					   const GError *error))
{
	struct question *question = g_new0(struct question, 1);

	question->machine = machine;
	question->generation = machine->generation;
	question->answer = answer;
	g_hash_table_add(machine->asked, question);
	return question;
}

/* For results that are text or nothing. */
static void answered(gpointer result, const GError *error, gpointer data)
{
	struct question *question = data;
	struct machine *machine = question->machine;
	struct question taken = *question;
	g_autofree char *text = result == HOST_DONE ? NULL : result;

	g_hash_table_remove(machine->asked, question);
	if (machine->generation == taken.generation && !machine->stopped)
		taken.answer(machine, text, error);
}

static gboolean again(gpointer data)
{
	struct machine *machine = data;

	machine->step_source = 0;
	machine_enter(machine);
	return G_SOURCE_REMOVE;
}

static void step_later(struct machine *machine, guint delay_ms)
{
	if (machine->step_source == 0)
		machine->step_source = g_timeout_add(delay_ms, again, machine);
}

bool machine_failed(struct machine *machine, const GError *error)
{
	if (!error)
		return false;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
		step_later(machine, AGAIN_MS);
	else
		machine_fire(machine, MACHINE_EVENT_FAIL, error->message);
	return true;
}

static void simple_answer(struct machine *machine, gpointer result, const GError *error)
{
	if (!machine_failed(machine, error))
		machine_fire(machine, MACHINE_EVENT_DONE, NULL);
}

/* The states' actions. */

static gboolean retry(gpointer data)
{
	struct machine *machine = data;

	machine->step_source = 0;
	machine_fire(machine, MACHINE_EVENT_RETRY, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean tell_stuck(gpointer data)
{
	struct machine *machine = data;

	machine->step_source = 0;
	machine->events->stuck(machine, machine->data);
	return G_SOURCE_REMOVE;
}

static void enter_down(struct machine *machine)
{
	guint delay_s = 0;

	if (!machine->wanted)
		return;
	if (machine->barred) {
		machine->step_source = g_idle_add(tell_stuck, machine);
		return;
	}
	if (machine->failures > 0)
		delay_s = MIN(1U << MIN(machine->failures - 1, 10U), (guint)MACHINE_BACKOFF_MAX_S);
	machine->step_source = g_timeout_add(delay_s * 1000, retry, machine);
}

static void on_turn(void *data)
{
	machine_fire(data, MACHINE_EVENT_TURN, NULL);
}

static void enter_queued(struct machine *machine)
{
	boot_queue_enter(machine->settings.queue, on_turn, machine);
}

/* For results that are lists. */
static void listed(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(GPtrArray) found = result;
	struct question *question = data;
	struct machine *machine = question->machine;
	struct question taken = *question;

	g_hash_table_remove(machine->asked, question);
	if (machine->generation == taken.generation && !machine->stopped)
		taken.answer(machine, found, error);
}

static void found_answer(struct machine *machine, gpointer result, const GError *error)
{
	const GPtrArray *found = result;

	if (machine_failed(machine, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, machine->settings.domain) &&
		    g_strcmp0(info->keeper, machine->settings.keeper) == 0) {
			machine_fire(machine, MACHINE_EVENT_DONE, NULL);
			return;
		}
	}
	machine_fire(machine, MACHINE_EVENT_DIED, "its VM died as soon as it was started");
}

static void created_answer(struct machine *machine, gpointer result, const GError *error)
{
	if (machine_failed(machine, error))
		return;
	if (machine->doubtful)
		domain_list(machine->settings.host, machine->settings.domain, listed,
			    ask(machine, found_answer));
	else
		machine_fire(machine, MACHINE_EVENT_DONE, NULL);
}

static void enter_creating(struct machine *machine)
{
	machine->clean = true;
	machine->late_clock = false;
	machine->adopted = false;
	machine->spread_core = -1;
	machine->owner = MACHINE_OWNER_NONE;
	machine->share = 1;
	machine->shared = false;
	machine->agent_up = false;
	machine->doubtful = false;
	machine->boot_start_ns = clock_now_ns();
	domain_create(machine->settings.host, machine->settings.domain, machine->settings.keeper, machine->xml, answered,
		      ask(machine, created_answer));
}

static uint64_t cpu_time_of(const struct machine *machine, const GPtrArray *times)
{
	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *cpu = times->pdata[i];

		if (g_str_equal(cpu->name, machine->settings.domain))
			return cpu->cpu_ns;
	}
	return 0;
}

static void look_later(struct machine *machine);

static void look_answer(struct machine *machine, gpointer result, const GError *error)
{
	uint64_t cpu_ns = error ? 0 : cpu_time_of(machine, result);
	const char *hangs = boot_watch_look(&machine->boot_watch, clock_now_ns(), cpu_ns);
	g_autofree char *reason = NULL;

	if (!hangs) {
		look_later(machine);
		return;
	}
	reason = g_strconcat("the guest stopped booting: ", hangs, NULL);
	machine_fire(machine, MACHINE_EVENT_FAIL, reason);
}

static gboolean look(gpointer data)
{
	struct machine *machine = data;

	machine->step_source = 0;
	domain_cpu_times(machine->settings.host, listed, ask(machine, look_answer));
	return G_SOURCE_REMOVE;
}

static void look_later(struct machine *machine)
{
	machine->step_source = g_timeout_add_seconds(BOOT_WATCH_INTERVAL_S, look, machine);
}

static void enter_awaiting(struct machine *machine)
{
	boot_watch_init(&machine->boot_watch, machine->settings.boot_timeout_s);
	if (machine->agent_up)
		machine_fire(machine, MACHINE_EVENT_AGENT, NULL);
	else
		look_later(machine);
}

/* A guest that was adopted while it booted has no agent yet: asks until the boot's deadline. */
static void greeting_failed(struct machine *machine, const char *message)
{
	log_debug_of(LOG_NODE(machine->settings.name), "agent does not answer yet: %s", message);
	step_later(machine, AGAIN_MS);
}

/* A guest whose clock stays behind still computes. */
static void clock_set(struct machine *machine, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_empty(result, &wrong))
		log_warning_of(LOG_NODE(machine->settings.name), "its clock could not be set: %s",
			       error ? error->message : wrong->message);
	machine->late_clock = false;
	machine_fire(machine, MACHINE_EVENT_DONE, NULL);
}

static void set_clock(struct machine *machine)
{
	g_autofree char *request = agent_set_time_request(g_get_real_time() * 1000);

	machine_agent(machine, request, answered, ask(machine, clock_set));
}

static void ping_answer(struct machine *machine, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_empty(result, &wrong))
		greeting_failed(machine, error ? error->message : wrong->message);
	else if (machine->late_clock)
		set_clock(machine);
	else
		machine_fire(machine, MACHINE_EVENT_DONE, NULL);
}

static void sync_answer(struct machine *machine, gpointer result, const GError *error)
{
	g_autofree char *request = agent_ping_request();
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_sync(result, SYNC_ID, &wrong))
		greeting_failed(machine, error ? error->message : wrong->message);
	else
		machine_agent(machine, request, answered, ask(machine, ping_answer));
}

static void enter_greeting(struct machine *machine)
{
	g_autofree char *request = agent_sync_request(SYNC_ID);

	machine_agent(machine, request, answered, ask(machine, sync_answer));
}

static void sweep_answer(struct machine *machine, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;

	if (machine_failed(machine, error))
		return;
	if (!agent_parse_status(result, &status, &wrong)) {
		machine_fire(machine, MACHINE_EVENT_FAIL, wrong->message);
		return;
	}
	if (!status.exited) {
		step_later(machine, POLL_MS);
		return;
	}
	if (status.status != 0) {
		machine_fire(machine, MACHINE_EVENT_FAIL, "a rank cannot be killed");
	} else {
		machine->sweep_core++;
		machine->sweep_pid = 0;
		machine_enter(machine);
	}
	agent_status_clear(&status);
}

static void sweep_started(struct machine *machine, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (machine_failed(machine, error))
		return;
	if (!agent_parse_exec(result, &machine->sweep_pid, &wrong))
		machine_fire(machine, MACHINE_EVENT_FAIL, wrong->message);
	else
		machine_enter(machine);
}

static void swept(struct machine *machine)
{
	machine->clean = true;
	machine_fire(machine, machine->place ? MACHINE_EVENT_DONE : MACHINE_EVENT_PARK, NULL);
}

/* One core after the other: start `virtbed-rank kill`, ask until it has ended. */
static void enter_sweeping(struct machine *machine)
{
	g_autofree char *request = NULL;
	g_autofree char *core = g_strdup_printf("%u", machine->sweep_core);
	const char *const arguments[] = {"/usr/bin/virtbed-rank", "kill", core, NULL};

	if (machine->clean || machine->sweep_core >= machine->cores) {
		swept(machine);
		return;
	}
	request = machine->sweep_pid ? agent_status_request(machine->sweep_pid) :
				    agent_exec_request(arguments, NULL, NULL);
	machine_agent(machine, request, answered,
		   ask(machine, machine->sweep_pid ? sweep_answer : sweep_started));
}

/* Without a share there is no quota left of one. */
static void capped(struct machine *machine, gpointer result, const GError *error)
{
	if (!error && machine->share >= 1)
		machine->shared = false;
	simple_answer(machine, result, error);
}

static void enter_capping(struct machine *machine)
{
	const struct machine_place *place = machine->place;
	struct cpu_cap cap;

	if (!place) {
		machine_fire(machine, MACHINE_EVENT_PARK, NULL);
		return;
	}
	cap = machine_cap_at(machine, place);
	domain_apply_cap(machine->settings.host, machine->settings.domain, &cap,
			 machine_cores_at(machine, place), answered, ask(machine, capped));
}

static void enter_wiring(struct machine *machine)
{
	machine->wired = 0;
	for (uint32_t i = 0; i < machine->cores; i++)
		channel_open(machine->channels[i]);
}

static gboolean health_check(gpointer data);

static void health_answer(struct machine *machine, gpointer result, const GError *error)
{
	if (error && !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION) &&
	    !machine_is_excused(machine, machine->health_ns, error)) {
		if (++machine->unhealthy >= HEALTH_FAILURES) {
			machine_fire(machine, MACHINE_EVENT_FAIL, "the guest agent hangs");
			return;
		}
	} else {
		machine->unhealthy = 0;
		machine->failures = 0;
	}
	machine->step_source = g_timeout_add_seconds(HEALTH_S, health_check, machine);
}

static gboolean health_check(gpointer data)
{
	struct machine *machine = data;
	g_autofree char *request = agent_ping_request();

	machine->step_source = 0;
	machine->health_ns = clock_now_ns();
	machine_agent(machine, request, answered, ask(machine, health_answer));
	return G_SOURCE_REMOVE;
}

void machine_settle_user(struct machine *machine)
{
	const struct machine_user *user = g_steal_pointer(&machine->user);

	g_clear_pointer(&machine->task, g_free);
	if (user)
		user->settled(machine, machine->user_data);
}

static void enter_ready(struct machine *machine)
{
	if (machine->boot_start_ns) {
		machine->boot_s = clock_elapsed_s(machine->boot_start_ns, clock_now_ns());
		machine->boot_start_ns = 0;
		log_info_of(LOG_NODE(machine->settings.name),
			    "ready, %.1f s after its VM was started", machine->boot_s);
	}
	g_clear_pointer(&machine->reason, g_free);
	machine->adopted = false;
	machine->unhealthy = 0;
	machine->step_source = g_timeout_add_seconds(HEALTH_S, health_check, machine);
	machine->events->ready(machine, machine->data);
	machine_settle_user(machine);
}

static void enter_removing(struct machine *machine)
{
	machine_close_ports(machine);
	domain_destroy(machine->settings.host, machine->settings.domain, machine->settings.keeper, answered,
		       ask(machine, simple_answer));
}

static void enter_parking(struct machine *machine)
{
	machine->adopted = false;
	machine_close_ports(machine);
	domain_freeze(machine->settings.host, machine->settings.domain, answered,
		      ask(machine, simple_answer));
}

static void enter_parked(struct machine *machine)
{
	if (machine->boot_start_ns) {
		log_info_of(LOG_NODE(machine->settings.name),
			    "a spare VM, %.1f s after it was started",
			    clock_elapsed_s(machine->boot_start_ns, clock_now_ns()));
		machine->boot_start_ns = 0;
	}
	machine->failures = 0;
	if (machine->place)
		machine_fire(machine, MACHINE_EVENT_UNPARK, NULL);
}

static void enter_unparking(struct machine *machine)
{
	machine->late_clock = true;
	domain_thaw(machine->settings.host, machine->settings.domain, answered,
		    ask(machine, simple_answer));
}

static void enter_nothing(struct machine *machine)
{
}

static void (*const actions[MACHINE_STATES])(struct machine *machine) = {
	[MACHINE_DOWN] = enter_down,           [MACHINE_QUEUED] = enter_queued,
	[MACHINE_CREATING] = enter_creating,   [MACHINE_AWAITING] = enter_awaiting,
	[MACHINE_UNPARKING] = enter_unparking, [MACHINE_GREETING] = enter_greeting,
	[MACHINE_SWEEPING] = enter_sweeping,   [MACHINE_CAPPING] = enter_capping,
	[MACHINE_WIRING] = enter_wiring,       [MACHINE_PARKING] = enter_parking,
	[MACHINE_READY] = enter_ready,         [MACHINE_BUSY] = enter_nothing,
	[MACHINE_HELD] = enter_nothing,        [MACHINE_PARKED] = enter_parked,
	[MACHINE_REMOVING] = enter_removing,   [MACHINE_DETACHED] = enter_nothing,
};

void machine_enter(struct machine *machine)
{
	actions[machine->state](machine);
}
