/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meters of this machine, RAPL, hwmon and the model, on a /sys and a /proc of the test's own. */
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/power/meter_rapl.h"
#include "local-sched/power/power_meter.h"

struct fixture {
	char *root;
	struct config_meter config;
	power_meter_t *meter;
	guint feeder_id;
	uint64_t fed_uj;
	const char *fed[3]; /* files that get it as well */
	int reads;
	int64_t mw;
	int code;
	char *message;
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

static void drop(const struct fixture *fixture, const char *name)
{
	g_autofree char *path = g_build_filename(fixture->root, name, NULL);

	g_assert_cmpint(g_remove(path), ==, 0);
}

static void setup(struct fixture *fixture, gconstpointer kind)
{
	fixture->root = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	fixture->config = (struct config_meter){.kind = GPOINTER_TO_INT(kind),
						.sys_root = fixture->root,
						.proc_root = fixture->root,
						.idle_w = 100,
						.core_w = 10,
						.interval_s = 0.1};
}

static void teardown(struct fixture *fixture, gconstpointer kind)
{
	const char *const argv[] = {"rm", "-rf", fixture->root, NULL};

	power_meter_close(fixture->meter);
	g_clear_handle_id(&fixture->feeder_id, g_source_remove);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(fixture->message);
	g_free(fixture->root);
}

static void on_read(const struct power_reading *reading, const GError *error, void *data)
{
	struct fixture *fixture = data;

	g_assert_true((reading != NULL) != (error != NULL));
	fixture->reads++;
	fixture->mw = reading ? reading->mw : -1;
	fixture->code = error ? error->code : 0;
	g_free(fixture->message);
	fixture->message = error ? g_strdup(error->message) : NULL;
	if (error)
		g_test_message("%s", error->message);
}

/* Opens the meter; fails the test if that fails. */
static void open_meter(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	fixture->meter = power_meter_open(&platform_machine, &fixture->config, "h1", NULL, &error);
	g_assert_no_error(error);
}

/* Asserts that it cannot be opened, and that the error says `words`. */
static void assert_not_there(const struct fixture *fixture, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(power_meter_open(&platform_machine, &fixture->config, "h1", NULL, &error));
	g_assert_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, words));
}

/* Reads once and returns the code of the error, or 0. */
static int read_once(struct fixture *fixture)
{
	const int before = fixture->reads;

	power_meter_read(fixture->meter, on_read, fixture);
	g_assert_cmpint(fixture->reads, ==, before); /* never before it returns */
	while (fixture->reads == before)
		g_main_context_iteration(NULL, TRUE);
	return fixture->code;
}

/* RAPL. */

#define ZONE(number) "class/powercap/intel-rapl:" number "/"

static void put_energy(const struct fixture *fixture, const char *name, uint64_t uj)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64 "\n", uj);

	put(fixture, name, text);
}

static void put_package(const struct fixture *fixture)
{
	put(fixture, ZONE("0") "name", "package-0\n");
	put(fixture, ZONE("0") "max_energy_range_uj", "262143328850\n");
	put_energy(fixture, ZONE("0") "energy_uj", 1000);
}

enum { FEED_MS = 10 };

/* 10 mJ every 10 ms, or later: a watt at most. */
static gboolean feed(gpointer data)
{
	struct fixture *fixture = data;

	fixture->fed_uj += 10000;
	put_energy(fixture, ZONE("0") "energy_uj", fixture->fed_uj);
	for (gsize i = 0; i < G_N_ELEMENTS(fixture->fed) && fixture->fed[i]; i++)
		put_energy(fixture, fixture->fed[i], fixture->fed_uj);
	return G_SOURCE_CONTINUE;
}

