/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/node.h"

#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/boot_watch.h"
#include "local-sched/hypervisor/channel.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "node"
#include "common/log.h"

#define AGENT_TIMEOUT_S 10
#define AGENT_GONE_S 20
#define AGAIN_MS 1000
#define POLL_MS 50
#define REOPEN_MS 200
#define HEALTH_S 30
#define HEALTH_FAILURES 2
#define SYNC_ID 0x76627364

struct node {
	struct node_settings settings;
	uint32_t cores;
	const struct node_events *events;
	void *data;
	char *xml;
	char *fingerprint;

	enum node_state state;
	guint generation; /* of the state: late answers to an earlier one do not count */
	GHashTable *asked; /* struct question that are under way, owned */
	char *reason;
	bool announced;   /* `ready` was told and `down` was not */
	bool frozen;
	bool fresh;       /* booted by us, no task had it: nothing to sweep */
	bool agent_up;
	bool doubtful;    /* a VM of its name was said to have stopped while it was created */
	bool cut_off;     /* a port was closed since the task has the node */
	guint failures;   /* in a row */
	guint unhealthy;
	int64_t boot_start_ns;
	struct boot_watch boot_watch;
	double boot_s;
	guint step_source;     /* of the state: try again, next step */
	guint deadline_source; /* of the boot */
	guint agent_source;    /* the agent is gone since */
	guint reopen_source;
	uint32_t sweep_core;
	int64_t sweep_pid;
	uint32_t wired;
	struct channel **channels; /* cores of them */

	char *task;
	const struct node_user *user;
	void *user_data;
};

/* A call to the host that is under way for one state of the node. */
struct question {
	struct node *node;
	guint generation;
	void (*answer)(struct node *node, gpointer result, const GError *error);
};

static void fire(struct node *node, enum node_event event, const char *reason);
static void enter(struct node *node);

/* Questions. */

static struct question *ask(struct node *node,
			    void (*answer)(struct node *node, gpointer result,
					   const GError *error))
{
	struct question *question = g_new0(struct question, 1);

	question->node = node;
	question->generation = node->generation;
	question->answer = answer;
	g_hash_table_add(node->asked, question);
	return question;
}

/* For results that are text or nothing. */
static void answered(gpointer result, const GError *error, gpointer data)
{
	struct question *question = data;
	struct node *node = question->node;
	struct question taken = *question;
	g_autofree char *text = result == HOST_DONE ? NULL : result;

	g_hash_table_remove(node->asked, question);
	if (node->generation == taken.generation && !node->frozen)
		taken.answer(node, text, error);
}

static gboolean again(gpointer data)
{
	struct node *node = data;

	node->step_source = 0;
	enter(node);
	return G_SOURCE_REMOVE;
}

static void step_later(struct node *node, guint delay_ms)
{
	if (node->step_source == 0)
		node->step_source = g_timeout_add(delay_ms, again, node);
}

/* Without a connection nothing is known: the state's action is tried again until it is detached. */
static bool failed(struct node *node, const GError *error)
{
	if (!error)
		return false;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
		step_later(node, AGAIN_MS);
	else
		fire(node, NODE_EVENT_FAIL, error->message);
	return true;
}

static void simple_answer(struct node *node, gpointer result, const GError *error)
{
	if (!failed(node, error))
		fire(node, NODE_EVENT_DONE, NULL);
}

/* The states' actions. */

static gboolean retry(gpointer data)
{
	struct node *node = data;

	node->step_source = 0;
	fire(node, NODE_EVENT_RETRY, NULL);
	return G_SOURCE_REMOVE;
}

static void enter_down(struct node *node)
{
	guint delay_s = 0;

	if (node->failures > 0)
		delay_s = MIN(1U << MIN(node->failures - 1, 10U), (guint)NODE_BACKOFF_MAX_S);
	node->step_source = g_timeout_add(delay_s * 1000, retry, node);
}

