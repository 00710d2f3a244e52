/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Caps of a vm's CPUs, on a /sys and a /dev of the test's own. */
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/cpu_freq.h"
#include "local-sched/cpu/host_cap.h"

#define CPU "devices/system/cpu/"

enum { CPUS = 2, STATES = 4 };

static const struct {
	const char *name;
	const char *latency;
} states[STATES] = {{"POLL", "0"}, {"C1", "2"}, {"C1E", "10"}, {"C6-SKX", "133"}};

struct fixture {
	char *root;
	char *originals;
	struct host_cap_settings settings;
	struct host_cap *cap;
};

static void put(const struct fixture *fixture, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(fixture->root, name, NULL);
	g_autofree char *directory = g_path_get_dirname(path);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

static char *get(const struct fixture *fixture, const char *name)
{
	g_autofree char *path = g_build_filename(fixture->root, name, NULL);
	char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return g_strstrip(text);
}

static void assert_holds(const struct fixture *fixture, const char *name, const char *expected)
{
	g_autofree char *text = get(fixture, name);

	g_assert_cmpstr(text, ==, expected);
}

/* A file that takes whatever is written to it and stays as it is. */
static void make_deaf(const struct fixture *fixture, const char *name)
{
	g_autofree char *path = g_build_filename(fixture->root, name, NULL);

	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(symlink("/dev/null", path), ==, 0);
}

static void put_cpu(const struct fixture *fixture, int cpu)
{
	static const char *const freq[][2] = {
		{"scaling_max_freq", "2660000\n"},
		{"cpuinfo_min_freq", "1596000\n"},
		{"scaling_cur_freq", "1596000\n"},
		{"scaling_available_frequencies", "2661000 2660000 1862000 1596000 \n"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(freq); i++) {
		g_autofree char *name = g_strdup_printf(CPU "cpu%d/cpufreq/%s", cpu, freq[i][0]);

		put(fixture, name, freq[i][1]);
	}
	for (int s = 0; s < STATES; s++) {
		const char *const files[][2] = {{"name", states[s].name},
						{"latency", states[s].latency},
						{"disable", "0\n"},
						{"usage", "100\n"}};

		for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
			g_autofree char *name = g_strdup_printf(CPU "cpu%d/cpuidle/state%d/%s", cpu,
								s, files[i][0]);

			put(fixture, name, files[i][1]);
		}
	}
}

static void setup(struct fixture *fixture, gconstpointer data)
{
	fixture->root = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	fixture->originals = g_build_filename(fixture->root, "run", "caps", NULL);
	for (int cpu = 0; cpu < CPUS; cpu++)
		put_cpu(fixture, cpu);
	put(fixture, CPU "cpufreq/boost", "1\n");
	put(fixture, CPU "cpuidle/current_driver", "intel_idle\n");
	fixture->settings = (struct host_cap_settings){.platform = &platform_machine,
						       .host = "h1",
						       .sys_root = fixture->root,
						       .dev_root = fixture->root,
						       .originals = fixture->originals,
						       .max_mhz = 1900,
						       .max_cstate = "C1",
						       .check_s = 3600,
						       .settle_s = 1e-6};
}

static void teardown(struct fixture *fixture, gconstpointer data)
{
	const char *const argv[] = {"rm", "-rf", fixture->root, NULL};

	host_cap_free(fixture->cap);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(fixture->originals);
	g_free(fixture->root);
}

static void start(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	fixture->cap = host_cap_new(&fixture->settings, &error);
	g_assert_no_error(error);
}

/* The vm as it was before anyone touched it. */
static void assert_untouched(const struct fixture *fixture)
{
	assert_holds(fixture, CPU "cpufreq/boost", "1");
	for (int cpu = 0; cpu < CPUS; cpu++) {
		g_autofree char *freq = g_strdup_printf(CPU "cpu%d/cpufreq/scaling_max_freq", cpu);

		assert_holds(fixture, freq, "2660000");
		for (int s = 0; s < STATES; s++) {
			g_autofree char *idle =
				g_strdup_printf(CPU "cpu%d/cpuidle/state%d/disable", cpu, s);

			assert_holds(fixture, idle, "0");
		}
	}
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
}

static void assert_capped(const struct fixture *fixture)
{
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1862000");
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "1862000");
	assert_holds(fixture, CPU "cpufreq/boost", "0");
	assert_holds(fixture, CPU "cpu0/cpuidle/state0/disable", "0");
	assert_holds(fixture, CPU "cpu0/cpuidle/state1/disable", "0");
	assert_holds(fixture, CPU "cpu1/cpuidle/state2/disable", "1");
	assert_holds(fixture, CPU "cpu1/cpuidle/state3/disable", "1");
}

/* A column of the row of `knob`; "-" for null. */
static char *column(const struct fixture *fixture, const char *knob, const char *key)
{
	g_autoptr(json_t) rows = host_cap_json(fixture->cap);
	const json_t *row;
	size_t index;

	json_array_foreach (rows, index, row) {
		const char *text = json_string_value(json_object_get(row, key));

		if (g_strcmp0(json_string_value(json_object_get(row, "knob")), knob) == 0)
			return g_strdup(text ? text : "-");
	}
	g_error("no row \"%s\"", knob);
}

