/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small parts that need no file of their own: CPU accounts and caps, boot queue, outputs. */
#include <glib.h>
#include <string.h>

#include "local-sched/cpu/cpu_account.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/boot_queue.h"
#include "local-sched/launch/job_output.h"

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

static void test_cap(void)
{
	static const struct {
		uint32_t cores;
		uint32_t max_mhz;
		uint32_t base_mhz;
		const char *driver;
		int64_t quota_us;
	} cases[] = {
		{1, 0, 2660, "none", 0},       {1, 240, 2660, "quota", 9023},
		{2, 210, 2660, "quota", 15789}, {4, 2660, 2660, "quota", 400000},
		{1, 1, 2660, "quota", 1000},   {1, 1000, 0, "none", 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct config_cluster cluster = {.cores = cases[i].cores,
						       .max_mhz = cases[i].max_mhz,
						       .base_mhz = cases[i].base_mhz};
		struct cpu_cap cap;

		cpu_cap_init(&cap, &cluster);
		g_assert_cmpstr(cap.ops->name, ==, cases[i].driver);
		g_assert_cmpint(cap.quota_us, ==, cases[i].quota_us);
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
	text = job_output_text(ranks, 2, &length);
	g_assert_cmpuint(length, ==, strlen(text));
	g_assert_cmpstr(text, ==,
			"result\n---- rank 1: standard error ----\noops\n"
			"---- rank 1: output lost ----\n---- rank 1: exit status 3 ----\n");
	job_output_clear(&outputs[0]);
	job_output_clear(&outputs[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cpu-account/never-falls", test_account);
	g_test_add_func("/cpu-cap/is-cores-times-fraction", test_cap);
	g_test_add_func("/boot-queue/bounds-boots", test_boot_queue);
	g_test_add_func("/job-output/rank-0-comes-first", test_output);
	return g_test_run();
}
