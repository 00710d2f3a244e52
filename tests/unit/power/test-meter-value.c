/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One number out of a text: what is picked, and what is refused in which words. */
#include "local-sched/power/meter_value.h"

#include <math.h>
#include <string.h>

#include "common/platform.h"

#define QUERY                                                                                      \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["                 \
	"{\"metric\":{\"instance\":\"h1\"},\"value\":[1700000000.781,\"245.5\"]}"
#define SECOND ",{\"metric\":{\"instance\":\"h2\"},\"value\":[1700000000.781,\"99\"]}"
#define EXPOSITION                                                                                 \
	"# HELP node_power_watts Power.\n# TYPE node_power_watts gauge\n"                          \
	"node_power_watts{chip=\"a\",sensor=\"power1\"} 2.455e+02 1700000000000\n"                 \
	"node_power_watts{chip=\"b\\\"\\n\", sensor = \"power1\",} 7\n"                            \
	"node_power_watts_total 8\nup 1\nnode_bad{x=1} 3\nnode_nan NaN\n"

static const struct {
	struct config_meter config;
	const char *text;
	double number;
	enum power_meter_error verdict;
	const char *words; /* of the reason */
} cases[] = {
	{{0}, "245", 245, 0, NULL},
	{{0}, "  245.5 \n", 245.5, 0, NULL},
	{{0}, "245 W\n", 245, 0, NULL},
	{{0}, "1.5e+2", 150, 0, NULL},
	{{0}, "245 Watts", 245, 0, NULL},
	{{.value = CONFIG_METER_KILOWATTS}, "0.245kW", 245, 0, NULL},
	{{.value = CONFIG_METER_MICROWATTS}, "245000000", 245, 0, NULL},
	{{.value = CONFIG_METER_WATTS, .scale = 0.1}, "2450", 245, 0, NULL},
	{{.value = CONFIG_METER_KILOWATT_HOURS}, "2 kWh", 7.2e6, 0, NULL},
	{{.value = CONFIG_METER_MICROJOULES}, "5000000", 5, 0, NULL},
	{{0}, "-3", -3, 0, NULL},
	{{0},
	 "\xef\xbb\xbf"
	 "245\xe2\x80\xafW",
	 245,
	 0,
	 NULL},
	/* Another unit than the stated one, more than a number, or none. */
	{{0}, "245 mW", 0, POWER_METER_ERROR_GARBAGE, "not a number of watts alone"},
	{{.value = CONFIG_METER_JOULES}, "245 W", 0, POWER_METER_ERROR_GARBAGE, "joules alone"},
	{{0}, "245 246", 0, POWER_METER_ERROR_GARBAGE, "not a number of watts alone"},
	{{0}, "power: 245", 0, POWER_METER_ERROR_GARBAGE, "\"power: 245\" is not a number"},
	{{0}, "NaN", 0, POWER_METER_ERROR_GARBAGE, "is not a number"},
	{{0}, "inf", 0, POWER_METER_ERROR_GARBAGE, "is not a number"},
	{{0}, "0x10", 0, POWER_METER_ERROR_GARBAGE, "not a number of watts alone"},
	{{0}, "1e999", 0, POWER_METER_ERROR_GARBAGE, "is not a number"},
	{{0}, "1e+", 0, POWER_METER_ERROR_GARBAGE, ""},
	{{0}, "", 0, POWER_METER_ERROR_NOT_ACTIVE, "it says nothing"},
	{{0}, "\x1b[31m", 0, POWER_METER_ERROR_GARBAGE, "\"\\x1b[31m\""},
	{{0}, "65535", 0, POWER_METER_ERROR_GARBAGE, "all ones"},
	{{.value = CONFIG_METER_MILLIWATTS}, "4294967295", 0, POWER_METER_ERROR_GARBAGE, "ones"},
	{{.value = CONFIG_METER_JOULES}, "65535", 65535, 0, NULL},
	/* JSON. */
	{{.json = (char *)"w"}, "{\"w\": 245}", 245, 0, NULL},
	{{.json = (char *)"$.a.b[1]"}, "{\"a\": {\"b\": [1, 245]}}", 245, 0, NULL},
	{{.json = (char *)"[-1].value"}, "[{\"value\": 1}, {\"value\": 245.5}]", 245.5, 0, NULL},
	{{.json = (char *)"[\"x.y\"]['z']"}, "{\"x.y\": {\"z\": 245}}", 245, 0, NULL},
	{{.json = (char *)"w"}, "{\"w\": \"245 W\"}", 245, 0, NULL},
	{{.json = (char *)"w"}, "{\"n\": \"\xff\", \"x\": NaN, \"w\": 245}", 245, 0, NULL},
	{{.json = (char *)"w"}, "{\"w\": null}", 0, POWER_METER_ERROR_NOT_ACTIVE, "it has null"},
	{{.json = (char *)"w"}, "{\"w\": true}", 0, POWER_METER_ERROR_GARBAGE, "a boolean"},
	{{.json = (char *)"w"}, "{\"w\": NaN}", 0, POWER_METER_ERROR_GARBAGE, "not a number"},
	{{.json = (char *)"w"}, "[245]", 0, POWER_METER_ERROR_REJECTED, "nothing at \"w\": [245]"},
	{{.json = (char *)"[2]"}, "[245, 3]", 0, POWER_METER_ERROR_REJECTED, "nothing at"},
	{{.json = (char *)"[-3]"}, "[245, 3]", 0, POWER_METER_ERROR_REJECTED, "nothing at"},
	{{.json = (char *)"w"}, "245 W", 0, POWER_METER_ERROR_GARBAGE, "not valid JSON"},
	{{.json = (char *)"data.result[*].value[1]"}, QUERY "]}}", 245.5, 0, NULL},
	{{.json = (char *)"data.result[*].value[1]"},
	 QUERY SECOND "]}}",
	 0,
	 POWER_METER_ERROR_GARBAGE,
	 "matches 2: data.result[0].value[1] = \"245.5\", data.result[1].value[1] = \"99\""},
	{{.json = (char *)"data.result[*].value[1]"},
	 "{\"data\": {\"result\": []}}",
	 0,
	 POWER_METER_ERROR_REJECTED,
	 "nothing at"},
	/* Prometheus. */
	{{.metric = (char *)"node_power_watts{chip=\"a\"}"}, EXPOSITION, 245.5, 0, NULL},
	{{.metric = (char *)"node_power_watts{chip=\"b\\\"\\n\"}"}, EXPOSITION, 7, 0, NULL},
	{{.metric = (char *)"node_power_watts_total"}, EXPOSITION, 8, 0, NULL},
	{{.metric = (char *)"up{none=\"\"}"}, EXPOSITION, 1, 0, NULL},
	{{.metric = (char *)"node_power_watts"},
	 EXPOSITION,
	 0,
	 POWER_METER_ERROR_GARBAGE,
	 "`metric` matches 2: node_power_watts{chip=\"a\""},
	{{.metric = (char *)"node_power_watts{chip=\"c\"}"},
	 EXPOSITION,
	 0,
	 POWER_METER_ERROR_REJECTED,
	 "it has no metric node_power_watts{chip=\"c\"}"},
	{{.metric = (char *)"node_bad"}, EXPOSITION, 0, POWER_METER_ERROR_REJECTED, "no metric"},
	{{.metric = (char *)"node_nan"}, EXPOSITION, 0, POWER_METER_ERROR_GARBAGE, "not a number"},
	{{.metric = (char *)"up"}, "up\n", 0, POWER_METER_ERROR_NOT_ACTIVE, "says nothing"},
};