static void assert_column(const struct fixture *fixture, const char *knob, const char *key,
			  const char *expected)
{
	g_autofree char *text = column(fixture, knob, key);

	g_assert_cmpstr(text, ==, expected);
}

static void assert_reason(const struct fixture *fixture, const char *knob, const char *words)
{
	g_autofree char *text = column(fixture, knob, "reason");

	g_test_message("%s: %s", knob, text);
	g_assert_nonnull(strstr(text, words));
}

static void test_caps_are_set_shown_and_put_back(struct fixture *fixture, gconstpointer data)
{
	start(fixture);
	assert_capped(fixture);
	assert_column(fixture, "frequency", "requested", "1900 MHz");
	assert_column(fixture, "frequency", "set", "1862 MHz");
	assert_column(fixture, "frequency", "read_back", "1862 MHz");
	assert_column(fixture, "frequency", "effective", "yes");
	assert_column(fixture, "boost", "effective", "yes");
	assert_column(fixture, "idle", "requested", "C1");
	assert_column(fixture, "idle", "read_back", "4 of 4 states off");
	/* No CPU was idle yet: nothing is known. */
	assert_column(fixture, "idle", "effective", "unknown");
	g_assert_cmpint(host_cap_effect(fixture->cap), ==, HOST_KNOB_UNKNOWN);
	/* One entry that was under way when the state was disabled, and many of an allowed one. */
	put(fixture, CPU "cpu0/cpuidle/state3/usage", "101\n");
	put(fixture, CPU "cpu0/cpuidle/state1/usage", "500\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "idle", "effective", "yes");
	g_assert_cmpint(host_cap_effect(fixture->cap), ==, HOST_KNOB_EFFECTIVE);
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
}

static void test_a_machine_that_ignores_writes_is_found_out(struct fixture *fixture,
							    gconstpointer data)
{
	make_deaf(fixture, CPU "cpu1/cpufreq/scaling_max_freq");
	make_deaf(fixture, CPU "cpufreq/boost");
	make_deaf(fixture, CPU "cpu0/cpuidle/state3/disable");
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000\n");
	make_deaf(fixture, CPU "cpu0/cpufreq/scaling_max_freq");
	start(fixture);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "reads back");
	assert_column(fixture, "boost", "effective", "no");
	assert_column(fixture, "idle", "effective", "no");
	assert_reason(fixture, "idle", "not disabled");
	g_assert_cmpint(host_cap_effect(fixture->cap), ==, HOST_KNOB_NOT_EFFECTIVE);
	/* It stays so, whatever comes. */
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
}

static void test_a_cpu_that_runs_faster_is_found_out(struct fixture *fixture, gconstpointer data)
{
	start(fixture);
	put(fixture, CPU "cpu1/cpufreq/scaling_cur_freq", "1900000\n"); /* within tolerance */
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "yes");
	put(fixture, CPU "cpu1/cpufreq/scaling_cur_freq", "2660000\n");
	host_cap_check(fixture->cap);
	/* One look proves nothing. */
	assert_column(fixture, "frequency", "effective", "unknown");
	assert_reason(fixture, "frequency", "at 2660 MHz for a moment");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "ran at 2660 MHz");
	put(fixture, CPU "cpu1/cpufreq/scaling_cur_freq", "1596000\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
}

static void test_somebody_else_turning_the_knob_is_found_out(struct fixture *fixture,
							     gconstpointer data)
{
	start(fixture);
	host_cap_check(fixture->cap);
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "another program");
	assert_column(fixture, "frequency", "read_back", "2660 MHz");
}

/* As haltpoll does: "disable" reads back 1, and the state is entered as before. */
static void enter_deep(const struct fixture *fixture, const char *usage)
{
	put(fixture, CPU "cpu0/cpuidle/state3/usage", usage);
}