static void test_rapl_rises_and_wraps(void)
{
	static const struct {
		uint64_t before_uj, now_uj, range_uj;
		double elapsed_s;
		enum meter_rapl_verdict verdict;
		uint64_t uj;
	} cases[] = {
		{1000, 51000, 262143328850, 1, METER_RAPL_OK, 50000},
		{0, 1, 0, 1, METER_RAPL_OK, 1},
		/* Over the top: 850 up to the range, 150 from 0. */
		{262143328000, 150, 262143328850, 1, METER_RAPL_OK, 1000},
		{262143328850, 0, 262143328850, 1, METER_RAPL_STILL, 0},
		{5000, 5000, 262143328850, 1, METER_RAPL_STILL, 0},
		{5000, 4999, 0, 1, METER_RAPL_FELL, 0},
		{5000, 4000, 4500, 1, METER_RAPL_FELL, 0},
		/* A fall that is no wrap: it would be nearly the whole range in a second. */
		{5000, 4000, 262143328850, 1, METER_RAPL_JUMP, 0},
		{0, 1000000001, 262143328850, 1, METER_RAPL_JUMP, 0},
		{0, 999999999, 262143328850, 1, METER_RAPL_OK, 999999999},
		{0, UINT64_MAX, 262143328850, 1, METER_RAPL_JUMP, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t uj = 0;

		g_test_message("case %zu", i);
		g_assert_cmpint(meter_rapl_rise(cases[i].before_uj, cases[i].now_uj,
						cases[i].range_uj, cases[i].elapsed_s, &uj),
				==, cases[i].verdict);
		g_assert_cmpuint(uj, ==, cases[i].uj);
	}
	g_assert_false(meter_rapl_is_ambiguous(262143328850, 262));
	g_assert_true(meter_rapl_is_ambiguous(262143328850, 263));
	g_assert_false(meter_rapl_is_ambiguous(0, 1e9));
}

static void test_rapl_reads_packages_alone(struct fixture *fixture, gconstpointer kind)
{
	put_package(fixture);
	/* Parts of a package and what holds packages would be counted twice. */
	put(fixture, ZONE("0:0") "name", "core\n");
	put_energy(fixture, ZONE("0:0") "energy_uj", 7);
	put(fixture, ZONE("1") "name", "psys\n");
	put_energy(fixture, ZONE("1") "energy_uj", 7);
	open_meter(fixture);
	g_assert_cmpstr(power_meter_source(fixture->meter), ==, "rapl");
	fixture->feeder_id = g_timeout_add(FEED_MS, feed, fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, >, 0);
	g_assert_cmpint(fixture->mw, <=, 1100);
}

static void test_rapl_that_is_odd_is_no_reading(struct fixture *fixture, gconstpointer kind)
{
	put_package(fixture);
	open_meter(fixture);
	/* Frozen. */
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_NOT_ACTIVE);
	g_assert_nonnull(strstr(fixture->message, "stands still"));
	put_energy(fixture, ZONE("0") "energy_uj", UINT64_C(200000000000));
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
	put(fixture, ZONE("0") "energy_uj", "many\n");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
	put(fixture, ZONE("0") "energy_uj", "");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
	drop(fixture, ZONE("0") "energy_uj");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
	/* And well again. */
	fixture->feeder_id = g_timeout_add(FEED_MS, feed, fixture);
	feed(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
}

static void test_rapl_that_is_missing_is_named(struct fixture *fixture, gconstpointer kind)
{
	assert_not_there(fixture, "intel-rapl:0\" is missing");
	put(fixture, ZONE("0") "name", "package-0\n");
	assert_not_there(fixture, "energy_uj");
}

static void test_a_closed_meter_says_nothing(struct fixture *fixture, gconstpointer kind)
{
	put_package(fixture);
	open_meter(fixture);
	power_meter_read(fixture->meter, on_read, fixture);
	g_clear_pointer(&fixture->meter, power_meter_close);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->reads, ==, 0);
}

/* ACPI. */

#define HWMON(number) "class/hwmon/hwmon" number "/"