static void test_numbers_are_picked(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *reason = NULL;
		double number = 0;
		enum power_meter_error verdict;

		g_test_message("case %zu", i);
		g_assert_true(meter_value_check(&cases[i].config, &reason));
		verdict = meter_value_pick(&cases[i].config, cases[i].text, strlen(cases[i].text),
					   &number, &reason);
		g_test_message("%s", reason ?: "-");
		g_assert_cmpint(verdict, ==, cases[i].verdict);
		g_assert_cmpfloat_with_epsilon(number, cases[i].number, 1e-9);
		g_assert_true(!cases[i].words || strstr(reason, cases[i].words));
	}
}

static void test_places_that_are_none_are_refused(void)
{
	static const char *const paths[] = {"",    ".",  "a..b",  "a.", "[",
					    "[x]", "[1", "[\"a]", "a]", "[1.5]"};
	static const char *const metrics[] = {"",       "{a=\"b\"}", "m{",  "m{a}",
					      "m{a=b}", "m{a=\"b\"", "m 3", "m{a=\"b\"} x"};
	g_autofree char *long_path = g_strnfill(200, '.');

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		const struct config_meter config = {.json = (char *)paths[i]};
		g_autofree char *reason = NULL;

		g_test_message("path %zu", i);
		/* "$" and "" are the whole document: its root may be a number. */
		g_assert_true(meter_value_check(&config, &reason) == (*paths[i] == '\0'));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++) {
		const struct config_meter config = {.metric = (char *)metrics[i]};
		g_autofree char *reason = NULL;

		g_test_message("metric %zu", i);
		g_assert_false(meter_value_check(&config, &reason));
		g_assert_nonnull(strstr(reason, "`metric`"));
	}
	for (gsize i = 0; i < 200; i += 2)
		long_path[i] = 'a';
	g_autofree char *longest = g_strconcat(long_path, "a", NULL);
	const struct config_meter config = {.json = longest};
	g_autofree char *reason = NULL;

	g_assert_false(meter_value_check(&config, &reason));
}