static void on_turn(void *data)
{
	fire(data, NODE_EVENT_TURN, NULL);
}

static void enter_queued(struct node *node)
{
	boot_queue_enter(node->settings.queue, on_turn, node);
}

/* For results that are lists. */
static void listed(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(GPtrArray) found = result;
	struct question *question = data;
	struct node *node = question->node;
	struct question taken = *question;

	g_hash_table_remove(node->asked, question);
	if (node->generation == taken.generation && !node->frozen)
		taken.answer(node, found, error);
}

static void found_answer(struct node *node, gpointer result, const GError *error)
{
	const GPtrArray *found = result;

	if (failed(node, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, node->settings.domain)) {
			fire(node, NODE_EVENT_DONE, NULL);
			return;
		}
	}
	fire(node, NODE_EVENT_DIED, "its VM died as soon as it was started");
}

static void created_answer(struct node *node, gpointer result, const GError *error)
{
	if (failed(node, error))
		return;
	if (node->doubtful)
		domain_list(node->settings.host, node->settings.domain, listed,
			    ask(node, found_answer));
	else
		fire(node, NODE_EVENT_DONE, NULL);
}

static void enter_creating(struct node *node)
{
	node->fresh = true;
	node->agent_up = false;
	node->doubtful = false;
	node->boot_start_ns = clock_now_ns();
	domain_create(node->settings.host, node->xml, answered, ask(node, created_answer));
}

static uint64_t cpu_time_of(const struct node *node, const GPtrArray *times)
{
	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *cpu = times->pdata[i];

		if (g_str_equal(cpu->name, node->settings.domain))
			return cpu->cpu_ns;
	}
	return 0;
}

static void look_later(struct node *node);

static void look_answer(struct node *node, gpointer result, const GError *error)
{
	uint64_t cpu_ns = error ? 0 : cpu_time_of(node, result);

	if (boot_watch_look(&node->boot_watch, clock_now_ns(), cpu_ns))
		fire(node, NODE_EVENT_FAIL, "the guest stopped booting: it idles without an agent");
	else
		look_later(node);
}

static gboolean look(gpointer data)
{
	struct node *node = data;

	node->step_source = 0;
	domain_cpu_times(node->settings.host, listed, ask(node, look_answer));
	return G_SOURCE_REMOVE;
}

static void look_later(struct node *node)
{
	node->step_source = g_timeout_add_seconds(BOOT_WATCH_INTERVAL_S, look, node);
}

static void enter_awaiting(struct node *node)
{
	boot_watch_init(&node->boot_watch);
	if (node->agent_up)
		fire(node, NODE_EVENT_AGENT, NULL);
	else
		look_later(node);
}

/* A guest that was adopted while it booted has no agent yet: asks until the boot's deadline. */
static void greeting_failed(struct node *node, const char *message)
{
	log_debug("%s: agent does not answer yet: %s", node->settings.name, message);
	step_later(node, AGAIN_MS);
}

static void ping_answer(struct node *node, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_empty(result, &wrong))
		greeting_failed(node, error ? error->message : wrong->message);
	else
		fire(node, NODE_EVENT_DONE, NULL);
}

static void sync_answer(struct node *node, gpointer result, const GError *error)
{
	g_autofree char *request = agent_ping_request();
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_sync(result, SYNC_ID, &wrong))
		greeting_failed(node, error ? error->message : wrong->message);
	else
		node_agent(node, request, AGENT_TIMEOUT_S, answered, ask(node, ping_answer));
}

static void enter_greeting(struct node *node)
{
	g_autofree char *request = agent_sync_request(SYNC_ID);

	node_agent(node, request, AGENT_TIMEOUT_S, answered, ask(node, sync_answer));
}

