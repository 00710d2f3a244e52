/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config.h"
#include "common/config/config_read.h"
#include "common/config/config_write.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"

/*
 * Rows: what is read, written, filled in and refused by them; former names; and sections that only
 * one program serves.
 */

struct config_part {
	char *name;
	double *parts;
	uint32_t parts_count;
	uint32_t bolts;
};

struct config_thing {
	char *name;
	uint32_t wheels;
	double speed_s;
	double load;
	bool fast;
	uint32_t color;
	struct config_part *list;
	uint32_t list_count;
};

static const char *const colors[] = {"red", "blue", NULL};

static const struct config_key part_keys[] = {
	{CONFIG_TEXT(part, name), .needed = true},
	{CONFIG_LIST(part, parts, NUMBER), .most = 3, .max = 1, .above_min = true},
	{CONFIG_UINT(part, bolts), .max = 8, .range = CONFIG_RANGE_TO,
	 .says = "part '~' has # bolts; give @"},
	{NULL},
};

static const struct config_section part_section = {.keys = part_keys,
						   .size = sizeof(struct config_part)};

static const struct config_key thing_keys[] = {
	{CONFIG_TEXT(thing, name), .fallback_text = "it"},
	{CONFIG_UINT(thing, wheels), .fallback = 4, .former = "tyres", .max = 1000000,
	 .range = CONFIG_RANGE_FROM, .zero = CONFIG_ZERO_IS_VALUE},
	{CONFIG_NUMBER(thing, speed_s), .fallback = 0.1, .zero = CONFIG_ZERO_IS_REFUSED, .max = 1e6,
	 .range = CONFIG_RANGE_MOST},
	{CONFIG_NUMBER(thing, load), .max = 1, .below_max = true},
	{CONFIG_FLAG(thing, fast), .fallback = 1, .zero = CONFIG_ZERO_IS_VALUE},
	{CONFIG_WORD(thing, color, colors)},
	{CONFIG_SECTIONS(thing, list, part_section)},
	{NULL},
};

static const struct config_section thing_section = {.keys = thing_keys,
						    .size = sizeof(struct config_thing),
						    .gone = "doors",
						    .advice = "leave it out"};

static char *write_file(const char *text)
{
	char *path = NULL;
	int fd = g_file_open_tmp("virtbed-key-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return path;
}

static struct config_thing *read_thing(const char *text, GError **error)
{
	g_autofree char *path = write_file(text);
	struct config_thing *thing = config_read(path, &thing_section, NULL, error);

	g_unlink(path);
	return thing;
}

static void test_defaults_are_those_of_the_rows(void)
{
	g_autoptr(GError) error = NULL;
	struct config_thing *thing = read_thing("{}\n", &error);

	g_assert_no_error(error);
	g_assert_cmpstr(thing->name, ==, "it");
	g_assert_cmpuint(thing->wheels, ==, 4);
	g_assert_cmpfloat(thing->speed_s, ==, 0.1);
	g_assert_true(thing->fast);
	g_assert_cmpuint(thing->color, ==, 0);
	config_section_free(&thing_section, thing);
}

/* Also a 0 that is a value, digits that need all 17, and an empty list. */
static void test_what_is_written_reads_back_equal(void)
{
	g_autoptr(GError) error = NULL;
	struct config_thing *thing =
		read_thing("wheels: 0\nspeed_s: 0.30000000000000004\nfast: false\ncolor: blue\n"
			   "list: [{name: \"a\\\"b\"}, {name: c, parts: [0.5, 1]}]\n",
			   &error);
	g_autofree char *text = NULL;
	g_autofree char *again = NULL;

	g_assert_no_error(error);
	text = config_write_text(&thing_section, thing);
	config_section_free(&thing_section, thing);
	thing = read_thing(text, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(thing->wheels, ==, 0);
	g_assert_cmpfloat(thing->speed_s, ==, 0.30000000000000004);
	g_assert_false(thing->fast);
	g_assert_cmpuint(thing->list_count, ==, 2);
	g_assert_cmpstr(thing->list[0].name, ==, "a\"b");
	g_assert_cmpfloat(thing->list[1].parts[0], ==, 0.5);
	again = config_write_text(&thing_section, thing);
	g_assert_cmpstr(again, ==, text);
	config_section_free(&thing_section, thing);
}

static const struct {
	const char *text;
	const char *message;
} refused[] = {
	{"wheels: 4x\n", ":1:9: wheels: '4x' is not a whole number in range"},
	{"wheels: [4]\n", "wheels: takes one value"},
	{"speed_s: 0\n", "speed_s: 0 makes no sense"},
	{"color: green\n", "color: 'green' is not one of red, blue"},
	{"fast: maybe\n", "fast: 'maybe' is neither true nor false"},
	{"list: 5\n", "list: takes a list"},
	{"list: [{}]\n", "missing required mapping field: name"},
	{"name: a\nname: b\n", ":2:1: mapping field already seen: name"},
	{"doors: 3\n", "key 'doors' is gone: leave it out"},
	{"colour: red\n",
	 "unknown key 'colour'; known here: name, wheels, speed_s, load, fast, color, list"},
};

static void test_bad_text_is_refused(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(read_thing(refused[i].text, &error));
		g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX);
		if (!strstr(error->message, refused[i].message))
			g_error("'%s', not '%s'", error->message, refused[i].message);
	}
}

