/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small parts that need no file of their own: CPU accounts and caps, boot queue and watch, outputs.
 */
#include <glib.h>
#include <string.h>

#include "local-sched/cpu/cpu_account.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/boot_queue.h"
#include "local-sched/hypervisor/boot_watch.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/launch/job_output.h"
#include "local-sched/launch/network_test.h"

static void test_account(void)
{
	struct cpu_account *account = cpu_account_new();

	cpu_account_add(account, "a", 5000000000);
	cpu_account_add(account, "b", 1000000000);
	g_assert_cmpuint(cpu_account_total_ns(account), ==, 6000000000);
	cpu_account_add(account, "a", 7000000000);
	g_assert_cmpuint(cpu_account_domain_ns(account, "a"), ==, 7000000000);
	/* a reading that was overtaken changes nothing */
	cpu_account_add(account, "a", 6900000000);
	g_assert_cmpuint(cpu_account_domain_ns(account, "a"), ==, 7000000000);
	/* a VM that was started again adds */
	cpu_account_add(account, "a", 300000000);
	g_assert_cmpuint(cpu_account_domain_ns(account, "a"), ==, 7300000000);
	g_assert_cmpuint(cpu_account_total_ns(account), ==, 8300000000);
	g_assert_cmpuint(cpu_account_domain_ns(account, "c"), ==, 0);
	cpu_account_free(account);
}

static const char *owner_of(const char *domain, void *data)
{
	return g_str_equal(domain, "a") ? *(const char **)data : NULL;
}

/* What was used since the last call, as "owner:ns ...", the unowned time first. */
static void assert_uses(struct cpu_account *account, uint64_t nobodys_ns, const char *owner,
			uint64_t cpu_ns)
{
	g_autoptr(GArray) uses = cpu_account_take(account);

	g_assert_cmpuint(uses->len, ==, (nobodys_ns > 0) + (cpu_ns > 0));
	for (guint i = 0; i < uses->len; i++) {
		const struct cpu_account_use *use = &g_array_index(uses, struct cpu_account_use, i);

		g_assert_cmpstr(use->owner, ==, i == 0 && nobodys_ns ? NULL : owner);
		g_assert_cmpuint(use->cpu_ns, ==, use->owner ? cpu_ns : nobodys_ns);
	}
}

/* The order is that of the owners, whatever a hash table makes of them. */
static void test_account_order(void)
{
	static const char *const owners[] = {"t9", "t1", "t5", "t10", "t3", "t7", "t2"};
	static const char *const sorted[] = {"t1", "t10", "t2", "t3", "t5", "t7", "t9"};
	struct cpu_account *account = cpu_account_new();
	g_autoptr(GArray) uses = NULL;

	cpu_account_set_owner(account, owner_of, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(owners); i++)
		cpu_account_note(account, owners[i], 1);
	uses = cpu_account_take(account);
	g_assert_cmpuint(uses->len, ==, G_N_ELEMENTS(sorted));
	for (guint i = 0; i < uses->len; i++)
		g_assert_cmpstr(g_array_index(uses, struct cpu_account_use, i).owner, ==,
				sorted[i]);
	cpu_account_free(account);
}

static void test_account_owners(void)
{
	struct cpu_account *account = cpu_account_new();
	const char *owner = "t1";

	cpu_account_set_owner(account, owner_of, &owner);
	cpu_account_add(account, "a", 5000000000);
	cpu_account_add(account, "b", 1);
	assert_uses(account, 5000000001, NULL, 0);
	/* CPU time until now belongs to the earlier owner */
	cpu_account_add(account, "a", 5000000007);
	owner = "t2";
	cpu_account_add(account, "a", 5000000009);
	assert_uses(account, 0, "t1", 9);
	cpu_account_add(account, "b", 3);
	cpu_account_add(account, "a", 5000000010);
	assert_uses(account, 2, "t2", 1);
	assert_uses(account, 0, NULL, 0);
	/* started again: its start has no owner */
	cpu_account_add(account, "a", 300);
	assert_uses(account, 300, NULL, 0);
	owner = NULL;
	cpu_account_add(account, "a", 400);
	assert_uses(account, 0, "t2", 100);
	cpu_account_add(account, "a", 500);
	assert_uses(account, 100, NULL, 0);
	cpu_account_free(account);
}