/* As many levels, elements and labels as 64 KiB hold. */
static void test_hostile_texts_are_refused(void)
{
	const struct config_meter json = {.json = (char *)"a"};
	const struct config_meter all = {.json = (char *)"[*]"};
	const struct config_meter metric = {.metric = (char *)"m"};
	const gsize length = 64 * 1024;
	g_autofree char *levels = g_strnfill(length, '[');
	g_autofree char *elements = g_strnfill(length, '1');
	g_autofree char *braces = g_strnfill(length, '{');
	g_autofree char *lines = g_strnfill(length, '\n');
	double number;

	for (gsize i = 2; i + 2 < length; i += 2)
		elements[i] = ',';
	elements[0] = '[';
	elements[length - 1] = ']';
	braces[0] = 'm';
	for (gsize i = 0; i + 4 < length; i += 4)
		memcpy(lines + i, "m 1\n", 4);
	const struct {
		const struct config_meter *config;
		const char *text;
	} texts[] = {{&json, levels}, {&all, levels},    {&json, elements}, {&all, elements},
		     {&json, braces}, {&metric, braces}, {&metric, lines}};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *reason = NULL;

		g_test_message("text %zu", i);
		g_assert_cmpint(meter_value_pick(texts[i].config, texts[i].text, length, &number,
						 &reason),
				!=, POWER_METER_OK);
		g_test_message("%s", reason);
		g_assert_cmpuint(strlen(reason), <, 1000);
	}
}

/* How a read ended. */
struct outcome {
	bool over;
	int code; /* of the error, or 0 */
	int64_t mw;
};

static void on_read(const struct power_reading *reading, const GError *error, void *data)
{
	*(struct outcome *)data = (struct outcome){.over = true,
						   .code = error ? error->code : 0,
						   .mw = reading ? reading->mw : -1};
}

static void test_each_part_of_a_sum_is_watts(void)
{
	static const struct {
		double numbers[2];
		int code;
		int64_t mw;
	} sums[] = {
		{{240, 60.5}, 0, 300500},
		{{240, 0}, 0, 240000}, /* a supply that is idle */
		{{0, 0}, POWER_METER_ERROR_NOT_ACTIVE, -1},
		{{240, -1}, POWER_METER_ERROR_GARBAGE, -1},
		{{-1, 240}, POWER_METER_ERROR_GARBAGE, -1},
		{{240, NAN}, POWER_METER_ERROR_GARBAGE, -1},
		{{240, INFINITY}, POWER_METER_ERROR_GARBAGE, -1},
	};
	const struct config_meter config = {.value = CONFIG_METER_WATTS};

	for (gsize i = 0; i < G_N_ELEMENTS(sums); i++) {
		struct outcome outcome = {.over = false};
		struct power_meter meter = {.platform = &platform_machine,
					    .config = &config,
					    .host = "h1",
					    .done = on_read,
					    .data = &outcome};
		struct meter_value value;

		g_test_message("case %zu", i);
		meter_value_init(&value, 2, NULL);
		meter_value_end(&meter, &value, sums[i].numbers, "SNMP");
		while (!outcome.over)
			g_main_context_iteration(NULL, TRUE);
		g_assert_cmpint(outcome.code, ==, sums[i].code);
		g_assert_cmpint(outcome.mw, ==, sums[i].mw);
		meter_value_clear(&value);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/meter-value/numbers are picked", test_numbers_are_picked);
	g_test_add_func("/meter-value/places that are none are refused",
			test_places_that_are_none_are_refused);
	g_test_add_func("/meter-value/hostile texts are refused", test_hostile_texts_are_refused);
	g_test_add_func("/meter-value/each part of a sum is watts",
			test_each_part_of_a_sum_is_watts);
	return g_test_run();
}
