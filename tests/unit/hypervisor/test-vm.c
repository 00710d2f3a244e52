/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A VM over libvirt's own test driver: what the host says while its VM is being created, and while
 * it serves.
 */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <pthread.h>
#include <string.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "common/clock.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/pause.h"
#include "local-sched/hypervisor/virt_error.h"

#define DOMAIN "virtbed-test-n0"
#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"
#define DEADLINE_S 20

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct cpu_cap cap;
	struct vm_place place;
	struct vm *vm;
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
		vm_stopped(((struct fixture *)data)->vm, reason);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
}

static void on_paused(struct host *host, const char *name, bool paused, const char *failure,
		      void *data)
{
	if (g_str_equal(name, DOMAIN))
		vm_was_paused(((struct fixture *)data)->vm, paused, failure);
}

static const struct host_events host_events = {.connection = on_connection,
					       .domain = on_domain,
					       .agent = on_agent,
					       .paused = on_paused};

static void on_ready(struct vm *vm, void *data)
{
}

static void on_down(struct vm *vm, const char *reason, void *data)
{
}

static void on_stuck(struct vm *vm, void *data)
{
	((struct fixture *)data)->stuck++;
}

static const struct vm_events vm_events = {.ready = on_ready, .down = on_down, .stuck = on_stuck};

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
	return vm_state(fixture->vm) == VM_CREATING;
}

static bool is_past_creating(struct fixture *fixture)
{
	return !is_creating(fixture);
}

static bool is_down(struct fixture *fixture)
{
	return vm_state(fixture->vm) == VM_DOWN;
}

static bool is_paused(struct fixture *fixture)
{
	return vm_reason(fixture->vm) != NULL;
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
		.machine_type = "q35",
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
	struct vm_settings settings = {.name = "n0",
				       .domain = DOMAIN,
				       .keeper = KEEPER,
				       .boot_timeout_s = 60};

	fixture->queue = boot_queue_new(1);
	fixture->host = host_new(&platform_machine, "t", "test:///default", &host_events, fixture);
	cpu_cap_init(&fixture->cap, &cluster);
	settings.host = fixture->host;
	settings.queue = fixture->queue;
	fixture->place = (struct vm_place){.first_cpu = -1, .cap = &fixture->cap};
	fixture->vm = vm_new(&settings, 1, &vm_events, fixture);
	vm_prepare(fixture->vm, &spec);
	vm_set_place(fixture->vm, &fixture->place);
	vm_want(fixture->vm, true);
	wait_until(fixture, is_connected);
	vm_found(fixture->vm, NULL);
	wait_until(fixture, is_creating);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	host_free(fixture->host);
	vm_free(fixture->vm);
	boot_queue_free(fixture->queue);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* The host works in order on a VM: created, destroyed, and gone when the vm asks. */
static void test_dies(struct fixture *fixture, gconstpointer data)
{
	domain_destroy(fixture->host, DOMAIN, KEEPER, NULL, NULL);
	vm_stopped(fixture->vm, "QEMU failed");
	g_assert_true(is_creating(fixture));
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "down");
	g_assert_nonnull(strstr(vm_reason(fixture->vm), "as soon as it was started"));
}

static void test_predecessor(struct fixture *fixture, gconstpointer data)
{
	vm_stopped(fixture->vm, "the VM was destroyed");
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "awaiting");
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
	const char *reason = vm_reason(fixture->vm);

	return is_down(fixture) && reason && strstr(reason, "another owner's VM of that name");
}