static void test_cap(void)
{
	static const struct {
		uint32_t cores;
		uint32_t max_mhz;
		uint32_t base_mhz;
		const char *driver;
		int64_t quota_us;
	} cases[] = {
		{1, 0, 2660, "none", 0},        {1, 240, 2660, "quota", 9023},
		{2, 210, 2660, "quota", 15789}, {4, 2660, 2660, "quota", 400000},
		{1, 1, 2660, "quota", 1000},    {1, 1000, 0, "none", 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct config_cluster cluster = {.cores = cases[i].cores,
						       .max_mhz = cases[i].max_mhz,
						       .base_mhz = cases[i].base_mhz};
		struct cpu_cap cap;

		cpu_cap_init(&cap, &cluster);
		g_assert_cmpstr(cpu_cap_name(&cap), ==, cases[i].driver);
		g_assert_cmpint(cap.quota_us, ==, cases[i].quota_us);
	}
}

/* A share of a task is applied on top of the cap, and is a quota where there was none. */
static void test_cap_share(void)
{
	static const struct {
		uint32_t cores;
		uint32_t max_mhz;
		double share;
		double fraction;
		int64_t quota_us;
	} cases[] = {
		{1, 1330, 1, 0.5, 50000},       {1, 1330, 0.5, 0.25, 25000},
		{2, 1330, 0.1, 0.05, 10000},    {1, 0, 0.3, 0.3, 30000},
		{4, 0, 1, 1, CPU_CAP_NO_QUOTA}, {1, 1330, 0.001, 0.0005, 1000},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct config_cluster cluster = {.cores = cases[i].cores,
						       .max_mhz = cases[i].max_mhz,
						       .base_mhz = 2660};
		struct cpu_cap cap;
		struct cpu_cap shared;

		cpu_cap_init(&cap, &cluster);
		shared = cpu_cap_share(&cap, cases[i].share);
		g_assert_cmpstr(cpu_cap_name(&shared), ==, "quota");
		g_assert_cmpfloat_with_epsilon(shared.fraction, cases[i].fraction, 1e-9);
		g_assert_cmpint(shared.quota_us, ==, cases[i].quota_us);
	}
}

/* VMs beside one another have the same share over different periods. */
static void test_cap_for_vm(void)
{
	const struct config_cluster cluster = {.cores = 2, .max_mhz = 532, .base_mhz = 2660};
	const struct config_cluster uncapped = {.cores = 2};
	struct cpu_cap cap;

	cpu_cap_init(&cap, &cluster);
	for (uint32_t i = 0; i < 2 * CPU_CAP_PERIODS; i++) {
		const struct cpu_cap own = cpu_cap_for_vm(&cap, i);

		g_assert_cmpfloat_with_epsilon((double)own.quota_us / (double)own.period_us, 0.4,
					       1e-9);
		for (uint32_t j = i + 1; j < i + CPU_CAP_PERIODS; j++)
			g_assert_cmpuint(cpu_cap_for_vm(&cap, j).period_us, !=, own.period_us);
	}
	cpu_cap_init(&cap, &uncapped);
	g_assert_cmpint(cpu_cap_for_vm(&cap, 1).quota_us, ==, 0);
}

/*
 * Looks 5 s apart at the CPU time a VM has used, and which of them, from 0, finds a hang; -1: none.
 */
static void test_boot_watch(void)
{
	static const struct {
		const char *name;
		double cpu_s[10];
		int hang;
		double deadline_s; /* 0: 180 */
	} cases[] = {
		{"boots", {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}, -1},
		{"boots in a crowd", {0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2}, -1},
		{"hangs at once", {0.1, 0.13, 0.16, 0.19, 0.2}, 3},
		{"hangs after a while", {2, 4, 4.5, 4.52, 4.54, 4.56, 4.58}, 5},
		{"starves for a moment", {1, 1.01, 1.02, 2, 2.01, 2.02, 3, 4, 5, 6}, -1},
		{"cannot be seen for a while", {1, 1.01, 0, 0, 0, 1.02, 1.03, 1.04}, 6},
		{"goes in circles", {5, 10, 15, 20, 25, 30, 35, 40, 45, 50}, 8},
		{"is another VM meanwhile", {4, 4.01, 4.02, 0.5, 0.51, 0.52, 1.5, 2, 2.5, 3}, -1},
		{"is slow and may be", {10, 30, 50, 70, 90, 110, 130, 150, 170, 190}, -1, 900},
		{"goes in circles, and may be slow",
		 {50, 150, 250, 350, 450, 550, 650, 750, 760, 761},
		 9,
		 900},
		{"boots on a machine that is slow",
		 {0.08, 0.16, 0.24, 0.32, 0.4, 0.48, 0.56, 0.64, 0.72, 0.8},
		 -1,
		 900},
		{"hangs on a machine that is slow", {2, 2.01, 2.02, 2.03, 2.04}, 3, 900},
		{"has little time", {5, 10, 15, 20, 25, 30, 35, 40, 40}, -1, 10},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct boot_watch watch;
		int hang = -1;

		g_test_message("%s", cases[i].name);
		boot_watch_init(&watch, cases[i].deadline_s > 0 ? cases[i].deadline_s : 180);
		for (int look = 0; look < 10 && hang < 0; look++)
			if (boot_watch_look(&watch, (look + 1) * INT64_C(5000000000),
					    (uint64_t)(cases[i].cpu_s[look] * 1e9)))
				hang = look;
		g_assert_cmpint(hang, ==, cases[i].hang);
	}
}

static void count_turn(void *data)
{
	++*(int *)data;
}

static void test_boot_queue(void)
{
	struct boot_queue *queue = boot_queue_new(2);
	int turns[4] = {0};

	for (int i = 0; i < 4; i++)
		boot_queue_enter(queue, count_turn, &turns[i]);
	g_assert_cmpint(turns[0] + turns[1], ==, 2);
	g_assert_cmpint(turns[2] + turns[3], ==, 0);
	boot_queue_leave(queue, &turns[2]); /* gave up waiting */
	boot_queue_leave(queue, &turns[0]);
	g_assert_cmpint(turns[2], ==, 0);
	g_assert_cmpint(turns[3], ==, 1);
	boot_queue_leave(queue, &turns[0]); /* twice is no matter */
	boot_queue_free(queue);
}

static void test_output(void)
{
	struct job_output outputs[2] = {{0}, {0}};
	struct agent_status first = {.output = g_strdup("result\n"), .output_length = 7};
	struct agent_status second = {.errors = g_strdup("oops"), .errors_length = 4};
	struct job_output_rank ranks[2] = {{&outputs[0], 0, false}, {&outputs[1], 3, true}};
	g_autofree char *text = NULL;
	size_t length;

	job_output_take(&outputs[0], &first);
	job_output_take(&outputs[1], &second);
	text = job_output_text(ranks, 2, "rank", &length);
	g_assert_cmpuint(length, ==, strlen(text));
	g_assert_cmpstr(text, ==,
			"result\n---- rank 1: standard error ----\noops\n"
			"---- rank 1: output lost ----\n---- rank 1: exit status 3 ----\n");
	job_output_clear(&outputs[0]);
	job_output_clear(&outputs[1]);
}

#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"

/* Files of others lie in the pool as well. */
static void test_volumes(void)
{
	static const struct {
		const char *volume;
		bool ours; /* this keeper's */
		bool any;  /* some local scheduler's */
	} cases[] = {
		{"virtbed-x-c1-n7." KEEPER ".swap", true, true},
		{"virtbed-x-c1-n12." KEEPER ".save", true, true},
		{"virtbed-x-c1-n7.6f1d0a7e-0000-4000-8000-000000000002.swap", false, true},
		{"virtbed-x-c1-n7.swap", false, false},
		{"virtbed-x-c1-n7.save", false, false},
		{"virtbed-x-c1-n7.mine.swap", false, false},
		{"virtbed-x-c1-n." KEEPER ".swap", false, false},
		{"virtbed-x-c1-n7b." KEEPER ".swap", false, false},
		{"virtbed-x-c1-claim", false, false},
		{"virtbed-x-c11-n7." KEEPER ".swap", false, false},
		{"virtbed-x-c1-", false, false},
		{"", false, false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(storage_is_of_cluster(cases[i].volume, "virtbed-x-c1-", KEEPER), ==,
				cases[i].ours);
		g_assert_cmpint(storage_is_of_cluster(cases[i].volume, "virtbed-x-c1-", NULL), ==,
				cases[i].any);
	}
}

/*
 * Answers of VMs in a ring: + reached, - cut, ? not known; then a letter for each VM: x is
 * rebooted.
 */
static void test_network(void)
{
	static const struct {
		const char *answers;
		const char *cut;
		bool any;
	} cases[] = {
		{"++", "..", false},  {"--", "xx", true},     {"-+", "..", false},
		{"-?", "xx", true},   {"??", "..", false},    {"+++", "...", false},
		{"--+", ".x.", true}, {"-+-", "x..", true},   {"+-+", ".xx", true},
		{"---", "xxx", true}, {"+-+-", "xxxx", true}, {"-?+", "xx.", true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const uint32_t count = (uint32_t)strlen(cases[i].answers);
		enum network_answer answers[4];
		bool cut[4];
		char told[5] = "";

		for (uint32_t k = 0; k < count; k++)
			answers[k] = cases[i].answers[k] == '+'   ? NETWORK_REACHED
				     : cases[i].answers[k] == '-' ? NETWORK_CUT
								  : NETWORK_UNKNOWN;
		g_assert_cmpint(network_test_judge(answers, count, cut), ==, cases[i].any);
		for (uint32_t k = 0; k < count; k++)
			told[k] = cut[k] ? 'x' : '.';
		g_assert_cmpstr(told, ==, cases[i].cut);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cpu-account/never-falls", test_account);
	g_test_add_func("/cpu-account/CPU time belongs to the owner of the VM when it was used",
			test_account_owners);
	g_test_add_func("/cpu-account/owners are in their order", test_account_order);
	g_test_add_func("/boot-watch/tells-a-hang-from-a-boot", test_boot_watch);
	g_test_add_func("/cpu-cap/is-cores-times-fraction", test_cap);
	g_test_add_func("/cpu-cap/takes-a-share", test_cap_share);
	g_test_add_func("/cpu-cap/has-a-period-of-its-own", test_cap_for_vm);
	g_test_add_func("/boot-queue/bounds-boots", test_boot_queue);
	g_test_add_func("/job-output/rank-0-comes-first", test_output);
	g_test_add_func("/storage/knows-volumes-by-whose-they-are", test_volumes);
	g_test_add_func("/network/a-vm-that-nobody-reaches-is-cut", test_network);
	return g_test_run();
}