static void sweep_answer(struct node *node, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;

	if (failed(node, error))
		return;
	if (!agent_parse_status(result, &status, &wrong)) {
		fire(node, NODE_EVENT_FAIL, wrong->message);
		return;
	}
	if (!status.exited) {
		step_later(node, POLL_MS);
		return;
	}
	if (status.status != 0) {
		fire(node, NODE_EVENT_FAIL, "a rank cannot be killed");
	} else {
		node->sweep_core++;
		node->sweep_pid = 0;
		enter(node);
	}
	agent_status_clear(&status);
}

static void sweep_started(struct node *node, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (failed(node, error))
		return;
	if (!agent_parse_exec(result, &node->sweep_pid, &wrong))
		fire(node, NODE_EVENT_FAIL, wrong->message);
	else
		enter(node);
}

/* One core after the other: start `virtbed-rank kill`, ask until it has ended. */
static void enter_sweeping(struct node *node)
{
	g_autofree char *request = NULL;
	g_autofree char *core = g_strdup_printf("%u", node->sweep_core);
	const char *const arguments[] = {"/usr/bin/virtbed-rank", "kill", core, NULL};

	if (node->fresh || node->sweep_core >= node->cores) {
		fire(node, NODE_EVENT_DONE, NULL);
		return;
	}
	request = node->sweep_pid ? agent_status_request(node->sweep_pid) :
				    agent_exec_request(arguments, NULL);
	node_agent(node, request, AGENT_TIMEOUT_S, answered,
		   ask(node, node->sweep_pid ? sweep_answer : sweep_started));
}

static void enter_capping(struct node *node)
{
	domain_apply_cap(node->settings.host, node->settings.domain, node->settings.cap,
			 node->settings.index * node->cores, answered,
			 ask(node, simple_answer));
}

static void enter_wiring(struct node *node)
{
	node->wired = 0;
	for (uint32_t i = 0; i < node->cores; i++)
		channel_open(node->channels[i]);
}

static gboolean health_check(gpointer data);

static void health_answer(struct node *node, gpointer result, const GError *error)
{
	if (error && !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		if (++node->unhealthy >= HEALTH_FAILURES) {
			fire(node, NODE_EVENT_FAIL, "the guest agent hangs");
			return;
		}
	} else {
		node->unhealthy = 0;
		node->failures = 0;
	}
	node->step_source = g_timeout_add_seconds(HEALTH_S, health_check, node);
}

static gboolean health_check(gpointer data)
{
	struct node *node = data;
	g_autofree char *request = agent_ping_request();

	node->step_source = 0;
	node_agent(node, request, AGENT_TIMEOUT_S, answered, ask(node, health_answer));
	return G_SOURCE_REMOVE;
}

static void settle_user(struct node *node)
{
	const struct node_user *user = g_steal_pointer(&node->user);

	g_clear_pointer(&node->task, g_free);
	if (user)
		user->settled(node, node->user_data);
}

static void enter_ready(struct node *node)
{
	if (node->boot_start_ns) {
		node->boot_s = clock_elapsed_s(node->boot_start_ns, clock_now_ns());
		node->boot_start_ns = 0;
		log_info("%s: ready, %.1f s after its VM was started", node->settings.name,
			 node->boot_s);
	}
	g_clear_pointer(&node->reason, g_free);
	node->unhealthy = 0;
	node->step_source = g_timeout_add_seconds(HEALTH_S, health_check, node);
	if (!node->announced) {
		node->announced = true;
		node->events->ready(node, node->data);
	}
	settle_user(node);
}

static void enter_busy(struct node *node)
{
	node->fresh = false;
	node->cut_off = false;
}

static void enter_removing(struct node *node)
{
	for (uint32_t i = 0; i < node->cores; i++)
		channel_close(node->channels[i]);
	domain_destroy(node->settings.host, node->settings.domain, answered,
		       ask(node, simple_answer));
}

static void enter_detached(struct node *node)
{
}