/* The driver's hosts are one per process: another connection sees the same VMs. */
static void test_foreign(struct fixture *fixture, gconstpointer data)
{
	static const char xml[] =
		"<domain type='test'><name>" DOMAIN "</name><memory>65536</memory>"
		"<os><type>hvm</type></os></domain>";
	const struct domain_info info = {.name = (char *)DOMAIN};
	g_autoptr(virConnect) connection = virConnectOpen("test:///default");
	g_autoptr(virDomain) foreign = NULL;

	wait_until(fixture, is_past_creating);
	vm_want(fixture->vm, false);
	wait_until(fixture, is_down);
	vm_disconnect(fixture->vm, "a test");
	foreign = virDomainCreateXML(connection, xml, 0);
	g_assert_nonnull(foreign);
	vm_want(fixture->vm, true);
	vm_found(fixture->vm, &info);
	g_assert_true(is_down(fixture));
	wait_until(fixture, is_told_foreign);
	g_assert_cmpint(virDomainIsActive(foreign), ==, 1);
	g_assert_cmpint(virDomainDestroy(foreign), ==, 0);
	wait_until(fixture, is_creating);
}

/* An unwanted VM is removed where it is found, and does not come back. */
static void test_unwanted(struct fixture *fixture, gconstpointer data)
{
	wait_until(fixture, is_past_creating);
	vm_want(fixture->vm, false);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "removing");
	wait_until(fixture, is_down);
	vm_want(fixture->vm, true);
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

/*
 * A VM that may be on another host too is booted when that was asked, and says so if it is wanted.
 */
static void test_barred(struct fixture *fixture, gconstpointer data)
{
	wait_until(fixture, is_past_creating);
	vm_inhibit_boot(fixture->vm, true);
	vm_stopped(fixture->vm, "QEMU failed");
	g_assert_true(is_down(fixture));
	g_assert_cmpuint(fixture->stuck, ==, 0);
	g_assert_nonnull(strstr(vm_reason(fixture->vm), "may be on another host"));
	wait_until(fixture, is_told_stuck);
	vm_want(fixture->vm, false);
	g_assert_cmpuint(fixture->vm->step_source, ==, 0);
	vm_want(fixture->vm, true);
	g_assert_cmpuint(fixture->vm->step_source, !=, 0);
	g_assert_true(is_down(fixture));
	vm_inhibit_boot(fixture->vm, false);
	wait_until(fixture, is_queued_or_more);
	g_assert_cmpuint(fixture->stuck, ==, 1);
}

/* As if its guest had booted. */
static void reach_ready(struct fixture *fixture)
{
	wait_until(fixture, is_past_creating);
	vm_fire(fixture->vm, VM_EVENT_AGENT, NULL);
	while (vm_state(fixture->vm) != VM_READY)
		vm_fire(fixture->vm, VM_EVENT_DONE, NULL);
}

/*
 * A VM that was paused from outside is kept, and its guest's silence excused as long as it lasts.
 */
static void test_paused(struct fixture *fixture, gconstpointer data)
{
	const GError silent = {.domain = VIRT_ERROR, .code = VIRT_ERROR_AGENT};
	const GError unasked = {.domain = VIRT_ERROR, .code = VIRT_ERROR_PAUSED};
	const GError gone = {.domain = VIRT_ERROR, .code = VIRT_ERROR_NO_DOMAIN};
	int64_t asked_ns = clock_now_ns();

	reach_ready(fixture);
	g_assert_false(vm_is_excused(fixture->vm, asked_ns, &silent));
	assert_does(domain_freeze, fixture, DOMAIN, "done");
	wait_until(fixture, is_paused);
	g_assert_true(vm_is_excused(fixture->vm, clock_now_ns(), &silent));
	g_assert_true(vm_is_excused(fixture->vm, clock_now_ns(), &unasked));
	g_assert_false(vm_is_excused(fixture->vm, clock_now_ns(), &gone));
	g_assert_false(vm_is_excused(fixture->vm, clock_now_ns(), NULL));
	assert_does(domain_thaw, fixture, DOMAIN, "done");
	wait_until(fixture, is_not_paused);
	g_assert_true(vm_is_excused(fixture->vm, asked_ns, &silent));
	g_assert_false(vm_is_excused(fixture->vm, clock_now_ns() + 1, &silent));
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "ready");
}