static void test_acpi_reads_microwatts(struct fixture *fixture, gconstpointer kind)
{
	static const struct {
		const char *text;
		int code;
		int64_t mw;
	} cases[] = {
		{"187000000\n", 0, 187000},
		{"187000999", 0, 187000},
		{"0\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"999\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"-1\n", POWER_METER_ERROR_GARBAGE, -1},
		{"187 W\n", POWER_METER_ERROR_GARBAGE, -1},
		{"", POWER_METER_ERROR_GARBAGE, -1},
		{"18446744073709551615\n", POWER_METER_ERROR_GARBAGE, -1},
		{"187000000\n", 0, 187000},
	};

	put(fixture, HWMON("0") "name", "coretemp\n");
	put(fixture, HWMON("0") "power1_average", "1\n");
	put(fixture, HWMON("1") "name", "power_meter\n");
	put(fixture, HWMON("1") "power1_input", "3000000\n");
	put(fixture, HWMON("1") "power1_average", "187000000\n");
	open_meter(fixture);
	g_assert_cmpstr(power_meter_source(fixture->meter), ==, "acpi");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		put(fixture, HWMON("1") "power1_average", cases[i].text);
		g_assert_cmpint(read_once(fixture), ==, cases[i].code);
		g_assert_cmpint(fixture->mw, ==, cases[i].mw);
	}
	drop(fixture, HWMON("1") "power1_average");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
}

static void test_acpi_is_looked_for_where_kernels_put_it(struct fixture *fixture,
							 gconstpointer kind)
{
	assert_not_there(fixture, "no ACPI power meter");
	put(fixture, HWMON("0") "name", "power_meter\n");
	assert_not_there(fixture, "no ACPI power meter");
	put(fixture, HWMON("0") "device/power1_average", "55000000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 55000);
}

static void assert_file(const struct fixture *fixture, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(fixture->root, name, NULL);
	g_autofree char *contents = NULL;

	g_assert_true(g_file_get_contents(path, &contents, NULL, NULL));
	g_assert_cmpstr(contents, ==, text);
}

/* `data`: how many places were lost, and found. */
static void count_place(bool lost, const char *text, void *data)
{
	((int *)data)[!lost]++;
	g_assert_nonnull(strstr(text, lost ? "hwmon1" : "hwmon4"));
}

/* A driver that registers its chip again gives it another number. */
static void test_a_chip_with_another_number_is_found_again(struct fixture *fixture,
							   gconstpointer kind)
{
	int counts[2] = {0};

	put(fixture, HWMON("1") "name", "power_meter\n");
	put(fixture, HWMON("1") "power1_average", "187000000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	power_meter_watch(fixture->meter, count_place, counts);
	drop(fixture, HWMON("1") "power1_average");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
	put(fixture, HWMON("4") "name", "power_meter\n");
	put(fixture, HWMON("4") "power1_average", "188000000\n");
	g_assert_cmpint(counts[0], ==, 1);
	g_assert_cmpint(counts[1], ==, 0);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 188000);
	g_assert_cmpint(counts[1], ==, 1);
}

/* hwmonN/device is a link to the device, by whose name it is told from others. */
static void put_device(const struct fixture *fixture, const char *hwmon, const char *device)
{
	g_autofree char *place = g_build_filename("devices", device, "power1_label", NULL);
	g_autofree char *link =
		g_build_filename(fixture->root, "class", "hwmon", hwmon, "device", NULL);
	g_autofree char *target = g_strconcat("../../../devices/", device, NULL);

	put(fixture, place, "all\n");
	g_assert_cmpint(symlink(target, link), ==, 0);
}

static void count_all_places(bool lost, const char *text, void *data)
{
	((int *)data)[!lost]++;
}

/* Two drivers that register their chips again may change numbers between two readings. */
static void test_a_number_that_is_another_chips_is_found_out(struct fixture *fixture,
							     gconstpointer kind)
{
	int counts[2] = {0};

	put(fixture, HWMON("1") "name", "power_meter\n");
	put(fixture, HWMON("1") "power1_average", "187000000\n");
	put(fixture, HWMON("2") "name", "ina226\n");
	put(fixture, HWMON("2") "power1_average", "9000000\n");
	open_meter(fixture);
	power_meter_watch(fixture->meter, count_all_places, counts);
	g_assert_cmpint(read_once(fixture), ==, 0);
	put(fixture, HWMON("1") "name", "ina226\n");
	put(fixture, HWMON("1") "power1_average", "9000000\n");
	put(fixture, HWMON("2") "name", "power_meter\n");
	put(fixture, HWMON("2") "power1_average", "188000000\n");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
	g_assert_nonnull(strstr(fixture->message, "of chip \"ina226\""));
	g_assert_cmpint(counts[0], ==, 1);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 188000);
	g_assert_cmpint(counts[1], ==, 1);
	/* The same chip, whose device is another one. */
	put_device(fixture, "hwmon2", "ACPI000D:01");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_REJECTED);
	g_assert_nonnull(strstr(fixture->message, "ACPI000D:01"));
	g_assert_cmpint(read_once(fixture), ==, 0);
}

