/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A VM over libvirt's own test driver: what the host says while its VM is being created, and of one that serves. */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <pthread.h>
#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "common/clock.h"
#include "local-sched/hypervisor/machine_private.h"
#include "local-sched/hypervisor/machine_requests.h"
#include "local-sched/hypervisor/pause.h"
#include "local-sched/hypervisor/virt_error.h"

#define DOMAIN "virtbed-test-n0"
#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"
#define DEADLINE_S 20

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct cpu_cap cap;
	struct machine_place place;
	struct machine *machine;
	bool connected;
	uint32_t stuck; /* how often it was told */
};

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	((struct fixture *)data)->connected = up;
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	if (!running && g_str_equal(name, DOMAIN))
		machine_vm_stopped(((struct fixture *)data)->machine, reason);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
}

static void on_paused(struct host *host, const char *name, bool paused, const char *failure,
		      void *data)
{
	if (g_str_equal(name, DOMAIN))
		machine_vm_paused(((struct fixture *)data)->machine, paused, failure);
}

static const struct host_events host_events = {.connection = on_connection,
					       .domain = on_domain,
					       .agent = on_agent,
					       .paused = on_paused};

static void on_ready(struct machine *machine, void *data)
{
}

static void on_down(struct machine *machine, const char *reason, void *data)
{
}

static void on_stuck(struct machine *machine, void *data)
{
	((struct fixture *)data)->stuck++;
}

static const struct machine_events machine_events = {
	.ready = on_ready, .down = on_down, .stuck = on_stuck};

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static bool is_connected(struct fixture *fixture)
{
	return fixture->connected;
}

static bool is_creating(struct fixture *fixture)
{
	return machine_state(fixture->machine) == MACHINE_CREATING;
}

static bool is_past_creating(struct fixture *fixture)
{
	return !is_creating(fixture);
}

static bool is_down(struct fixture *fixture)
{
	return machine_state(fixture->machine) == MACHINE_DOWN;
}

static bool is_paused(struct fixture *fixture)
{
	return machine_reason(fixture->machine) != NULL;
}

static bool is_not_paused(struct fixture *fixture)
{
	return !is_paused(fixture);
}

static void wait_until(struct fixture *fixture, bool (*holds)(struct fixture *fixture))
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (!holds(fixture))
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

static void set_up(struct fixture *fixture, gconstpointer data)
{
	const struct config_cluster cluster = {.cores = 1};
	const struct domain_spec spec = {
		.name = DOMAIN,
		.keeper = KEEPER,
		.virt_type = "test",
		.machine = "q35",
		.cores = 1,
		.memory_mib = 64,
		.kernel = "/vmlinuz",
		.initramfs = "/initramfs",
		.root = "/root.squashfs",
		.bridge = "br0",
		.mac = "52:54:00:77:01:0a",
		.address = "10.77.1.10/16",
		.guest_host = "n0",
		.console = "/console",
		.first_cpu = -1,
	};
	struct machine_settings settings = {.name = "n0", .domain = DOMAIN, .keeper = KEEPER, .boot_timeout_s = 60};

	fixture->queue = boot_queue_new(1);
	fixture->host = host_new("t", "test:///default", &host_events, fixture);
	cpu_cap_init(&fixture->cap, &cluster);
	settings.host = fixture->host;
	settings.queue = fixture->queue;
	fixture->place = (struct machine_place){.first_cpu = -1, .cap = &fixture->cap};
	fixture->machine = machine_new(&settings, 1, &machine_events, fixture);
	machine_prepare(fixture->machine, &spec);
	machine_place(fixture->machine, &fixture->place);
	machine_want(fixture->machine, true);
	wait_until(fixture, is_connected);
	machine_found(fixture->machine, NULL);
	wait_until(fixture, is_creating);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	host_free(fixture->host);
	machine_free(fixture->machine);
	boot_queue_free(fixture->queue);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* The host works in order on a VM: created, destroyed, and gone when the machine asks. */
static void test_dies(struct fixture *fixture, gconstpointer data)
{
	domain_destroy(fixture->host, DOMAIN, KEEPER, NULL, NULL);
	machine_vm_stopped(fixture->machine, "QEMU failed");
	g_assert_true(is_creating(fixture));
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "down");
	g_assert_nonnull(strstr(machine_reason(fixture->machine), "as soon as it was started"));
}

