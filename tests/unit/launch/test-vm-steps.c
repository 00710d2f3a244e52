/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of VMs whose hosts' answers come when the test says so. */
#include <gio/gio.h>
#include <string.h>

#include "common/platform.h"
#include "local-sched/launch/vm_steps.h"

#define VMS 3

enum step { IDLE = 0, WORKING, MORE, FAILED, STEPS };
enum event { START = 0, DONE, FAIL, LIMIT, EVENTS };

static const char *const step_names[STEPS] = {"idle", "working", "more", "failed"};
static const char *const event_names[EVENTS] = {"start", "done", "fail", "limit"};

static const struct fsm_transition transitions[EVENTS][STEPS] = {
	[START] = {[IDLE] = FSM_TO(WORKING)},
	[DONE] = {[WORKING] = FSM_TO(MORE), [MORE] = FSM_TO(IDLE)},
	[FAIL] = {[WORKING] = FSM_TO(FAILED)},
	[LIMIT] = {[WORKING] = FSM_TO(FAILED)},
};

static const struct fsm fsm = {
	.what = "test",
	.states = STEPS,
	.events = EVENTS,
	.state_names = step_names,
	.event_names = event_names,
	.transitions = transitions[0],
	.unlisted = "it means nothing",
};

static const struct vm_step steps[STEPS] = {[WORKING] = {.limit_s = 1}};

static const struct vm_step_table table = {
	.fsm = &fsm,
	.done = DONE,
	.fail = FAIL,
	.limit = LIMIT,
	.steps = steps,
};

/* What owns them. */
struct owner {
	struct vm_steps *steps;
	gpointer calls[VMS]; /* under way; NULL: none */
	uint32_t idle;       /* VM for which nothing is to be done; VMS: none */
	bool repeats;
	int patience;
	int started;
	int good;
	int entered[STEPS];
};

static bool start(void *data, uint32_t vm)
{
	struct owner *owner = data;

	owner->started++;
	if (vm == owner->idle)
		return false;
	owner->calls[vm] = vm_steps_call(owner->steps, vm);
	return true;
}

static bool is_to_be_repeated(void *data, uint32_t vm, const GError *error)
{
	return error && ((struct owner *)data)->repeats;
}

static void good(void *data, uint32_t vm, int64_t took_ns)
{
	g_assert_cmpint(took_ns, >=, 0);
	((struct owner *)data)->good++;
}

static bool is_patient(void *data)
{
	struct owner *owner = data;

	return owner->patience-- > 0;
}

static void enter(void *data, guint previous, guint event)
{
	struct owner *owner = data;

	owner->entered[vm_steps_current(owner->steps)]++;
	if (vm_steps_current(owner->steps) == WORKING || vm_steps_current(owner->steps) == MORE)
		vm_steps_run(owner->steps);
}

static const struct vm_steps_kind kind = {
	.table = &table,
	.start = start,
	.is_to_be_repeated = is_to_be_repeated,
	.good = good,
	.is_patient = is_patient,
	.enter = enter,
};

static void begin(struct owner *owner)
{
	owner->steps = vm_steps_new(&platform_machine, &kind, "t", VMS, 15, owner);
	vm_steps_fire(owner->steps, START, NULL);
	g_assert_cmpuint(vm_steps_current(owner->steps), ==, WORKING);
}

/* A host answers what it was asked for a VM. */
static void answer(struct owner *owner, uint32_t vm, const char *error)
{
	g_autoptr(GError) wrong =
		error ? g_error_new_literal(G_IO_ERROR, G_IO_ERROR_FAILED, error) : NULL;

	vm_steps_answer(error ? NULL : HOST_DONE, wrong, g_steal_pointer(&owner->calls[vm]));
}

static void test_all(void)
{
	struct owner owner = {.idle = 1};

	begin(&owner);
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, WORKING);
	answer(&owner, 0, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	g_assert_cmpint(owner.good, ==, 2);
	g_assert_cmpint(owner.started, ==, 2 * VMS);
	answer(&owner, 0, NULL);
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, IDLE);
	vm_steps_free(owner.steps);
}

/* The others come to their end first, and the first reason is kept. */
static void test_failure(void)
{
	struct owner owner = {.idle = VMS};
	g_autofree char *reason = NULL;
	g_autofree char *next = NULL;

	begin(&owner);
	answer(&owner, 1, "no way");
	answer(&owner, 0, "not either");
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, WORKING);
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, FAILED);
	reason = vm_steps_take_reason(owner.steps);
	g_assert_cmpstr(reason, ==, "working: no way");
	next = vm_steps_take_reason(owner.steps);
	g_assert_cmpstr(next, ==, "for no known reason");
	vm_steps_free(owner.steps);
}