static void test_acpi_below_device_is_read(struct fixture *fixture, gconstpointer kind)
{
	put(fixture, HWMON("0") "device/name", "power_meter\n");
	put(fixture, HWMON("0") "device/power1_average", "214000000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 214000);
	g_assert_cmpfloat(power_meter_mean_s(fixture->meter), ==, 0);
}

/* An average without the file of its time: the configuration may say it. */
static void test_an_average_of_unknown_time_is_told(struct fixture *fixture, gconstpointer kind)
{
	put(fixture, HWMON("0") "name", "power_meter\n");
	put(fixture, HWMON("0") "power1_average", "357000000\n");
	open_meter(fixture);
	g_assert_false(power_meter_mean_unknown(fixture->meter));
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_true(power_meter_mean_unknown(fixture->meter));
	g_assert_cmpfloat(power_meter_mean_s(fixture->meter), ==, 0);
	fixture->config.mean_s = 30;
	g_assert_false(power_meter_mean_unknown(fixture->meter));
	g_assert_cmpfloat(power_meter_mean_s(fixture->meter), ==, 30);
}

static void test_a_long_average_is_shortened(struct fixture *fixture, gconstpointer kind)
{
	put(fixture, HWMON("0") "name", "power_meter\n");
	put(fixture, HWMON("0") "device/power1_average", "357000000\n");
	put(fixture, HWMON("0") "device/power1_average_interval", "300000\n");
	put(fixture, HWMON("0") "device/power1_average_interval_min", "1000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	assert_file(fixture, HWMON("0") "device/power1_average_interval", "1000");
	g_assert_cmpfloat(power_meter_mean_s(fixture->meter), ==, 1);
	/* It stays so: another program may read the same meter. */
	g_clear_pointer(&fixture->meter, power_meter_close);
	assert_file(fixture, HWMON("0") "device/power1_average_interval", "1000");
}

static void test_an_average_that_stays_long_is_told(struct fixture *fixture, gconstpointer kind)
{
	put(fixture, HWMON("0") "name", "power_meter\n");
	put(fixture, HWMON("0") "power1_average", "357000000\n");
	put(fixture, HWMON("0") "power1_average_interval", "300000\n");
	put(fixture, HWMON("0") "power1_average_interval_min", "300000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	assert_file(fixture, HWMON("0") "power1_average_interval", "300000\n");
	g_assert_cmpfloat(power_meter_mean_s(fixture->meter), ==, 300);
}

static void test_an_average_over_no_more_than_a_sample_is_left(struct fixture *fixture,
							       gconstpointer kind)
{
	fixture->config.interval_s = 2;
	put(fixture, HWMON("0") "name", "power_meter\n");
	put(fixture, HWMON("0") "power1_average", "357000000\n");
	put(fixture, HWMON("0") "power1_average_interval", "2000\n");
	put(fixture, HWMON("0") "power1_average_interval_min", "1000\n");
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	assert_file(fixture, HWMON("0") "power1_average_interval", "2000\n");
}

static void test_several_acpi_meters_are_listed_and_added(struct fixture *fixture,
							  gconstpointer kind)
{
	char *devices[] = {(char *)"ACPI000D:00", (char *)"ACPI000D:02"};

	put(fixture, HWMON("0") "power1_average", "100000000\n");
	put_device(fixture, "hwmon0", "ACPI000D:00");
	put(fixture, HWMON("1") "power1_average", "50000000\n");
	put_device(fixture, "hwmon1", "ACPI000D:01");
	put(fixture, "devices/ACPI000D:00/name", "power_meter\n");
	put(fixture, "devices/ACPI000D:01/name", "power_meter\n");
	assert_not_there(fixture, "of the devices ACPI000D:00, ACPI000D:01; name one as `device`");
	fixture->config.device = devices;
	fixture->config.device_count = 2;
	assert_not_there(fixture, "device \"ACPI000D:02\" has none of them; there are: "
				  "ACPI000D:00, ACPI000D:01");
	devices[1] = (char *)"hwmon0";
	assert_not_there(fixture, "is named twice");
	devices[1] = (char *)"ACPI000D:01";
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 150000);
	/* One of two supplies may rest; both may not. */
	put(fixture, HWMON("1") "power1_average", "0\n");
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 100000);
	put(fixture, HWMON("0") "power1_average", "0\n");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_NOT_ACTIVE);
	put(fixture, HWMON("0") "power1_average", "4294967295\n");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
}