static void test_states_that_are_entered_all_the_same_fall_back(struct fixture *fixture,
								gconstpointer data)
{
	g_autofree char *bytes = NULL;
	gsize length;
	g_autofree char *path = g_build_filename(fixture->root, "cpu_dma_latency", NULL);

	put(fixture, "cpu_dma_latency", "");
	start(fixture);
	enter_deep(fixture, "455\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "idle", "set", "cpu_dma_latency 2 us");
	assert_column(fixture, "idle", "read_back", "2 us");
	assert_column(fixture, "idle", "effective", "unknown");
	g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
	g_assert_cmpuint(length, ==, sizeof(int32_t));
	g_assert_cmpint(*(int32_t *)bytes, ==, 2);
	put(fixture, CPU "cpu0/cpuidle/state1/usage", "900\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "idle", "effective", "yes");
	enter_deep(fixture, "999\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "idle", "effective", "no");
	assert_reason(fixture, "idle", "though cpu_dma_latency is held");
}

static void test_without_the_fall_back_it_is_not_effective(struct fixture *fixture,
							   gconstpointer data)
{
	start(fixture);
	enter_deep(fixture, "455\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "idle", "effective", "no");
	assert_reason(fixture, "idle", "though they are disabled");
}

static void test_names_decide_not_numbers(struct fixture *fixture, gconstpointer data)
{
	fixture->settings.max_cstate = "C6"; /* the driver says C6-SKX */
	start(fixture);
	assert_column(fixture, "idle", "set", "none is deeper");
	assert_column(fixture, "idle", "effective", "yes");
	g_clear_pointer(&fixture->cap, host_cap_free);
	fixture->settings.max_cstate = "C3";
	start(fixture);
	assert_column(fixture, "idle", "set", "-");
	assert_column(fixture, "idle", "effective", "no");
	assert_reason(fixture, "idle", "not offered by the driver intel_idle");
	assert_reason(fixture, "idle", "POLL, C1, C1E, C6-SKX");
	assert_holds(fixture, CPU "cpu0/cpuidle/state3/disable", "0");
}

static void test_a_frequency_below_the_lowest_is_refused(struct fixture *fixture,
							 gconstpointer data)
{
	fixture->settings.max_mhz = 1000;
	start(fixture);
	assert_column(fixture, "frequency", "set", "-");
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "no lower than 1596 MHz");
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000");
}

static void test_a_machine_without_cpufreq_says_so(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *path =
		g_build_filename(fixture->root, CPU "cpu1/cpufreq/scaling_max_freq", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_true(cpu_freq_available(fixture->root, NULL));
	g_unlink(path);
	g_assert_false(cpu_freq_available(fixture->root, &error));
	g_assert_nonnull(strstr(error->message, "cpu1"));
	g_assert_false(cpu_freq_available("/nonexistent", NULL));
}

/* A process that sets the caps and dies. */
static void crash(struct fixture *fixture)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(host_cap_new(&fixture->settings, NULL) ? 0 : 1);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
}

static void test_what_a_dead_process_left_is_put_back(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	guint count;

	crash(fixture);
	assert_capped(fixture);
	/* `virtbed lab down` */
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(count, ==, 2 + 1 + 4);
	assert_untouched(fixture);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_cmpuint(count, ==, 0);
	/* The next start: what it puts back at its end is what was there before the first. */
	crash(fixture);
	fixture->settings.max_mhz = 1596;
	start(fixture);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
}

static void test_one_process_holds_the_knobs(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	guint count;

	start(fixture);
	g_assert_null(host_cap_new(&fixture->settings, &error));
	g_assert_error(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_HELD);
	/* Nor does `lab down` put back what a living process has set. */
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	g_assert_cmpuint(count, ==, 0);
	assert_capped(fixture);
}

static void put_originals(const struct fixture *fixture, const char *boot_id, const char *lines)
{
	g_autofree char *text = g_strdup_printf("virtbed-caps 1 %s\n%s", boot_id, lines);

	put(fixture, "run/caps", text);
}

static void test_originals_are_believed_only_so_far(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *lines =
		g_strdup_printf("%s/victim\tx\n"
				"%s/cpufreq/../victim\tx\n"
				"relative/cpufreq/victim\tx\n"
				"no tab\n"
				"%s/" CPU "cpufreq/boost\t0\n"
				"%s/" CPU "cpu0/cpufreq/scaling_max_freq\t15",
				fixture->root, fixture->root, fixture->root, fixture->root);
	guint count;

	put(fixture, "victim", "unharmed");
	/* Of an earlier boot: the kernel has put everything back. */
	put_originals(fixture, "another-boot", lines);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	g_assert_cmpuint(count, ==, 0);
	assert_untouched(fixture);
	/* Only knobs are written, and a line that was cut is none. */
	put_originals(fixture, boot_id, lines);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	g_assert_cmpuint(count, ==, 1);
	assert_holds(fixture, "victim", "unharmed");
	assert_holds(fixture, CPU "cpufreq/boost", "0");
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000");
	put(fixture, "run/caps", "rubbish");
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	g_assert_cmpuint(count, ==, 0);
}

/* CPUs that are offline have no cpufreq and no cpuidle, and are told by one of several files. */
static void test_offline_cpus_do_not_count(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *file;
		const char *text;
	} cases[] = {
		{CPU "cpu2/online", "0\n"},
		{CPU "online", "0-1\n"},
		{CPU "smt/control", "off\n"},
		{CPU "smt/control", "forceoff\n"},
	};
	g_autofree char *bare = g_build_filename(fixture->root, CPU "cpu2", NULL);
	g_autofree char *online = g_build_filename(bare, "online", NULL);

	g_assert_cmpint(g_mkdir(bare, 0700), ==, 0);
	/* An online CPU without them cannot be capped. */
	put(fixture, CPU "cpu2/online", "1\n");
	g_assert_false(cpu_freq_available(fixture->root, NULL));
	g_assert_cmpint(g_unlink(online), ==, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_build_filename(fixture->root, cases[i].file, NULL);

		put(fixture, cases[i].file, cases[i].text);
		g_assert_true(cpu_freq_available(fixture->root, NULL));
		start(fixture);
		assert_capped(fixture);
		assert_column(fixture, "idle", "read_back", "4 of 4 states off");
		g_clear_pointer(&fixture->cap, host_cap_free);
		assert_untouched(fixture);
		g_assert_cmpint(g_unlink(path), ==, 0);
	}
	/* A list of another form says nothing. */
	put(fixture, CPU "online", "0-\n");
	g_assert_false(cpu_freq_available(fixture->root, NULL));
	put(fixture, CPU "online", "0,2\n");
	put(fixture, CPU "cpu2/online", "0\n");
	start(fixture);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1862000");
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "2660000");
}

static void test_knobs_that_refuse_stay_stored(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *knob =
		g_build_filename(fixture->root, CPU "cpu1/cpufreq/scaling_max_freq", NULL);
	g_autofree char *moved = g_strconcat(knob, ".moved", NULL);
	g_autoptr(GError) error = NULL;
	guint count;

	crash(fixture);
	/* Its CPU went offline: nothing can be written, nothing is forgotten, nothing failed. */
	g_assert_cmpint(g_rename(knob, moved), ==, 0);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(count, ==, 2 + 1 + 4 - 1);
	g_assert_true(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
	/* What is back may be changed by others from then on. */
	put(fixture, CPU "cpufreq/boost", "0\n");
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2661000\n");
	g_assert_cmpint(g_rename(moved, knob), ==, 0);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_cmpuint(count, ==, 1);
	assert_holds(fixture, CPU "cpufreq/boost", "0");
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2661000");
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "2660000");
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
}

/* All CPUs of a policy went offline: its files stay, and refuse (here: by being directories). */
static void test_a_policy_that_is_offline_stays_stored(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *policy = g_build_filename(fixture->root, CPU "cpufreq/policy1", NULL);
	g_autofree char *cpu1 = g_build_filename(fixture->root, CPU "cpu1/cpufreq", NULL);
	g_autofree char *knob = g_build_filename(policy, "scaling_max_freq", NULL);
	g_autoptr(GError) error = NULL;
	guint count;

	g_assert_cmpint(g_rename(cpu1, policy), ==, 0);
	g_assert_cmpint(symlink("../cpufreq/policy1", cpu1), ==, 0);
	crash(fixture);
	g_assert_cmpint(g_unlink(knob), ==, 0);
	g_assert_cmpint(g_mkdir(knob, 0700), ==, 0);
	put(fixture, CPU "cpu1/online", "0\n");
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(count, ==, 2 + 1 + 4 - 1);
	g_assert_cmpint(g_rmdir(knob), ==, 0);
	put(fixture, CPU "cpu1/online", "1\n");
	put(fixture, CPU "cpufreq/policy1/scaling_max_freq", "1862000\n");
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, &error));
	g_assert_cmpuint(count, ==, 1);
	assert_holds(fixture, CPU "cpufreq/policy1/scaling_max_freq", "2660000");
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
}

