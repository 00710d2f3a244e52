/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim on a host says, and whether its holder lives. */
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/virt_error.h"

#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"
#define OTHER "6f1d0a7e-0000-4000-8000-000000000002"

static void replace(char **text, const char *by)
{
	g_free(*text);
	*text = g_strdup(by);
}

static void test_text(void)
{
	g_autoptr(claim_t) claim = claim_new(&platform_machine, KEEPER);
	g_autoptr(claim_t) again = NULL;
	g_autofree char *text = NULL;
	g_autofree char *text_again = NULL;
	g_autofree char *who = NULL;
	g_autofree char *pid = g_strdup_printf("pid %d on machine ", (int)getpid());

	claim->beat = 7;
	text = claim_text(claim);
	again = claim_parse(text, NULL);
	g_assert_nonnull(again);
	text_again = claim_text(again);
	g_assert_cmpstr(text, ==, text_again);
	who = claim_who(again);
	g_assert_true(g_str_has_prefix(who, pid) && strstr(who, ", since 20"));
}

static void test_rubbish(void)
{
	static const char *const texts[] = {
		"", "x", "{}", "[]", "null", "{\"keeper\": 1}", "{\"keeper\": \"a\"}"};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(claim_parse(texts[i], &error));
		g_assert_error(error, VIRT_ERROR, VIRT_ERROR_FOREIGN);
	}
}

/* A process that exists, and a process with that id but another start time. */
static void another_process(struct claim *claim, bool lives)
{
	g_autoptr(claim_t) own = claim_new(&platform_machine, KEEPER);

	claim->pid = own->pid;
	claim->start_ticks = own->start_ticks + (lives ? 0 : 1);
}

/* This process, as one with another pid sees it. */
static struct claim *seen_from(bool same_boot, bool same_space, bool same_vm, const char *keeper)
{
	struct claim *own = claim_new(&platform_machine, keeper);

	own->pid = 1;
	if (!same_boot)
		replace(&own->boot_id, "another boot");
	if (!same_space)
		replace(&own->pids, "pid:[1]");
	if (!same_vm) {
		replace(&own->machine, "another");
		replace(&own->machine_id, "another");
	}
	return own;
}

static void test_judge(void)
{
	static const struct {
		bool lives, same_boot, same_space, same_vm;
		const char *keeper; /* of the local scheduler that finds it */
		enum claim_standing standing;
	} cases[] = {
		{true, true, true, true, OTHER, CLAIM_LIVES},
		{true, true, true, true, KEEPER, CLAIM_LIVES}, /* a copy of its state directory */
		{false, true, true, true, OTHER, CLAIM_ENDED},
		{false, true, true, true, KEEPER, CLAIM_ENDED},   /* a restart */
		{true, true, false, true, OTHER, CLAIM_DOUBTFUL}, /* in another container */
		{true, false, true, false, OTHER, CLAIM_DOUBTFUL},
		{false, false, true, false, OTHER, CLAIM_DOUBTFUL},
		{false, false, true, false, KEEPER, CLAIM_DOUBTFUL}, /* a copy on another vm */
		{false, false, true, true, OTHER, CLAIM_DOUBTFUL},   /* a vm with a copied id */
		{false, false, true, true, KEEPER, CLAIM_ENDED},     /* the vm was booted since */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(claim_t) found = claim_new(&platform_machine, KEEPER);
		g_autoptr(claim_t) own = seen_from(cases[i].same_boot, cases[i].same_space,
						   cases[i].same_vm, cases[i].keeper);

		replace(&found->machine_id, "a machine");
		if (cases[i].same_vm)
			replace(&own->machine_id, "a machine");
		another_process(found, cases[i].lives);
		g_assert_cmpint(claim_judge(found, own), ==, cases[i].standing);
	}
}