/* Other chips. */

static void test_a_chip_is_read_by_its_name(struct fixture *fixture, gconstpointer kind)
{
	static const struct {
		const char *name; /* in the file */
		const char *chip; /* in the configuration; what the error says, or NULL */
		const char *words;
	} cases[] = {
		{"aem0\n", "ibmaem", NULL},
		{"aem0\n", "aem", NULL},
		{"aem1\n", "aem1", NULL},
		{"ina226\n", "ina226", NULL},
		{"aem1\n", "aem0", "it has: aem1"},
		{"ina226\n", "ina2", "it has: ina226"},
		{"aemx\n", "aem", "it has: aemx"},
		{"\x1b[31m\n", "aem", "it has: \\x1b[31m"},
		{"amdgpu\n", "amdgpu", "chip \"amdgpu\" is a graphics card, not the machine"},
	};

	put(fixture, HWMON("0") "power1_input", "42000000\n");
	put(fixture, HWMON("0") "power1_cap", "900000000\n");
	put(fixture, HWMON("1") "name", "coretemp\n");
	put(fixture, HWMON("1") "temp1_input", "42000\n");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %zu", i);
		put(fixture, HWMON("0") "name", cases[i].name);
		fixture->config.chip = (char *)cases[i].chip;
		if (cases[i].words) {
			assert_not_there(fixture, cases[i].words);
			continue;
		}
		open_meter(fixture);
		g_assert_cmpstr(power_meter_source(fixture->meter), ==, "hwmon");
		g_assert_cmpint(read_once(fixture), ==, 0);
		g_assert_cmpint(fixture->mw, ==, 42000);
		g_clear_pointer(&fixture->meter, power_meter_close);
	}
}

static void test_channels_are_listed_and_added(struct fixture *fixture, gconstpointer kind)
{
	char *channels[] = {(char *)"power2", (char *)"PSU1"};

	fixture->config.chip = (char *)"psu";
	put(fixture, HWMON("0") "name", "psu\n");
	put(fixture, HWMON("0") "power1_input", "100000000\n");
	put(fixture, HWMON("0") "power1_label", "PSU1\n");
	put(fixture, HWMON("0") "energy1_input", "5\n");
	/* energy1 is the same as power1. */
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 100000);
	g_clear_pointer(&fixture->meter, power_meter_close);
	put(fixture, HWMON("0") "power2_input", "50000000\n");
	assert_not_there(fixture, "hwmon0 has the channels power1 (PSU1), power2, energy1; name "
				  "one as `channel`");
	fixture->config.channel = channels;
	fixture->config.channel_count = 1;
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 50000);
	g_clear_pointer(&fixture->meter, power_meter_close);
	fixture->config.channel_count = 2;
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 150000);
	g_clear_pointer(&fixture->meter, power_meter_close);
	channels[0] = (char *)"energy1";
	assert_not_there(fixture, "power and of energy cannot be added");
	channels[0] = (char *)"power1";
	assert_not_there(fixture, "is named twice");
	channels[0] = (char *)"power9";
	assert_not_there(fixture, "no channel \"power9\"; it has: power1 (PSU1), power2, energy1");
}

static void test_a_long_list_is_shortened(struct fixture *fixture, gconstpointer kind)
{
	fixture->config.chip = (char *)"amd_energy";
	put(fixture, HWMON("0") "name", "amd_energy\n");
	for (int i = 1; i <= 130; i++) {
		g_autofree char *name = g_strdup_printf(HWMON("0") "energy%d_input", i);

		put(fixture, name, "5\n");
	}
	put(fixture, HWMON("0") "energy130_label", "Esocket1\n");
	assert_not_there(fixture, "energy8, 110 more, energy119");
	assert_not_there(fixture, "energy130 (Esocket1); name one");
}