static void (*const actions[NODE_STATES])(struct node *node) = {
	[NODE_DOWN] = enter_down,         [NODE_QUEUED] = enter_queued,
	[NODE_CREATING] = enter_creating, [NODE_AWAITING] = enter_awaiting,
	[NODE_GREETING] = enter_greeting, [NODE_SWEEPING] = enter_sweeping,
	[NODE_CAPPING] = enter_capping,   [NODE_WIRING] = enter_wiring,
	[NODE_READY] = enter_ready,       [NODE_BUSY] = enter_busy,
	[NODE_REMOVING] = enter_removing, [NODE_DETACHED] = enter_detached,
};

static void enter(struct node *node)
{
	actions[node->state](node);
}

/* Moving. */

static bool is_boot(enum node_state state)
{
	return state >= NODE_CREATING && state <= NODE_WIRING;
}

static bool is_gone(enum node_state state)
{
	return state == NODE_DOWN || state == NODE_REMOVING || state == NODE_DETACHED;
}

static gboolean boot_expired(gpointer data)
{
	struct node *node = data;
	g_autofree char *reason =
		g_strdup_printf("did not get ready within %.0f s (%s)",
				node->settings.boot_timeout_s, node_state_name(node->state));

	node->deadline_source = 0;
	fire(node, NODE_EVENT_FAIL, reason);
	return G_SOURCE_REMOVE;
}

static void update_deadline(struct node *node, enum node_state previous)
{
	if (is_boot(node->state) && node->deadline_source == 0)
		node->deadline_source =
			g_timeout_add((guint)(node->settings.boot_timeout_s * 1000), boot_expired,
				      node);
	if (!is_boot(node->state))
		g_clear_handle_id(&node->deadline_source, g_source_remove);
	if (!is_boot(node->state) && node->state != NODE_QUEUED &&
	    (is_boot(previous) || previous == NODE_QUEUED))
		boot_queue_leave(node->settings.queue, node);
}

/* Tells the task and the owner that the VM is gone. */
static void announce_gone(struct node *node, enum node_state previous)
{
	const struct node_user *user = node->user;

	g_clear_handle_id(&node->agent_source, g_source_remove);
	g_clear_handle_id(&node->reopen_source, g_source_remove);
	if (node->announced) {
		node->announced = false;
		log_warning("%s: down: %s", node->settings.name, node->reason);
		node->events->down(node, node->reason, node->data);
	}
	if (!user)
		return;
	if (previous == NODE_BUSY) {
		node->user = NULL;
		g_clear_pointer(&node->task, g_free);
		user->lost(node, node->reason, node->user_data);
	} else {
		settle_user(node);
	}
}

/* What makes the next boot wait longer. */
static bool is_failure(enum node_state state, enum node_event event)
{
	if (state == NODE_REMOVING || state == NODE_DETACHED)
		return false;
	return event == NODE_EVENT_FAIL || event == NODE_EVENT_DIED;
}

static void fire(struct node *node, enum node_event event, const char *reason)
{
	enum node_state previous = node->state;
	enum node_state next;

	if (node->frozen)
		return;
	if (!node_machine_next(previous, event, &next)) {
		log_debug("%s: '%s' means nothing while %s", node->settings.name,
			  node_event_name(event), node_state_name(previous));
		return;
	}
	log_debug("%s: %s -> %s by '%s'%s%s", node->settings.name, node_state_name(previous),
		  node_state_name(next), node_event_name(event), reason ? ": " : "",
		  reason ? reason : "");
	node->state = next;
	node->generation++;
	g_clear_handle_id(&node->step_source, g_source_remove);
	if (reason) {
		g_free(node->reason);
		node->reason = g_strdup(reason);
	}
	if (is_failure(previous, event)) {
		node->failures++;
		if (!node->announced)
			log_warning("%s: boot failed: %s", node->settings.name, node->reason);
	}
	if (next == NODE_SWEEPING) {
		node->sweep_core = 0;
		node->sweep_pid = 0;
	}
	update_deadline(node, previous);
	if (is_gone(next))
		announce_gone(node, previous);
	enter(node);
}