static void test_late(void)
{
	struct owner owner = {.idle = VMS};
	gpointer late[VMS];

	begin(&owner);
	memcpy(late, owner.calls, sizeof(late));
	vm_steps_jump(owner.steps, MORE);
	vm_steps_run(owner.steps);
	for (uint32_t i = 0; i < VMS; i++)
		vm_steps_answer(HOST_DONE, NULL, late[i]);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	answer(&owner, 1, NULL);
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	answer(&owner, 0, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, IDLE);
	vm_steps_free(owner.steps);
}

/* A VM that died holds nothing up, and is left alone from then on. */
static void test_dropped(void)
{
	struct owner owner = {.idle = VMS};

	begin(&owner);
	answer(&owner, 0, NULL);
	answer(&owner, 1, NULL);
	g_assert_true(vm_steps_awaits(owner.steps, 2));
	vm_steps_drop(owner.steps, 2);
	g_assert_false(vm_steps_has(owner.steps, 2));
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	answer(&owner, 2, "the VM is gone");
	g_assert_cmpint(owner.started, ==, VMS + 2);
	answer(&owner, 0, NULL);
	answer(&owner, 1, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, IDLE);
	vm_steps_free(owner.steps);
}

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for 20 s");
	return G_SOURCE_REMOVE;
}

static void wait_until_started(struct owner *owner, int count)
{
	guint deadline = g_timeout_add_seconds(20, too_late, NULL);

	while (owner->started < count)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

static void test_repeats(void)
{
	struct owner owner = {.idle = VMS, .repeats = true, .patience = 100};

	begin(&owner);
	answer(&owner, 0, NULL);
	answer(&owner, 1, "not yet");
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, WORKING);
	wait_until_started(&owner, VMS + 1);
	answer(&owner, 1, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	for (uint32_t i = 0; i < VMS; i++)
		answer(&owner, i, NULL);
	vm_steps_free(owner.steps);
}

/* What tells the end of VM 1's step is no answer to a call. */
static void test_wired(void)
{
	g_autoptr(GError) away = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_FAILED, "away");
	struct owner owner = {.idle = VMS, .repeats = true, .patience = 100};
	gpointer calls[2];

	begin(&owner);
	calls[0] = owner.calls[1];
	vm_steps_wired(owner.steps, 1, away);
	answer(&owner, 0, NULL);
	answer(&owner, 2, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, WORKING);
	wait_until_started(&owner, VMS + 1);
	calls[1] = owner.calls[1];
	vm_steps_wired(owner.steps, 1, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, MORE);
	for (int i = 0; i < 2; i++)
		vm_steps_answer(HOST_DONE, NULL, calls[i]);
	owner.repeats = false;
	for (uint32_t i = 0; i < VMS; i++)
		answer(&owner, i, NULL);
	g_assert_cmpuint(vm_steps_current(owner.steps), ==, IDLE);
	vm_steps_free(owner.steps);
}

/* Its limit is reached once in vain. */
static void test_limit(void)
{
	struct owner owner = {.idle = VMS, .patience = 1};
	guint deadline = g_timeout_add_seconds(20, too_late, NULL);
	g_autofree char *reason = NULL;

	begin(&owner);
	while (owner.entered[FAILED] == 0)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
	g_assert_cmpint(owner.patience, ==, -1);
	reason = vm_steps_take_reason(owner.steps);
	g_assert_cmpstr(reason, ==, "working took longer than 1 s");
	for (uint32_t i = 0; i < VMS; i++)
		answer(&owner, i, NULL);
	g_assert_cmpint(owner.good, ==, 0);
	vm_steps_free(owner.steps);
}

/* Answers come after the steps were freed. */
static void test_freed(void)
{
	struct owner owner = {.idle = VMS};

	begin(&owner);
	vm_steps_free(owner.steps);
	for (uint32_t i = 0; i < VMS; i++)
		answer(&owner, i, i == 1 ? "too late" : NULL);
	g_assert_cmpint(owner.good, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vm-steps/is-done-when-all-are", test_all);
	g_test_add_func("/vm-steps/fails-when-one-does", test_failure);
	g_test_add_func("/vm-steps/late-answers-do-not-count", test_late);
	g_test_add_func("/vm-steps/a-vm-that-is-gone-holds-nothing-up", test_dropped);
	g_test_add_func("/vm-steps/tries-again", test_repeats);
	g_test_add_func("/vm-steps/tries-again-to-wire", test_wired);
	g_test_add_func("/vm-steps/takes-no-longer-than-its-limit", test_limit);
	g_test_add_func("/vm-steps/may-be-freed-at-any-time", test_freed);
	return g_test_run();
}