static void test_counters_of_sockets_are_added(struct fixture *fixture, gconstpointer kind)
{
	char *channels[] = {(char *)"Esocket0", (char *)"energy2"};

	fixture->config.chip = (char *)"amd_energy";
	fixture->config.channel = channels;
	fixture->config.channel_count = 2;
	put(fixture, HWMON("0") "name", "amd_energy\n");
	put(fixture, HWMON("0") "energy1_label", "Esocket0\n");
	fixture->fed[0] = HWMON("0") "energy1_input";
	fixture->fed[1] = HWMON("0") "energy2_input";
	feed(fixture);
	open_meter(fixture);
	/* CPU packages: the tables say so of this source. */
	g_assert_cmpstr(power_meter_source(fixture->meter), ==, "rapl");
	fixture->feeder_id = g_timeout_add(FEED_MS, feed, fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	/* 2 W, as far as a busy machine sees the steps when they come. */
	g_assert_cmpint(fixture->mw, >, 100);
	g_assert_cmpint(fixture->mw, <=, 20000);
	/* It wraps: one reading is lost, and the next one is right. */
	fixture->fed_uj = 0;
	feed(fixture);
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
	g_assert_nonnull(strstr(fixture->message, "it wrapped or was reset"));
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, <=, 20000);
}

static void test_a_closed_acpi_meter_says_nothing(struct fixture *fixture, gconstpointer kind)
{
	put(fixture, HWMON("0") "name", "power_meter\n");
	put(fixture, HWMON("0") "power1_input", "55000000\n");
	open_meter(fixture);
	power_meter_read(fixture->meter, on_read, fixture);
	g_clear_pointer(&fixture->meter, power_meter_close);
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->reads, ==, 1);
}

/* The model. */

static void test_the_model_follows_cpu_time(struct fixture *fixture, gconstpointer kind)
{
	int64_t before_ns;
	double elapsed_s;

	put(fixture, "stat", "cpu  100 20 30 1000 5 6 7 8 9 10\ncpu0 1 2 3\n");
	open_meter(fixture);
	g_assert_cmpstr(power_meter_source(fixture->meter), ==, "model");
	/* Nothing was used: exactly the idle watts. */
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 100000);
	/* Idle, waiting and stolen time is no use of a CPU. */
	put(fixture, "stat", "cpu  100 20 30 99999 99999 6 7 99999 0 0\n");
	before_ns = clock_now_ns();
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 100000);
	/* 1000 ticks (10 s) since then: at least as many watts as if all the time had passed. */
	put(fixture, "stat", "cpu  300 220 230 99999 99999 206 207 99999 0 0\n");
	g_assert_cmpint(read_once(fixture), ==, 0);
	elapsed_s = clock_elapsed_s(before_ns, clock_now_ns());
	g_assert_cmpfloat((double)fixture->mw / 1e3, >=, 100 + 10 * 10 / elapsed_s - 0.01);
	/* Sums that fall are no use either. */
	put(fixture, "stat", "cpu  1 1 1 1 1 1 1 1 1 1\n");
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, ==, 100000);
}

static void test_a_model_without_cpu_time_is_no_reading(struct fixture *fixture, gconstpointer kind)
{
	static const char *const texts[] = {
		"",          "cpu", "cpu  1 2 3", "cpu  a b c d e f g h", "cpu  -1 2 3 4 5 6 7 8",
		"intr 1 2 3"};

	assert_not_there(fixture, "stat");
	put(fixture, "stat", "cpu  1 2 3 4 5 6 7 8\n");
	open_meter(fixture);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		put(fixture, "stat", texts[i]);
		g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_GARBAGE);
	}
	drop(fixture, "stat");
	g_assert_cmpint(read_once(fixture), ==, POWER_METER_ERROR_SETUP);
}