static void test_volumes(void)
{
	static const char *const others[] = {
		"a-claim.",   "a-claim.0",           "a-claim.01", "a-claim.x", "a-claim.1x",
		"a-claim.-1", "a-claim.99999999999", "a-clai",     "a-claims",  "b-claim",
		"a-claim1"};
	uint64_t number = 9;

	g_assert_true(claim_volume_number("a-claim", "a-claim", &number));
	g_assert_cmpuint(number, ==, 0);
	g_assert_true(claim_volume_number("a-claim.1", "a-claim", &number));
	g_assert_cmpuint(number, ==, 1);
	g_assert_true(claim_volume_number("a-claim.4294967295", "a-claim", &number));
	g_assert_cmpuint(number, ==, UINT32_MAX);
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		g_assert_false(claim_volume_number(others[i], "a-claim", &number));
}

/* By the clock, not by how often it was looked, and only while it could be seen. */
static void test_watch(void)
{
	const int64_t s = INT64_C(1000000000);
	struct claim_watch watch = {0};

	g_assert_null(claim_watch_lapsed(&watch, 100 * s));
	for (int look = 0; look < 20; look++)
		g_assert_false(claim_watch_see(&watch, "a", 100 * s + look));
	g_assert_null(claim_watch_lapsed(&watch, 101 * s));
	g_assert_null(claim_watch_lapsed(&watch, (100 + CLAIM_LAPSE_S) * s - 1));
	g_assert_cmpstr(claim_watch_lapsed(&watch, (100 + CLAIM_LAPSE_S) * s), ==, "a");
	g_assert_true(claim_watch_see(&watch, "b", 120 * s));
	g_assert_null(claim_watch_lapsed(&watch, (100 + CLAIM_LAPSE_S) * s));
	claim_watch_interrupt(&watch);
	g_assert_null(claim_watch_lapsed(&watch, 500 * s));
	g_assert_false(claim_watch_see(&watch, "b", 500 * s));
	g_assert_null(claim_watch_lapsed(&watch, 501 * s));
	g_assert_cmpstr(claim_watch_lapsed(&watch, (500 + CLAIM_LAPSE_S) * s), ==, "b");
	claim_watch_clear(&watch);
	g_assert_null(claim_watch_lapsed(&watch, 900 * s));
}

/* As where /proc is mounted with hidepid=2: the process can be told to be there, and no more. */
static void test_hidden(void)
{
	g_autoptr(claim_t) found = claim_new(&platform_machine, OTHER);
	g_autoptr(claim_t) own = claim_new(&platform_machine, KEEPER);
	const pid_t pid = fork();
	g_autofree char *path = g_strdup_printf("/proc/%d", (int)pid);

	if (pid == 0)
		for (;;)
			pause();
	found->pid = pid;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", path, "tmpfs", 0, NULL) < 0) {
		g_test_skip("nothing can be mounted here");
	} else {
		g_assert_cmpint(claim_judge(found, own), ==, CLAIM_DOUBTFUL);
		g_assert_cmpint(umount2(path, MNT_DETACH), ==, 0);
	}
	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	g_assert_cmpint(claim_judge(found, own), ==, CLAIM_ENDED);
}

static void test_own(void)
{
	g_autoptr(claim_t) found = claim_new(&platform_machine, KEEPER);
	g_autoptr(claim_t) own = claim_new(&platform_machine, KEEPER);

	own->beat = 3;
	g_assert_cmpint(claim_judge(found, own), ==, CLAIM_OWN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/claim/reads-what-it-writes", test_text);
	g_test_add_func("/claim/refuses-what-no-scheduler-wrote", test_rubbish);
	g_test_add_func("/claim/is-as-good-as-its-process-lives", test_judge);
	g_test_add_func("/claim/is-its-own", test_own);
	g_test_add_func("/claim/knows-its-volumes", test_volumes);
	g_test_add_func("/claim/lapses-after-a-time-that-it-was-watched-for", test_watch);
	g_test_add_func("/claim/is-not-ended-where-its-process-is-hidden", test_hidden);
	return g_test_run();
}