static void test_a_knob_that_has_its_value_is_left_alone(struct fixture *fixture,
							 gconstpointer data)
{
	g_autofree char *path = g_build_filename(fixture->root, CPU "cpufreq/boost", NULL);
	struct stat before, after;

	put(fixture, CPU "cpufreq/boost", "0\n");
	g_assert_cmpint(stat(path, &before), ==, 0);
	start(fixture);
	assert_column(fixture, "boost", "read_back", "off");
	assert_column(fixture, "boost", "effective", "yes");
	g_clear_pointer(&fixture->cap, host_cap_free);
	/* Writing would have removed the line's end. */
	g_assert_cmpint(stat(path, &after), ==, 0);
	g_assert_cmpint(after.st_size, ==, before.st_size);
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
}

static void test_lines_after_a_torn_one_are_whole(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *lines = g_strdup_printf("%s/gone/cpufreq/boost\t1\n%s/" CPU
						 "cpu0/cpufreq/scaling_max_freq\t15",
						 fixture->root, fixture->root);
	guint count;

	put_originals(fixture, boot_id, lines);
	crash(fixture); /* appends */
	assert_capped(fixture);
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	g_assert_cmpuint(count, ==, 2 + 1 + 4);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000");
}

static void test_a_look_before_the_cap_settled_proves_nothing(struct fixture *fixture,
							      gconstpointer data)
{
	put(fixture, CPU "cpu0/cpufreq/scaling_cur_freq", "3300000\n"); /* of before the cap */
	fixture->settings.settle_s = 3600;
	start(fixture);
	for (int i = 0; i < 3; i++) {
		assert_column(fixture, "frequency", "effective", "unknown");
		host_cap_check(fixture->cap);
	}
	put(fixture, CPU "cpu0/cpufreq/scaling_cur_freq", "1862000\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "yes");
}

/* Some drivers set the maxima when boost is switched, and do so a moment later. */
static void test_maxima_that_move_at_first_are_set_again(struct fixture *fixture,
							 gconstpointer data)
{
	fixture->settings.settle_s = 3600;
	start(fixture);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		g_autofree char *knob = g_strdup_printf(CPU "cpu%d/cpufreq/scaling_max_freq", cpu);

		put(fixture, knob, "2450000\n");
	}
	put(fixture, CPU "cpufreq/boost", "1\n");
	host_cap_check(fixture->cap);
	assert_capped(fixture);
	assert_column(fixture, "frequency", "effective", "yes");
	assert_column(fixture, "boost", "effective", "yes");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
}

static void test_the_lowest_state_is_near_enough(struct fixture *fixture, gconstpointer data)
{
	fixture->settings.max_mhz = 1590;
	start(fixture);
	assert_column(fixture, "frequency", "requested", "1590 MHz");
	assert_column(fixture, "frequency", "set", "1596 MHz");
	assert_column(fixture, "frequency", "effective", "yes");
	assert_reason(fixture, "frequency",
		      "1596 MHz is the lowest that the CPUs have, 0.38 % above the 1590 MHz");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
	fixture->settings.max_mhz = 1570; /* 1.7 % */
	start(fixture);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "no lower than 1596 MHz");
}