static void test_stopped_by_failure(struct fixture *fixture, gconstpointer data)
{
	reach_ready(fixture);
	vm_was_paused(fixture->vm, true,
		      pause_failure_of_event(VIR_DOMAIN_EVENT_SUSPENDED_IOERROR));
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "removing");
	g_assert_cmpstr(vm_reason(fixture->vm), ==, "it was stopped by an I/O error");
}

/*
 * A call about the VM that holds up those to its agent until it may end, and what is answered after
 * them.
 */
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
	return g_queue_is_empty(&fixture->vm->requests);
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
		vm_request(fixture->vm, "{}", note_answer, gate);
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

/* Its later questions wait for the first one's answer where they hold up no other VM's. */
static void test_asks_its_agent_one_at_a_time(struct fixture *fixture, gconstpointer data)
{
	struct gate gate = {0};
	const struct host_call other = {.vm = DOMAIN,
					.work = do_nothing,
					.done = note_answer,
					.data = &gate};

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
	vm_recycle(fixture->vm);
	wait_until(fixture, is_creating);
	wait_until(fixture, is_past_creating);
	vm_request(fixture->vm, "{}", note_answer, &gate);
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
	return vm_state(fixture->vm) > VM_CAPPING || vm_state(fixture->vm) < VM_SWEEPING;
}

static void on_input(struct vm *vm, uint32_t core, const char *bytes, size_t length, void *data)
{
}

static void on_torn(struct vm *vm, uint32_t core, void *data)
{
}

static void on_lost(struct vm *vm, const char *reason, void *data)
{
}

static void on_settled(struct vm *vm, void *data)
{
}

static void on_wired(struct vm *vm, const GError *error, void *data)
{
}

static const struct vm_user user = {.input = on_input,
				    .torn = on_torn,
				    .lost = on_lost,
				    .settled = on_settled,
				    .wired = on_wired};

/* Also a request that was taken back: that may have failed. */
static void test_share_ends_with_its_task(struct fixture *fixture, gconstpointer data)
{
	reach_ready(fixture);
	g_assert_true(vm_assign(fixture->vm, "t", VM_OWNER_ANY, &user, NULL));
	vm_release(fixture->vm, true);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "ready");
	g_assert_true(vm_assign(fixture->vm, "u", VM_OWNER_ANY, &user, NULL));
	vm_set_share(fixture->vm, 0.5);
	vm_set_share(fixture->vm, 1);
	vm_release(fixture->vm, true);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "capping");
	g_assert_cmpint(vm_cap_at(fixture->vm, &fixture->place).quota_us, ==, CPU_CAP_NO_QUOTA);
	wait_until(fixture, is_past_capping);
	g_assert_false(fixture->vm->shared);
}

/* The share of its last task is unknown. */
static void test_share_ends_with_its_scheduler(struct fixture *fixture, gconstpointer data)
{
	struct domain_info info = {.name = (char *)DOMAIN, .keeper = (char *)KEEPER};

	wait_until(fixture, is_past_creating);
	info.description = fixture->vm->fingerprint;
	vm_disconnect(fixture->vm, "its scheduler died");
	vm_found(fixture->vm, &info);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "greeting");
	vm_fire(fixture->vm, VM_EVENT_DONE, NULL);
	fixture->vm->clean = true;
	vm_fire(fixture->vm, VM_EVENT_DONE, NULL);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "capping");
	g_assert_cmpint(vm_cap_at(fixture->vm, &fixture->place).quota_us, ==, CPU_CAP_NO_QUOTA);
	wait_until(fixture, is_past_capping);
	g_assert_false(fixture->vm->shared);
}

#define ADD(name, test) g_test_add(name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("/machine/a-vm-that-dies-while-it-is-created-does-not-hold-its-place", test_dies);
	ADD("/machine/a-predecessor-that-ends-while-a-vm-is-created-does-no-harm",
	    test_predecessor);
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