static void test_predecessor(struct fixture *fixture, gconstpointer data)
{
	machine_vm_stopped(fixture->machine, "the VM was destroyed");
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "awaiting");
}

/* What came of a call, in words. */
static void on_done(gpointer result, const GError *error, gpointer data)
{
	char **ret_what = data;

	*ret_what = error ? g_strdup_printf("error %d", error->code) : g_strdup("done");
}

static void assert_does(void (*act)(struct host *host, const char *name, host_done_f done,
				    gpointer data),
			struct fixture *fixture, const char *name, const char *expected)
{
	g_autofree char *what = NULL;
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	act(fixture->host, name, on_done, &what);
	while (!what)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
	g_assert_cmpstr(what, ==, expected);
}

/* A step that is done again after a connection broke finds its work done. */
static void test_freezes_what_is_frozen(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *missing = g_strdup_printf("error %d", VIRT_ERROR_NO_DOMAIN);

	wait_until(fixture, is_past_creating);
	for (int i = 0; i < 2; i++)
		assert_does(domain_freeze, fixture, DOMAIN, "done");
	for (int i = 0; i < 2; i++)
		assert_does(domain_thaw, fixture, DOMAIN, "done");
	assert_does(domain_freeze, fixture, "virtbed-test-n1", missing);
}

static bool is_told_foreign(struct fixture *fixture)
{
	const char *reason = machine_reason(fixture->machine);

	return is_down(fixture) && reason && strstr(reason, "somebody else's VM of that name");
}

/* The driver's hosts are one per process: another connection sees the same VMs. */
static void test_foreign(struct fixture *fixture, gconstpointer data)
{
	static const char xml[] = "<domain type='test'><name>" DOMAIN "</name><memory>65536</memory>"
				  "<os><type>hvm</type></os></domain>";
	const struct domain_info info = {.name = (char *)DOMAIN};
	g_autoptr(virConnect) connection = virConnectOpen("test:///default");
	g_autoptr(virDomain) foreign = NULL;

	wait_until(fixture, is_past_creating);
	machine_want(fixture->machine, false);
	wait_until(fixture, is_down);
	machine_detach(fixture->machine, "a test");
	foreign = virDomainCreateXML(connection, xml, 0);
	g_assert_nonnull(foreign);
	machine_want(fixture->machine, true);
	machine_found(fixture->machine, &info);
	g_assert_true(is_down(fixture));
	wait_until(fixture, is_told_foreign);
	g_assert_cmpint(virDomainIsActive(foreign), ==, 1);
	g_assert_cmpint(virDomainDestroy(foreign), ==, 0);
	wait_until(fixture, is_creating);
}

/* A VM that nobody wants is removed where it is found, and does not come back. */
static void test_unwanted(struct fixture *fixture, gconstpointer data)
{
	wait_until(fixture, is_past_creating);
	machine_want(fixture->machine, false);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "removing");
	wait_until(fixture, is_down);
	machine_want(fixture->machine, true);
	wait_until(fixture, is_creating);
}

static bool is_told_stuck(struct fixture *fixture)
{
	return fixture->stuck > 0;
}

static bool is_queued_or_more(struct fixture *fixture)
{
	return !is_down(fixture);
}