/* The second CPU is a smaller one of another policy, whose third and fourth are offline and on. */
static void test_each_cpu_has_its_own_range(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *policy = g_build_filename(fixture->root, CPU "cpufreq/policy1", NULL);
	g_autofree char *cpu1 = g_build_filename(fixture->root, CPU "cpu1/cpufreq", NULL);
	g_autofree char *cpu3 = g_build_filename(fixture->root, CPU "cpu3", NULL);
	g_autofree char *cpuidle = g_build_filename(cpu3, "cpuidle", NULL);

	g_assert_cmpint(g_rename(cpu1, policy), ==, 0);
	g_assert_cmpint(symlink("../cpufreq/policy1", cpu1), ==, 0);
	put(fixture, CPU "cpufreq/policy1/affected_cpus", "1 3\n");
	put(fixture, CPU "cpufreq/policy1/related_cpus", "1 2 3\n");
	put(fixture, CPU "cpufreq/policy1/cpuinfo_max_freq", "1862000\n");
	put(fixture, CPU "cpufreq/policy1/scaling_max_freq", "1862000\n");
	put(fixture, CPU "cpufreq/policy1/scaling_available_frequencies", "1862000 1596000\n");
	put(fixture, CPU "cpu2/online", "0\n");
	g_assert_cmpint(g_mkdir(cpu3, 0700), ==, 0);
	g_assert_cmpint(symlink("../cpu1/cpuidle", cpuidle), ==, 0);
	fixture->settings.max_mhz = 2660;
	start(fixture);
	assert_column(fixture, "frequency", "set", "2660 MHz");
	assert_column(fixture, "frequency", "read_back", "2660 MHz");
	assert_column(fixture, "frequency", "effective", "yes");
	assert_reason(fixture, "frequency", "some of the CPUs go no higher than 1862 MHz");
	/* The limit of each is its own. */
	host_cap_check(fixture->cap);
	put(fixture, CPU "cpufreq/policy1/scaling_cur_freq", "2500000\n");
	host_cap_check(fixture->cap);
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "ran at 2500 MHz");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpufreq/policy1/scaling_max_freq", "1862000");
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
}

static void test_a_hardware_maximum_below_the_cap_is_within_it(struct fixture *fixture,
							       gconstpointer data)
{
	for (int cpu = 0; cpu < CPUS; cpu++) {
		g_autofree char *name = g_strdup_printf(CPU "cpu%d/cpufreq/cpuinfo_max_freq", cpu);

		put(fixture, name, "2660000\n");
	}
	fixture->settings.max_mhz = 2700;
	start(fixture);
	assert_column(fixture, "frequency", "set", "2660 MHz");
	assert_column(fixture, "frequency", "effective", "yes");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
	/* A setting below the cap is no limit of the hardware. */
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000\n");
	start(fixture);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000");
}