static void test_the_model_reads_this_machine(struct fixture *fixture, gconstpointer kind)
{
	fixture->config.proc_root = (char *)"/proc";
	open_meter(fixture);
	g_assert_cmpint(read_once(fixture), ==, 0);
	g_assert_cmpint(fixture->mw, >=, 100000);
	/* Ticks are coarse beside the time between two samples: hence twice. */
	g_assert_cmpint(fixture->mw, <=, 100000 + 2 * 10000 * sysconf(_SC_NPROCESSORS_CONF));
}

/* What a device says cannot control a terminal, and is bounded. */
static void test_messages_can_be_shown(void)
{
	const struct power_meter meter = {.host = "b1"};
	g_autofree char *long_text = g_strnfill(5000, 'x');
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) bounded = NULL;

	power_meter_set_error(&meter, &error, POWER_METER_ERROR_GARBAGE, "it says: %s",
			      "a\x1b[2J\n\tb\xff");
	g_assert_cmpstr(error->message, ==, "host \"b1\": it says: a\\x1b[2J b\xef\xbf\xbd");
	power_meter_set_error(&meter, &bounded, POWER_METER_ERROR_GARBAGE, "%s", long_text);
	g_assert_cmpuint(strlen(bounded->message), <, 1100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(kind, name, function)                                                                  \
	g_test_add("/local-meters/" name, struct fixture, GINT_TO_POINTER(kind), setup, function,  \
		   teardown)
	g_test_add_func("/local-meters/rapl rises and wraps", test_rapl_rises_and_wraps);
	ADD(CONFIG_METER_RAPL, "rapl reads packages alone", test_rapl_reads_packages_alone);
	ADD(CONFIG_METER_RAPL, "rapl that is odd is no reading",
	    test_rapl_that_is_odd_is_no_reading);
	ADD(CONFIG_METER_RAPL, "rapl that is missing is named", test_rapl_that_is_missing_is_named);
	ADD(CONFIG_METER_RAPL, "a closed meter says nothing", test_a_closed_meter_says_nothing);
	ADD(CONFIG_METER_ACPI, "acpi reads microwatts", test_acpi_reads_microwatts);
	ADD(CONFIG_METER_ACPI, "a chip with another number is found again",
	    test_a_chip_with_another_number_is_found_again);
	ADD(CONFIG_METER_ACPI, "a number that is another chip's is found out",
	    test_a_number_that_is_another_chips_is_found_out);
	ADD(CONFIG_METER_ACPI, "acpi is looked for where kernels put it",
	    test_acpi_is_looked_for_where_kernels_put_it);
	ADD(CONFIG_METER_ACPI, "acpi below device is read", test_acpi_below_device_is_read);
	ADD(CONFIG_METER_ACPI, "an average of unknown time is told",
	    test_an_average_of_unknown_time_is_told);
	ADD(CONFIG_METER_ACPI, "a long average is shortened", test_a_long_average_is_shortened);
	ADD(CONFIG_METER_ACPI, "an average that stays long is told",
	    test_an_average_that_stays_long_is_told);
	ADD(CONFIG_METER_ACPI, "an average over no more than a sample is left",
	    test_an_average_over_no_more_than_a_sample_is_left);
	ADD(CONFIG_METER_ACPI, "several acpi meters are listed and added",
	    test_several_acpi_meters_are_listed_and_added);
	ADD(CONFIG_METER_HWMON, "a chip is read by its name", test_a_chip_is_read_by_its_name);
	ADD(CONFIG_METER_HWMON, "channels are listed and added",
	    test_channels_are_listed_and_added);
	ADD(CONFIG_METER_HWMON, "a long list is shortened", test_a_long_list_is_shortened);
	ADD(CONFIG_METER_HWMON, "counters of sockets are added",
	    test_counters_of_sockets_are_added);
	ADD(CONFIG_METER_ACPI, "a closed acpi meter says nothing",
	    test_a_closed_acpi_meter_says_nothing);
	ADD(CONFIG_METER_MODEL, "the model follows cpu time", test_the_model_follows_cpu_time);
	ADD(CONFIG_METER_MODEL, "a model without cpu time is no reading",
	    test_a_model_without_cpu_time_is_no_reading);
	ADD(CONFIG_METER_MODEL, "the model reads this machine", test_the_model_reads_this_machine);
	g_test_add_func("/power/meter/messages can be shown", test_messages_can_be_shown);
	return g_test_run();
}