/* Channels. */

static uint32_t core_of(const struct node *node, const struct channel *channel)
{
	uint32_t core = 0;

	while (node->channels[core] != channel)
		core++;
	return core;
}

static void channel_opened(struct channel *channel, const GError *error, void *data)
{
	struct node *node = data;

	if (node->state == NODE_WIRING) {
		if (!failed(node, error) && ++node->wired == node->cores)
			fire(node, NODE_EVENT_DONE, NULL);
	} else if (node->state == NODE_BUSY && error &&
		   !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		fire(node, NODE_EVENT_FAIL, error->message);
	}
}

static void channel_input(struct channel *channel, const char *bytes, size_t length, void *data)
{
	struct node *node = data;

	if (node->state == NODE_BUSY && node->user)
		node->user->input(node, core_of(node, channel), bytes, length, node->user_data);
	else
		log_debug("%s: %zu bytes on PMI port %u belong to no task", node->settings.name,
			  length, core_of(node, channel));
}

static void reopen_all(struct node *node)
{
	for (uint32_t i = 0; i < node->cores; i++)
		if (!channel_is_open(node->channels[i]))
			channel_open(node->channels[i]);
}

static gboolean reopen(gpointer data)
{
	struct node *node = data;

	node->reopen_source = 0;
	if (node->state == NODE_BUSY && host_connected(node->settings.host))
		reopen_all(node);
	return G_SOURCE_REMOVE;
}

static void channel_broken(struct channel *channel, const char *reason, void *data)
{
	struct node *node = data;

	log_debug("%s: PMI port %u: %s", node->settings.name, core_of(node, channel), reason);
	if (node->frozen)
		return;
	node->cut_off = true;
	if (node->state == NODE_BUSY && node->reopen_source == 0)
		node->reopen_source = g_timeout_add(REOPEN_MS, reopen, node);
	else
		fire(node, NODE_EVENT_UNWIRED, NULL);
}

static const struct channel_events channel_events = {
	.opened = channel_opened,
	.input = channel_input,
	.broken = channel_broken,
};

/* Life. */

struct node *node_new(const struct node_settings *settings, uint32_t cores,
		      const struct node_events *events, void *data)
{
	struct node *node = g_new0(struct node, 1);

	node->settings = *settings;
	node->cores = cores;
	node->events = events;
	node->data = data;
	node->state = NODE_DETACHED;
	node->reason = g_strdup("host not reached yet");
	node->asked = g_hash_table_new_full(NULL, NULL, g_free, NULL);
	node->channels = g_new0(struct channel *, cores);
	for (uint32_t i = 0; i < cores; i++) {
		g_autofree char *port = g_strdup_printf(DOMAIN_PMI_PORT, i);

		node->channels[i] =
			channel_new(settings->host, settings->domain, port, &channel_events, node);
	}
	return node;
}

void node_freeze(struct node *node)
{
	node->frozen = true;
	node->user = NULL; /* what still arrives for its task belongs to nobody */
	node->user_data = NULL;
	boot_queue_leave(node->settings.queue, node);
	g_clear_handle_id(&node->step_source, g_source_remove);
	g_clear_handle_id(&node->deadline_source, g_source_remove);
	g_clear_handle_id(&node->agent_source, g_source_remove);
	g_clear_handle_id(&node->reopen_source, g_source_remove);
}

void node_free(struct node *node)
{
	if (!node)
		return;
	node_freeze(node);
	for (uint32_t i = 0; i < node->cores; i++)
		channel_free(node->channels[i]);
	g_free(node->channels);
	g_hash_table_destroy(node->asked);
	g_free(node->xml);
	g_free(node->fingerprint);
	g_free(node->reason);
	g_free(node->task);
	g_free(node);
}