/* The current frequency is an old one throughout. */
static void test_the_time_in_each_state_decides(struct fixture *fixture, gconstpointer data)
{
	const char *stats = CPU "cpu0/cpufreq/stats/time_in_state";

	put(fixture, CPU "cpu0/cpufreq/scaling_cur_freq", "2660000\n");
	put(fixture, CPU "cpu1/cpufreq/scaling_cur_freq", "0\n");
	put(fixture, stats, "2661000 90000\n1862000 10\n1596000 20\n");
	start(fixture);
	assert_column(fixture, "frequency", "effective", "unknown");
	host_cap_check(fixture->cap);
	put(fixture, stats, "2661000 90001\n1862000 500\n1596000 20\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "yes");
	put(fixture, stats, "2661000 90061\n1862000 900\n1596000 20\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
	assert_reason(fixture, "frequency", "ran at 2661 MHz");
}

static void test_a_minimum_above_the_cap_makes_way(struct fixture *fixture, gconstpointer data)
{
	put(fixture, CPU "cpu1/cpufreq/scaling_min_freq", "2660000\n");
	start(fixture);
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_min_freq", "1862000");
	assert_column(fixture, "frequency", "effective", "yes");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_min_freq", "2660000");
	assert_untouched(fixture);
}

/* amd_pstate has a switch per policy, and may have none for the machine. */
static void test_boost_of_each_policy_is_off(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *machine = g_build_filename(fixture->root, CPU "cpufreq/boost", NULL);

	g_assert_cmpint(g_unlink(machine), ==, 0);
	put(fixture, CPU "cpu0/cpufreq/boost", "1\n");
	put(fixture, CPU "cpu1/cpufreq/boost", "0\n");
	start(fixture);
	assert_holds(fixture, CPU "cpu0/cpufreq/boost", "0");
	assert_column(fixture, "boost", "read_back", "off");
	assert_column(fixture, "boost", "effective", "yes");
	host_cap_check(fixture->cap);
	put(fixture, CPU "cpu1/cpufreq/boost", "1\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "boost", "read_back", "on");
	assert_column(fixture, "boost", "effective", "no");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu0/cpufreq/boost", "1");
}

static void test_a_cpu_that_comes_online_is_capped(struct fixture *fixture, gconstpointer data)
{
	put(fixture, CPU "cpu1/online", "0\n");
	start(fixture);
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "2660000");
	put(fixture, CPU "cpu1/online", "1\n");
	host_cap_check(fixture->cap);
	assert_capped(fixture);
	assert_column(fixture, "frequency", "effective", "yes");
	assert_column(fixture, "idle", "read_back", "4 of 4 states off");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_untouched(fixture);
}

/* Names as the drivers of Linux have them, and which states are off for a wanted one. */
static void test_states_have_other_names(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *wanted;
		const char *names[STATES];
		const char *latencies[STATES];
		const char *off; /* a digit per state; NULL: not offered */
		const char *reason;
	} cases[] = {
		{"C1",
		 {"POLL", "C1_ACPI", "C2_ACPI", "C3_ACPI"},
		 {"0", "1", "41", "133"},
		 "0011",
		 "C1_ACPI stands for C1; no CPU"},
		{"C2_ACPI",
		 {"POLL", "C1", "C2", "C3"},
		 {"0", "1", "18", "400"},
		 "0001",
		 "C2 stands"},
		/* AMD, by ACPI: a table with made-up latencies. */
		{"C1", {"POLL", "C1", "C2", "C3"}, {"0", "1", "1", "1"}, "0011", "no CPU"},
		/* Alder Lake has no plain C1, and Skylake has both. */
		{"C1", {"POLL", "C1E", "C6", "C8"}, {"0", "4", "170", "200"}, "0011", "C1E stands"},
		{"C1",
		 {"POLL", "C1-SKX", "C1E-SKX", "C6-SKX"},
		 {"0", "2", "10", "133"},
		 "0011",
		 "C1-SKX stands"},
		{"C1E", {"POLL", "C1", "C1E", "C6S"}, {"0", "2", "10", "133"}, "0001", "no CPU"},
		{"C1E", {"POLL", "C1", "C2", "C3"}, {"0", "1", "18", "400"}, NULL, "not offered"},
		{"C6",
		 {"POLL", "C1", "C6S-GLC", "C10"},
		 {"0", "2", "133", "600"},
		 "0001",
		 "C6S-GLC stands"},
		{"C1", {"POLL", "C10", "C11", "C6"}, {"0", "1", "1", "1"}, NULL, "not offered"},
		{"POLL", {"POLL", "C1", "C1E", "C6"}, {"0", "2", "10", "133"}, "0111", "no CPU"},
		{"C0", {"POLL", "C1", "C1E", "C6"}, {"0", "2", "10", "133"}, "0111", "POLL stands"},
		{"c6", {"POLL", "C1", "C6", "C7s"}, {"0", "2", "80", "90"}, "0001", "no CPU"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const bool offered = cases[i].off != NULL;

		for (int s = 0; s < CPUS * STATES; s++) {
			const int state = s % STATES;
			g_autofree char *at =
				g_strdup_printf(CPU "cpu%d/cpuidle/state%d/", s / STATES, state);
			g_autofree char *name = g_strconcat(at, "name", NULL);
			g_autofree char *latency = g_strconcat(at, "latency", NULL);

			put(fixture, name, cases[i].names[state]);
			put(fixture, latency, cases[i].latencies[state]);
		}
		fixture->settings.max_cstate = cases[i].wanted;
		start(fixture);
		assert_reason(fixture, "idle", cases[i].reason);
		assert_column(fixture, "idle", "set", offered ? "deeper states off" : "-");
		for (int s = 0; s < CPUS * STATES; s++) {
			const int state = s % STATES;
			g_autofree char *knob = g_strdup_printf(CPU "cpu%d/cpuidle/state%d/disable",
								s / STATES, state);

			assert_holds(fixture, knob,
				     offered && cases[i].off[state] == '1' ? "1" : "0");
		}
		g_clear_pointer(&fixture->cap, host_cap_free);
		assert_untouched(fixture);
	}
}

/* The firmware's table counts its rows; descriptions say what they are. */
static void test_states_of_the_firmware_are_what_they_are(struct fixture *fixture,
							  gconstpointer data)
{
	static const char *const latencies[STATES] = {"0", "1", "151", "1034"};
	static const struct {
		const char *wanted;
		const char *descs[STATES - 1];
		const char *off; /* a digit per state */
		const char *set;
		const char *effective;
		const char *reason;
	} cases[] = {
		{"C6",
		 {"FFH MWAIT 0x0", "FFH MWAIT 0x10", "FFH MWAIT 0x60"},
		 "0000",
		 "-",
		 "no",
		 "C-state C6 is not offered"},
		{"C6",
		 {"FFH MWAIT 0x0", "FFH MWAIT 0x20", "FFH MWAIT 0x60"},
		 "0001",
		 "deeper states off",
		 "unknown",
		 "C2 stands for C6"},
		{"C6",
		 {"HLT", "FFH MWAIT 0x10", "FFH MWAIT 0x20"},
		 "0000",
		 "none is deeper",
		 "yes",
		 "C3 stands for C6"},
		{"C10",
		 {"FFH MWAIT 0x1", "FFH MWAIT 0x21", "FFH MWAIT 0x33"},
		 "0000",
		 "none is deeper",
		 "yes",
		 "C3 is the deepest state that the CPUs have, and not"},
		{"C6",
		 {"HLT", "IOPORT 0x414", "IOPORT 0x415"},
		 "0000",
		 "-",
		 "unknown",
		 "does not tell whether it is deeper than C6"},
		{"C8",
		 {"FFH MWAIT 0x0", "FFH MWAIT 0x20", "FFH MWAIT 0x50"},
		 "0000",
		 "-",
		 "unknown",
		 "does not tell whether it is deeper than C8"},
		{"C1",
		 {"FFH MWAIT 0x0", "FFH MWAIT 0x20", "FFH MWAIT 0x60"},
		 "0011",
		 "deeper states off",
		 "unknown",
		 "no CPU"},
		{"C3",
		 {"FFH MWAIT 0x0", "FFH MWAIT 0x20", "FFH MWAIT 0x60"},
		 "0000",
		 "none is deeper",
		 "yes",
		 "C3 is of the firmware's table (ACPI), and the hardware's C10"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		for (int s = 0; s < CPUS * STATES; s++) {
			const int state = s % STATES;
			g_autofree char *at =
				g_strdup_printf(CPU "cpu%d/cpuidle/state%d/", s / STATES, state);
			g_autofree char *name = g_strconcat(at, "name", NULL);
			g_autofree char *latency = g_strconcat(at, "latency", NULL);
			g_autofree char *desc = g_strconcat(at, "desc", NULL);
			g_autofree char *own_name =
				state > 0 ? g_strdup_printf("C%d", state) : g_strdup("POLL");
			g_autofree char *own_desc =
				state > 0 ? g_strconcat("ACPI ", cases[i].descs[state - 1], NULL)
					  : g_strdup("CPUIDLE CORE POLL IDLE");

			put(fixture, name, own_name);
			put(fixture, latency, latencies[state]);
			put(fixture, desc, own_desc);
		}
		fixture->settings.max_cstate = cases[i].wanted;
		start(fixture);
		host_cap_check(fixture->cap);
		assert_reason(fixture, "idle", cases[i].reason);
		assert_column(fixture, "idle", "set", cases[i].set);
		assert_column(fixture, "idle", "effective", cases[i].effective);
		for (int state = 0; state < STATES; state++) {
			g_autofree char *knob =
				g_strdup_printf(CPU "cpu1/cpuidle/state%d/disable", state);

			assert_holds(fixture, knob, cases[i].off[state] == '1' ? "1" : "0");
		}
		g_clear_pointer(&fixture->cap, host_cap_free);
		assert_untouched(fixture);
	}
}

/* An EPYC's C2 is its C6. */
static void test_a_port_of_amd_is_known(struct fixture *fixture, gconstpointer data)
{
	put(fixture, CPU "modalias", "cpu:type:x86,ven0002fam0017mod0031:feature:,0000,0001\n");
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (int s = 1; s < STATES; s++) {
			g_autofree char *at = g_strdup_printf(CPU "cpu%d/cpuidle/state%d/", cpu, s);
			g_autofree char *name = g_strconcat(at, "name", NULL);
			g_autofree char *latency = g_strconcat(at, "latency", NULL);
			g_autofree char *desc = g_strconcat(at, "desc", NULL);

			put(fixture, name, s == 1 ? "C1" : "C2");
			put(fixture, latency, s == 1 ? "1" : "400");
			put(fixture, desc, s == 1 ? "ACPI FFH MWAIT 0x0" : "ACPI IOPORT 0x414");
		}
	fixture->settings.max_cstate = "C6";
	start(fixture);
	assert_column(fixture, "idle", "effective", "yes");
	assert_reason(fixture, "idle", "C2 stands for C6");
}

/* The second CPU is of another kind, without the state that the first has. */
static void test_a_cpu_without_the_state_stays_below_it(struct fixture *fixture, gconstpointer data)
{
	put(fixture, CPU "cpu1/cpuidle/state2/name", "C8\n");
	put(fixture, CPU "cpu1/cpuidle/state3/name", "C10\n");
	put(fixture, CPU "cpu0/cpuidle/state2/name", "C6\n");
	put(fixture, CPU "cpu0/cpuidle/state3/name", "C10\n");
	fixture->settings.max_cstate = "C6";
	start(fixture);
	assert_column(fixture, "idle", "read_back", "3 of 3 states off");
	assert_holds(fixture, CPU "cpu0/cpuidle/state2/disable", "0");
	assert_holds(fixture, CPU "cpu0/cpuidle/state3/disable", "1");
	assert_holds(fixture, CPU "cpu1/cpuidle/state1/disable", "0");
	assert_holds(fixture, CPU "cpu1/cpuidle/state2/disable", "1");
	assert_holds(fixture, CPU "cpu1/cpuidle/state3/disable", "1");
}

/* A state that was disabled before stays so. Names do not control a terminal. */
static void test_a_state_that_is_off_is_left_alone(struct fixture *fixture, gconstpointer data)
{
	put(fixture, CPU "cpu0/cpuidle/state3/disable", "1\n");
	put(fixture, CPU "cpu0/cpuidle/state0/name", "\033[2J\n");
	start(fixture);
	assert_column(fixture, "idle", "read_back", "4 of 4 states off");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu0/cpuidle/state3/disable", "1");
	fixture->settings.max_cstate = "C3";
	start(fixture);
	assert_reason(fixture, "idle", "\\x1b[2J, C1");
}

/* The file of a process that died: what a maximum had, what then, and what it has. */
static void put_noted(const struct fixture *fixture, const char *value, const char *given,
		      const char *now)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *path =
		g_build_filename(fixture->root, CPU "cpu0/cpufreq/scaling_max_freq", NULL);
	g_autofree char *lines = g_strdup_printf("?%s\t%s\n=%s\t%s\n", path, value, path, given);

	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", now);
	put_originals(fixture, boot_id, lines);
}

/* Maxima within the cap are not written, though switching boost might have moved them. */
static void test_what_was_not_written_is_not_put_back(struct fixture *fixture, gconstpointer data)
{
	guint count;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		g_autofree char *freq = g_strdup_printf(CPU "cpu%d/cpufreq/scaling_max_freq", cpu);

		put(fixture, freq, "1862000\n");
	}
	start(fixture);
	host_cap_check(fixture->cap);
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000\n");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000");
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "1862000");
	assert_holds(fixture, CPU "cpufreq/boost", "1");
	g_assert_false(g_file_test(fixture->originals, G_FILE_TEST_EXISTS));
	/* After a crash neither, unless it has the value that it was moved to. */
	put_noted(fixture, "1862000", "2660000", "1596000");
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1596000");
	put_noted(fixture, "1862000", "2660000", "2660000");
	g_assert_true(cap_originals_recover(&platform_machine, fixture->originals, &count, NULL));
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "1862000");
}

