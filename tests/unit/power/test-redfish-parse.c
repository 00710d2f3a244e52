/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_redfish_parse.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "common/json.h"

static json_t *parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	json_t *value = json_parse(text, strlen(text), "case", &error);

	g_assert_no_error(error);
	return value;
}

static void test_watts_are_taken_from_both_places(void)
{
	static const struct {
		enum meter_redfish_place place;
		const char *text;
		enum power_meter_error verdict;
		int64_t mw;
	} cases[] = {
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":344}]}",
		 POWER_METER_OK, 344000},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":61.25},{}]}",
		 POWER_METER_OK, 61250},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":0}]}",
		 POWER_METER_OK, 0},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":null}]}",
		 POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{}]}", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[]}", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_POWER, "{}", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_POWER, "[]", POWER_METER_ERROR_GARBAGE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":\"61\"}]}",
		 POWER_METER_ERROR_GARBAGE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":-1}]}",
		 POWER_METER_ERROR_GARBAGE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":1e300}]}",
		 POWER_METER_ERROR_GARBAGE, -1},
		{METER_REDFISH_POWER, "{\"PowerControl\":[{\"PowerConsumedWatts\":true}]}",
		 POWER_METER_ERROR_GARBAGE, -1},
		/* A number of the other place is none of this one. */
		{METER_REDFISH_POWER, "{\"PowerWatts\":{\"Reading\":61}}",
		 POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_ENVIRONMENT, "{\"PowerWatts\":{\"Reading\":61.5}}", POWER_METER_OK,
		 61500},
		{METER_REDFISH_ENVIRONMENT, "{\"PowerWatts\":{\"Reading\":null}}",
		 POWER_METER_ERROR_NOT_ACTIVE, -1},
		{METER_REDFISH_ENVIRONMENT, "{\"PowerWatts\":{}}", POWER_METER_ERROR_NOT_ACTIVE,
		 -1},
		{METER_REDFISH_ENVIRONMENT, "{\"PowerWatts\":[61]}", POWER_METER_ERROR_NOT_ACTIVE,
		 -1},
		{METER_REDFISH_ENVIRONMENT, "{\"PowerWatts\":{\"Reading\":[]}}",
		 POWER_METER_ERROR_GARBAGE, -1},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) value = parse(cases[i].text);
		int64_t mw = -1;

		g_test_message("%s", cases[i].text);
		g_assert_cmpint(meter_redfish_parse_watts(value, cases[i].place, &mw), ==,
				cases[i].verdict);
		g_assert_cmpint(mw, ==, cases[i].mw);
	}
	g_assert_cmpint(meter_redfish_parse_watts(NULL, METER_REDFISH_POWER, NULL), ==,
			POWER_METER_ERROR_GARBAGE);
}

static void test_links_lead_nowhere_else(void)
{
	static const struct {
		const char *link;
		bool good;
	} cases[] = {
		{"/redfish/v1/Chassis/1/Power", true},
		{"/redfish/v1/Chassis/System.Embedded.1/Power?x=1", true},
		{"@evil.example/redfish/v1", false}, /* would become user@evil.example */
		{"//evil.example/redfish/v1", false},
		{".evil.example/", false},
		{"https://evil.example/redfish/v1/", false},
		{"/redfish/v1/a b", false},
		{"/redfish/v1/a\\r\\nX: y", false},
		{"/redfish/v1/Power#/PowerControl/0", false},
		{"/other/v1", false},
		{"", false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("{\"Power\":{\"@odata.id\":\"%s\"}}", cases[i].link);
		g_autoptr(json_t) chassis = parse(text);

		g_test_message("%s", text);
		g_assert_true((meter_redfish_parse_link(chassis, METER_REDFISH_POWER) != NULL) ==
			      cases[i].good);
		g_assert_null(meter_redfish_parse_link(chassis, METER_REDFISH_ENVIRONMENT));
	}
}

static void test_members_are_listed(void)
{
	g_autoptr(json_t) good = parse("{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/a\"},"
				       "{\"@odata.id\":7},null,"
				       "{\"@odata.id\":\"/redfish/v1/Chassis/b\"}]}");
	g_autoptr(json_t) empty = parse("{\"Members\":[]}");
	g_autoptr(json_t) none = parse("{\"Members\":{}}");
	g_autoptr(GPtrArray) links = meter_redfish_parse_members(good);
	g_autoptr(GPtrArray) no_links = meter_redfish_parse_members(empty);

	g_assert_cmpuint(links->len, ==, 2);
	g_assert_cmpstr(links->pdata[1], ==, "/redfish/v1/Chassis/b");
	g_assert_cmpuint(no_links->len, ==, 0);
	g_assert_null(meter_redfish_parse_members(none));
	g_assert_null(meter_redfish_parse_members(NULL));
}

static void test_locations_are_whole_or_paths(void)
{
	static const struct {
		const char *location;
		const char *path;
	} cases[] = {
		{"/redfish/v1/SessionService/Sessions/3", "/redfish/v1/SessionService/Sessions/3"},
		{"https://bmc:443/redfish/v1/Sessions/3", "/redfish/v1/Sessions/3"},
		{"https://bmc", NULL},
		{"https://bmc/elsewhere", NULL},
		{"", NULL},
		{NULL, NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = meter_redfish_parse_location(cases[i].location);

		g_assert_cmpstr(path, ==, cases[i].path);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/redfish/parse/watts are taken from both places",
			test_watts_are_taken_from_both_places);
	g_test_add_func("/redfish/parse/links lead nowhere else", test_links_lead_nowhere_else);
	g_test_add_func("/redfish/parse/members are listed", test_members_are_listed);
	g_test_add_func("/redfish/parse/locations are whole or paths",
			test_locations_are_whole_or_paths);
	return g_test_run();
}