/* One that may be on another host too is booted when that was asked, and says so if it is wanted. */
static void test_barred(struct fixture *fixture, gconstpointer data)
{
	wait_until(fixture, is_past_creating);
	machine_bar(fixture->machine, true);
	machine_vm_stopped(fixture->machine, "QEMU failed");
	g_assert_true(is_down(fixture));
	g_assert_cmpuint(fixture->stuck, ==, 0);
	g_assert_nonnull(strstr(machine_reason(fixture->machine), "may be on another host"));
	wait_until(fixture, is_told_stuck);
	machine_want(fixture->machine, false);
	g_assert_cmpuint(fixture->machine->step_source, ==, 0);
	machine_want(fixture->machine, true);
	g_assert_cmpuint(fixture->machine->step_source, !=, 0);
	g_assert_true(is_down(fixture));
	machine_bar(fixture->machine, false);
	wait_until(fixture, is_queued_or_more);
	g_assert_cmpuint(fixture->stuck, ==, 1);
}

/* As if its guest had booted. */
static void reach_ready(struct fixture *fixture)
{
	wait_until(fixture, is_past_creating);
	machine_fire(fixture->machine, MACHINE_EVENT_AGENT, NULL);
	while (machine_state(fixture->machine) != MACHINE_READY)
		machine_fire(fixture->machine, MACHINE_EVENT_DONE, NULL);
}

/* One that somebody paused is kept, and its guest's silence excused as long as it lasts. */
static void test_paused(struct fixture *fixture, gconstpointer data)
{
	const GError silent = {.domain = VIRT_ERROR, .code = VIRT_ERROR_AGENT};
	const GError unasked = {.domain = VIRT_ERROR, .code = VIRT_ERROR_PAUSED};
	const GError gone = {.domain = VIRT_ERROR, .code = VIRT_ERROR_NO_DOMAIN};
	int64_t asked_ns = clock_now_ns();

	reach_ready(fixture);
	g_assert_false(machine_is_excused(fixture->machine, asked_ns, &silent));
	assert_does(domain_freeze, fixture, DOMAIN, "done");
	wait_until(fixture, is_paused);
	g_assert_true(machine_is_excused(fixture->machine, clock_now_ns(), &silent));
	g_assert_true(machine_is_excused(fixture->machine, clock_now_ns(), &unasked));
	g_assert_false(machine_is_excused(fixture->machine, clock_now_ns(), &gone));
	g_assert_false(machine_is_excused(fixture->machine, clock_now_ns(), NULL));
	assert_does(domain_thaw, fixture, DOMAIN, "done");
	wait_until(fixture, is_not_paused);
	g_assert_true(machine_is_excused(fixture->machine, asked_ns, &silent));
	g_assert_false(machine_is_excused(fixture->machine, clock_now_ns() + 1, &silent));
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "ready");
}

static void test_stopped_by_failure(struct fixture *fixture, gconstpointer data)
{
	reach_ready(fixture);
	machine_vm_paused(fixture->machine, true,
			  pause_failure_of_event(VIR_DOMAIN_EVENT_SUSPENDED_IOERROR));
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "removing");
	g_assert_cmpstr(machine_reason(fixture->machine), ==, "it was stopped by an I/O error");
}

/* A call about the VM that holds up those to its agent until it may end, and what is answered after them. */
struct gate {
	pthread_mutex_t lock; /* ThreadSanitizer does not see GMutex */
	pthread_cond_t changed;
	uint32_t may_end;
	GString *answers; /* a letter each, in the order of the answers */
};

static gpointer hold_lane(virConnectPtr connection, gpointer input, GError **error)
{
	struct gate *gate = input;

	pthread_mutex_lock(&gate->lock);
	while (gate->may_end == 0)
		pthread_cond_wait(&gate->changed, &gate->lock);
	gate->may_end--;
	pthread_mutex_unlock(&gate->lock);
	return HOST_DONE;
}