/* The same where the cap cannot be set, but boost was switched. */
static void test_what_another_program_sets_beside_a_refused_cap_stays(struct fixture *fixture,
								      gconstpointer data)
{
	fixture->settings.max_mhz = 1000;
	start(fixture);
	/* The kernel does so with boost. */
	put(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2450000\n");
	put(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "2450000\n");
	host_cap_check(fixture->cap);
	assert_column(fixture, "frequency", "effective", "no");
	put(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "1596000\n");
	g_clear_pointer(&fixture->cap, host_cap_free);
	assert_holds(fixture, CPU "cpu0/cpufreq/scaling_max_freq", "2660000");
	assert_holds(fixture, CPU "cpu1/cpufreq/scaling_max_freq", "1596000");
	assert_holds(fixture, CPU "cpufreq/boost", "1");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	/* Warnings are what is tested here. */
	g_log_set_always_fatal(G_LOG_LEVEL_ERROR);
#define ADD(name, function)                                                                        \
	g_test_add("/host-cap/" name, struct fixture, NULL, setup, function, teardown)
	ADD("caps are set, shown and put back", test_caps_are_set_shown_and_put_back);
	ADD("a machine that ignores writes is found out",
	    test_a_machine_that_ignores_writes_is_found_out);
	ADD("a CPU that runs faster is found out", test_a_cpu_that_runs_faster_is_found_out);
	ADD("a knob that another program turns is found out",
	    test_somebody_else_turning_the_knob_is_found_out);
	ADD("states that are entered all the same fall back",
	    test_states_that_are_entered_all_the_same_fall_back);
	ADD("without the fall-back it is not effective",
	    test_without_the_fall_back_it_is_not_effective);
	ADD("names decide, not numbers", test_names_decide_not_numbers);
	ADD("a frequency below the lowest is refused",
	    test_a_frequency_below_the_lowest_is_refused);
	ADD("a machine without cpufreq says so", test_a_machine_without_cpufreq_says_so);
	ADD("what a dead process left is put back", test_what_a_dead_process_left_is_put_back);
	ADD("one process holds the knobs", test_one_process_holds_the_knobs);
	ADD("originals are believed only so far", test_originals_are_believed_only_so_far);
	ADD("offline CPUs do not count", test_offline_cpus_do_not_count);
	ADD("knobs that refuse stay stored", test_knobs_that_refuse_stay_stored);
	ADD("a policy that is offline stays stored", test_a_policy_that_is_offline_stays_stored);
	ADD("what was not written is not put back", test_what_was_not_written_is_not_put_back);
	ADD("what another program sets beside a refused cap stays",
	    test_what_another_program_sets_beside_a_refused_cap_stays);
	ADD("a knob that has its value is left alone",
	    test_a_knob_that_has_its_value_is_left_alone);
	ADD("a look before the cap settled proves nothing",
	    test_a_look_before_the_cap_settled_proves_nothing);
	ADD("maxima that move at first are set again",
	    test_maxima_that_move_at_first_are_set_again);
	ADD("the lowest state is near enough", test_the_lowest_state_is_near_enough);
	ADD("each CPU has its own range", test_each_cpu_has_its_own_range);
	ADD("a hardware maximum below the cap is within it",
	    test_a_hardware_maximum_below_the_cap_is_within_it);
	ADD("the time in each state decides", test_the_time_in_each_state_decides);
	ADD("a minimum above the cap makes way", test_a_minimum_above_the_cap_makes_way);
	ADD("boost of each policy is off", test_boost_of_each_policy_is_off);
	ADD("a CPU that comes online is capped", test_a_cpu_that_comes_online_is_capped);
	ADD("states have other names", test_states_have_other_names);
	ADD("states of the firmware are what they are",
	    test_states_of_the_firmware_are_what_they_are);
	ADD("a port of AMD is known", test_a_port_of_amd_is_known);
	ADD("a CPU without the state stays below it", test_a_cpu_without_the_state_stays_below_it);
	ADD("a state that is off is left alone", test_a_state_that_is_off_is_left_alone);
	ADD("lines after a torn one are whole", test_lines_after_a_torn_one_are_whole);
	return g_test_run();
}