void node_prepare(struct node *node, const struct domain_spec *spec)
{
	g_free(node->xml);
	g_free(node->fingerprint);
	node->xml = domain_xml(spec);
	node->fingerprint = domain_fingerprint(spec);
}

void node_found(struct node *node, bool exists, const char *description)
{
	bool ours = exists && g_strcmp0(description, node->fingerprint) == 0;

	if (node->state == NODE_BUSY && ours)
		reopen_all(node);
	else if (!exists)
		fire(node, NODE_EVENT_DIED,
		     node->state == NODE_BUSY ? "the VM died while its host was out of reach" :
						NULL);
	else if (ours)
		fire(node, NODE_EVENT_ADOPT, NULL);
	else
		fire(node, NODE_EVENT_FOREIGN, "a VM that is not the one wanted has its name");
}

void node_detach(struct node *node, const char *reason)
{
	fire(node, NODE_EVENT_DETACH, reason);
	node->fresh = false;
	node->cut_off = true;
	/* libvirt does not tell streams that their connection is gone. */
	for (uint32_t i = 0; i < node->cores; i++)
		channel_close(node->channels[i]);
}

/* While a VM is being created it may be its predecessor that stopped: to be asked (created_answer()). */
void node_vm_stopped(struct node *node, const char *reason)
{
	if (node->state == NODE_CREATING)
		node->doubtful = true;
	else
		fire(node, NODE_EVENT_DIED, reason);
}

static gboolean agent_is_gone(gpointer data)
{
	struct node *node = data;

	node->agent_source = 0;
	fire(node, NODE_EVENT_FAIL, "the guest agent is gone");
	return G_SOURCE_REMOVE;
}

void node_agent_changed(struct node *node, bool connected)
{
	if (node->frozen)
		return;
	node->agent_up = connected;
	g_clear_handle_id(&node->agent_source, g_source_remove);
	if (connected && node->state == NODE_AWAITING)
		fire(node, NODE_EVENT_AGENT, NULL);
	else if (!connected && (node->state == NODE_READY || node->state == NODE_BUSY))
		node->agent_source = g_timeout_add_seconds(AGENT_GONE_S, agent_is_gone, node);
}

/* Queries. */

uint32_t node_index(const struct node *node)
{
	return node->settings.index;
}

const char *node_name(const struct node *node)
{
	return node->settings.name;
}

const char *node_domain(const struct node *node)
{
	return node->settings.domain;
}

struct host *node_host(const struct node *node)
{
	return node->settings.host;
}

enum node_state node_state(const struct node *node)
{
	return node->state;
}

const char *node_reason(const struct node *node)
{
	return node->state == NODE_READY || node->state == NODE_BUSY ? NULL : node->reason;
}

const char *node_task(const struct node *node)
{
	return node->task;
}

bool node_was_cut_off(const struct node *node)
{
	return node->cut_off;
}

double node_boot_s(const struct node *node)
{
	return node->boot_s;
}

/* Use by tasks. */

bool node_assign(struct node *node, const char *task, const struct node_user *user, void *data)
{
	if (node->state != NODE_READY || node->frozen)
		return false;
	node->user = user;
	node->user_data = data;
	node->task = g_strdup(task);
	fire(node, NODE_EVENT_ASSIGN, NULL);
	return true;
}

void node_release(struct node *node, bool clean)
{
	fire(node, clean ? NODE_EVENT_RELEASE : NODE_EVENT_SWEEP, NULL);
}

void node_fail(struct node *node, const char *reason)
{
	fire(node, NODE_EVENT_FAIL, reason);
}

void node_agent(struct node *node, const char *request, int timeout_s, host_done_f done,
		gpointer data)
{
	domain_agent(node->settings.host, node->settings.domain, request, timeout_s, done, data);
}

void node_send(struct node *node, uint32_t core, const char *bytes, size_t length)
{
	channel_send(node->channels[core], bytes, length);
}