static void open_gate(struct gate *gate, uint32_t count)
{
	pthread_mutex_lock(&gate->lock);
	gate->may_end += count;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

static gpointer do_nothing(virConnectPtr connection, gpointer input, GError **error)
{
	return HOST_DONE;
}

static void note_answer(gpointer result, const GError *error, gpointer data)
{
	const bool unsent = g_error_matches(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN);

	/* libvirt's test driver has no agents. */
	g_string_append_c(((struct gate *)data)->answers, unsent ? 'u' : error ? 'a' : 'x');
}

static bool has_asked_all(struct fixture *fixture)
{
	return g_queue_is_empty(&fixture->machine->requests);
}

/* A VM that is ready has three questions for its agent then, and none is sent. */
static void ask_behind_gate(struct fixture *fixture, struct gate *gate)
{
	const struct host_call hold = {.vm = DOMAIN, .work = hold_lane, .input = gate};

	gate->answers = g_string_new(NULL);
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->changed, NULL);
	reach_ready(fixture);
	wait_until(fixture, has_asked_all);
	host_call(fixture->host, HOST_LANE_AGENT, &hold);
	for (int i = 0; i < 3; i++)
		machine_agent(fixture->machine, "{}", note_answer, gate);
}

static void assert_answers(const struct gate *gate, const char *letters)
{
	const guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (gate->answers->len < strlen(letters))
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
	g_assert_cmpstr(gate->answers->str, ==, letters);
}

static void end_gate(struct fixture *fixture, struct gate *gate)
{
	open_gate(gate, 1);
	host_free(g_steal_pointer(&fixture->host)); /* waits for its threads */
	pthread_cond_destroy(&gate->changed);
	pthread_mutex_destroy(&gate->lock);
	g_string_free(gate->answers, TRUE);
}

/* Its later questions wait for the first one's answer where they hold up nobody's. */
static void test_asks_its_agent_one_at_a_time(struct fixture *fixture, gconstpointer data)
{
	struct gate gate = {0};
	const struct host_call other = {.vm = DOMAIN, .work = do_nothing, .done = note_answer, .data = &gate};

	ask_behind_gate(fixture, &gate);
	host_call(fixture->host, HOST_LANE_AGENT, &other);
	open_gate(&gate, 1);
	assert_answers(&gate, "axaa");
	end_gate(fixture, &gate);
}

/* What a task that is dead had in the queue is nothing for the VM that is booted next. */
static void test_asks_no_later_vm(struct fixture *fixture, gconstpointer data)
{
	struct gate gate = {0};

	ask_behind_gate(fixture, &gate);
	machine_renew(fixture->machine);
	wait_until(fixture, is_creating);
	wait_until(fixture, is_past_creating);
	machine_agent(fixture->machine, "{}", note_answer, &gate);
	open_gate(&gate, 1);
	assert_answers(&gate, "uuua");
	end_gate(fixture, &gate);
}