static const struct {
	const char *text;
	const char *wrong; /* NULL: in range */
} ranges[] = {
	{"wheels: 1000000\n", NULL},
	{"wheels: 1000001\n", "thing.wheels: 1000001 is not from 0 to 1000000"},
	{"speed_s: 2000000\n", "thing.speed_s: 2e+06 is more than 1e+06; give 0 to 1e+06"},
	{"speed_s: -1\n", "thing.speed_s: -1 is negative or not a number"},
	{"load: 0\n", NULL},
	{"load: 1\n", "thing.load: 1 is outside [0, 1)"},
	{"list: [{name: a, parts: [0.5, 0]}]\n", "thing.list[0].parts[1]: 0 is outside (0, 1]"},
	{"list: [{name: a, parts: [1, 1, 1]}]\n", NULL},
	{"list: [{name: a, parts: [1, 1, 1, 1]}]\n", "thing.list[0].parts: 4 are more than 3"},
	{"list: [{name: a, bolts: 9}]\n", "thing.list[0].bolts: part 'a' has 9 bolts; give 0 to 8"},
};

static void test_ranges_are_checked_below_too(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(ranges); i++) {
		struct config_thing *thing = read_thing(ranges[i].text, NULL);
		g_autofree char *wrong = NULL;

		g_assert_nonnull(thing);
		wrong = config_section_check(&thing_section, "thing", thing);
		g_assert_cmpstr(wrong, ==, ranges[i].wrong);
		config_section_free(&thing_section, thing);
	}
}

/* In a process of its own, whose standard error is looked at. */
static void test_a_former_name_is_read_with_a_warning(void)
{
	if (g_test_subprocess()) {
		struct config_thing *thing = read_thing("tyres: 3\n", NULL);

		g_assert_nonnull(thing);
		g_assert_cmpuint(thing->wheels, ==, 3);
		g_assert_null(read_thing("tyres: 3\nwheels: 3\n", NULL));
		config_section_free(&thing_section, thing);
		return;
	}
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
	g_test_trap_assert_stderr("*warning config*:1:1: key 'tyres' is now 'wheels'; rename it*");
}

#define BASE                                                                                       \
	"name: t\nclusters: [{name: a, nodes: 8, cores: 1, memory_mib: 4}]\n"                      \
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 86400, budget_j: 1}\n"

/*
 * A local scheduler reads the file that the controller does, and knows nothing of environments and
 * studies.
 */
static void test_sections_that_are_not_served_are_unread(void)
{
	g_autofree char *path =
		write_file(BASE "environment: {tasks_per_day: 10}\nstudy: {trials: 7}\n");
	g_autofree char *wrong = write_file(BASE "environment: {tasks_per_day: -10, what: 1}\n");
	g_autofree char *list = write_file(BASE "environment: []\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) controller = config_controller_load(path, &error);
	g_autoptr(config_t) local = NULL;
	g_autoptr(config_t) unread = NULL;

	g_assert_no_error(error);
	g_assert_cmpfloat(config_environment(controller)->tasks_per_day, ==, 10);
	g_assert_cmpuint(config_study(controller)->trials, ==, 7);
	local = config_load(path, &error);
	g_assert_no_error(error);
	g_assert_null(local->workload);
	g_assert_null(config_environment(local));
	unread = config_load(wrong, &error);
	g_assert_no_error(error);
	g_assert_null(config_controller_load(wrong, NULL));
	g_assert_null(config_load(list, &error));
	g_assert_nonnull(strstr(error->message, "environment: takes a mapping of keys"));
	g_unlink(path);
	g_unlink(wrong);
	g_unlink(list);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config/key/defaults", test_defaults_are_those_of_the_rows);
	g_test_add_func("/config/key/round-trip", test_what_is_written_reads_back_equal);
	g_test_add_func("/config/key/bad-text", test_bad_text_is_refused);
	g_test_add_func("/config/key/ranges", test_ranges_are_checked_below_too);
	g_test_add_func("/config/key/former", test_a_former_name_is_read_with_a_warning);
	g_test_add_func("/config/key/unserved", test_sections_that_are_not_served_are_unread);
	return g_test_run();
}