static void test_failures(void)
{
	static const struct {
		const char *(*failure)(int code);
		int code;
		const char *expected;
	} cases[] = {
		{pause_failure_of_event, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED, NULL},
		{pause_failure_of_event, VIR_DOMAIN_EVENT_SUSPENDED_FROM_SNAPSHOT, NULL},
		{pause_failure_of_event, VIR_DOMAIN_EVENT_SUSPENDED_IOERROR, "an I/O error"},
		{pause_failure_of_event, VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG, "its watchdog"},
		{pause_failure_of_event, -1, NULL},
		{pause_failure_of_event, 1000, NULL},
		{pause_failure_of_reason, VIR_DOMAIN_PAUSED_USER, NULL},
		{pause_failure_of_reason, VIR_DOMAIN_PAUSED_UNKNOWN, NULL},
		{pause_failure_of_reason, VIR_DOMAIN_PAUSED_DUMP, NULL},
		{pause_failure_of_reason, VIR_DOMAIN_PAUSED_IOERROR, "an I/O error"},
		{pause_failure_of_reason, VIR_DOMAIN_PAUSED_CRASHED, "a crash of its guest"},
		{pause_failure_of_reason, 1000, NULL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(cases[i].failure(cases[i].code), ==, cases[i].expected);
}

static bool is_past_capping(struct fixture *fixture)
{
	return machine_state(fixture->machine) > MACHINE_CAPPING ||
	       machine_state(fixture->machine) < MACHINE_SWEEPING;
}

static void on_input(struct machine *machine, uint32_t core, const char *bytes, size_t length,
		     void *data)
{
}

static void on_torn(struct machine *machine, uint32_t core, void *data)
{
}

static void on_lost(struct machine *machine, const char *reason, void *data)
{
}

static void on_settled(struct machine *machine, void *data)
{
}

static void on_wired(struct machine *machine, const GError *error, void *data)
{
}

static const struct machine_user user = {
	.input = on_input, .torn = on_torn, .lost = on_lost, .settled = on_settled, .wired = on_wired};

/* Also one that was taken back: that may have failed. */
static void test_share_ends_with_its_task(struct fixture *fixture, gconstpointer data)
{
	reach_ready(fixture);
	g_assert_true(machine_assign(fixture->machine, "t", MACHINE_OWNER_ANY, &user, NULL));
	machine_release(fixture->machine, true);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "ready");
	g_assert_true(machine_assign(fixture->machine, "u", MACHINE_OWNER_ANY, &user, NULL));
	machine_set_share(fixture->machine, 0.5);
	machine_set_share(fixture->machine, 1);
	machine_release(fixture->machine, true);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "capping");
	g_assert_cmpint(machine_cap_at(fixture->machine, &fixture->place).quota_us, ==,
			CPU_CAP_NO_QUOTA);
	wait_until(fixture, is_past_capping);
	g_assert_false(fixture->machine->shared);
}

/* Nobody knows what its last task had. */
static void test_share_ends_with_its_scheduler(struct fixture *fixture, gconstpointer data)
{
	struct domain_info info = {.name = (char *)DOMAIN, .keeper = (char *)KEEPER};

	wait_until(fixture, is_past_creating);
	info.description = fixture->machine->fingerprint;
	machine_detach(fixture->machine, "its scheduler died");
	machine_found(fixture->machine, &info);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "greeting");
	machine_fire(fixture->machine, MACHINE_EVENT_DONE, NULL);
	fixture->machine->clean = true;
	machine_fire(fixture->machine, MACHINE_EVENT_DONE, NULL);
	g_assert_cmpstr(machine_state_name(machine_state(fixture->machine)), ==, "capping");
	g_assert_cmpint(machine_cap_at(fixture->machine, &fixture->place).quota_us, ==,
			CPU_CAP_NO_QUOTA);
	wait_until(fixture, is_past_capping);
	g_assert_false(fixture->machine->shared);
}

#define ADD(name, test) g_test_add(name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("/machine/a-vm-that-dies-while-it-is-created-does-not-hold-its-place", test_dies);
	ADD("/machine/a-predecessor-that-ends-while-a-vm-is-created-does-no-harm", test_predecessor);
	ADD("/machine/somebody-elses-vm-of-its-name-is-left-alone-and-told", test_foreign);
	ADD("/machine/what-is-frozen-may-be-frozen-again", test_freezes_what_is_frozen);
	ADD("/machine/one-that-nobody-wants-goes-until-somebody-does", test_unwanted);
	ADD("/machine/one-that-may-be-on-another-host-too-is-not-booted", test_barred);
	ADD("/machine/one-that-somebody-paused-is-kept", test_paused);
	ADD("/machine/one-that-a-failure-stopped-has-failed", test_stopped_by_failure);
	ADD("/machine/asks-its-agent-one-thing-at-a-time", test_asks_its_agent_one_at_a_time);
	ADD("/machine/asks-no-later-vm", test_asks_no_later_vm);
	ADD("/machine/a-share-ends-with-its-task", test_share_ends_with_its_task);
	ADD("/machine/a-share-ends-with-its-scheduler", test_share_ends_with_its_scheduler);
	g_test_add_func("/machine/what-was-asked-for-is-told-from-a-failure", test_failures);
	return g_test_run();
}
