/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_redfish_parse.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "common/json.h"

enum { REFUSED = -1, UNKNOWN_S = -1 };

static json_t *parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) quoted = g_string_new(text);
	json_t *value;

	/* Texts of this file write ' for ". */
	g_string_replace(quoted, "'", "\"", 0);
	value = json_parse(quoted->str, quoted->len, "case", &error);
	g_assert_no_error(error);
	return value;
}

/* The watts of entries of PowerControl in a chassis of this type. */
static struct meter_redfish_watts watts_in(const char *type, const char *entries)
{
	g_autofree char *text = g_strdup_printf("{'PowerControl': [%s]}", entries);
	g_autofree char *own = g_strdup_printf("{'ChassisType': '%s'}", type);
	g_autoptr(json_t) power = parse(text);
	g_autoptr(json_t) body = parse(own);
	struct meter_redfish_chassis *machine =
		meter_redfish_chassis_new(body, "/redfish/v1/Chassis/1");
	struct meter_redfish_entry entry = {.index = -1};
	const struct meter_redfish_watts watts = meter_redfish_parse_power(power, machine, &entry);

	g_test_message("%s: %s", type, text);
	meter_redfish_entry_clear(&entry);
	meter_redfish_chassis_free(machine);
	return watts;
}

static void test_watts_are_those_of_the_whole_machine(void)
{
	static const struct {
		const char *entries; /* of PowerControl */
		enum power_meter_error code;
		int64_t mw;
	} cases[] = {
		{"{'PowerConsumedWatts': 344}", POWER_METER_OK, 344000},
		{"{'PowerConsumedWatts': 61.25}, {}", POWER_METER_OK, 61250},
		{"{'PowerConsumedWatts': 0}", POWER_METER_OK, 0},
		{"{'PowerConsumedWatts': null}", POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'PowerConsumedWatts': 65535}", POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'PowerConsumedWatts': 65535.0}", POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'PowerConsumedWatts': 65534}", POWER_METER_OK, 65534000},
		{"{}", POWER_METER_ERROR_SETUP, REFUSED},
		{"", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'PowerConsumedWatts': '61'}", POWER_METER_OK, 61000},
		{"{'PowerConsumedWatts': '61.5 W'}", POWER_METER_OK, 61500},
		{"{'PowerConsumedWatts': '0x61'}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': '61 kW'}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': 'inf'}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': ''}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': -1}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': 1e300}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'PowerConsumedWatts': true}", POWER_METER_ERROR_GARBAGE, REFUSED},
		/* The entry that has some. */
		{"{'Name': 'Chassis'}, {'PowerConsumedWatts': 5}", POWER_METER_OK, 5000},
		{"{'PowerConsumedWatts': null}, {'PowerConsumedWatts': 5}", POWER_METER_OK, 5000},
		{"{'PowerConsumedWatts': 0}, {'PowerConsumedWatts': 5}", POWER_METER_OK, 5000},
		{"{'PowerConsumedWatts': 'x'}, {'PowerConsumedWatts': null}",
		 POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		/* Of several none, but that of the whole machine. */
		{"{'Name': 'Node 1', 'PowerConsumedWatts': 9},"
		 "{'Name': 'Node 12', 'PowerConsumedWatts': 5}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'Node 1', 'PowerConsumedWatts': 5},"
		 "{'Name': 'Node 1', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'PowerConsumedWatts': 5}, {'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'Left', 'PowerConsumedWatts': 5},"
		 "{'Name': 'Right', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'Node-A', 'PowerConsumedWatts': 5},"
		 "{'Name': 'Node-B', 'PowerConsumedWatts': null}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'System 1', 'PowerConsumedWatts': 5},"
		 "{'Name': 'System 2', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'Rear', 'PowerConsumedWatts': 5},"
		 "{'Name': 'Total Power', 'PowerConsumedWatts': 9}",
		 POWER_METER_OK, 9000},
		{"{'Name': 'IO Sub-system Power', 'PowerConsumedWatts': 9},"
		 "{'Name': 'Server Power Control', 'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
		{"{'RelatedItem': [{'@odata.id': '/redfish/v1/Systems/1'}],"
		 "'PowerConsumedWatts': 9},"
		 "{'RelatedItem': [{'@odata.id': '/redfish/v1/Systems/2/'}],"
		 "'PowerConsumedWatts': 5}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		/* That of the whole machine may have none at the moment. */
		{"{'Name': 'System Power Control', 'PowerConsumedWatts': null},"
		 "{'Name': 'Baseboard', 'PowerConsumedWatts': 84}",
		 POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'Name': 'Baseboard', 'PowerConsumedWatts': 84},"
		 "{'Name': 'System Power Control', 'PowerConsumedWatts': 0}",
		 POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'Name': 'Left', 'PowerConsumedWatts': 5},"
		 "{'Name': 'Right', 'PowerConsumedWatts': 9},"
		 "{'Name': 'Total', 'PowerConsumedWatts': null}",
		 POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'Name': 'Chassis', 'PowerConsumedWatts': null},"
		 "{'Name': 'System', 'PowerConsumedWatts': 245}",
		 POWER_METER_OK, 245000},
		{"{'Name': 'System Power Control'}, {'Name': 'Power', 'PowerConsumedWatts': 84}",
		 POWER_METER_OK, 84000},
		{"{'Name': 'System Fan', 'PowerConsumedWatts': 0},"
		 "{'Name': 'Power', 'PowerConsumedWatts': 84}",
		 POWER_METER_OK, 84000},
		/* Never that of a part. */
		{"{'Name': 'CPU Sub-system Power', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'CPU1', 'PowerConsumedWatts': 9}, {'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
		{"{'Name': 'GPU_0 Power', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'CPUPower', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'GpuPower', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'TotalGPUsPower', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'NVMePower', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'PCIe', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'BackPlane', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'Total Processors Power', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'System NICs Power', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'HGX Baseboard Total', 'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'Name': 'PSU Input', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'Total PSU Power', 'PowerConsumedWatts': 9}", POWER_METER_OK, 9000},
		{"{'Name': 'PSU1 Total Power', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'DedicatePowerSupplies', 'PowerConsumedWatts': 9}", POWER_METER_OK,
		 9000},
		/* Of what is not there it may be the last that it had. */
		{"{'Name': 'Node 1', 'PowerConsumedWatts': 9, 'Status': {'State': 'Absent'}},"
		 "{'Name': 'Node 2', 'PowerConsumedWatts': 5, 'Status': {'State': 'Enabled'}}",
		 POWER_METER_OK, 5000},
		{"{'Name': 'SubSystem', 'PowerConsumedWatts': 9}", POWER_METER_ERROR_SETUP,
		 REFUSED},
		{"{'Name': 'RearPower', 'PowerConsumedWatts': 9},"
		 "{'Name': 'SystemPower', 'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
		{"{'Name': 'NodeA', 'PowerConsumedWatts': 5},"
		 "{'Name': 'NodeB', 'PowerConsumedWatts': null}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'PhysicalContext': 'Memory', 'PowerConsumedWatts': 9},"
		 "{'PhysicalContext': 'Chassis', 'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
		{"{'PhysicalContext': null, 'PowerConsumedWatts': 5}", POWER_METER_OK, 5000},
		{"{'PhysicalContext': 'ACInput', 'PowerConsumedWatts': 5}", POWER_METER_OK, 5000},
		{"{'PhysicalContext': 'PowerSupply', 'PowerConsumedWatts': 5}", POWER_METER_OK,
		 5000},
		{"{'RelatedItem': [{'@odata.id': '/redfish/v1/Systems/1/Processors/1'}],"
		 "'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'RelatedItem': [{'@odata.id': '/redfish/v1/Chassis/2'}],"
		 "'PowerConsumedWatts': 9}",
		 POWER_METER_ERROR_SETUP, REFUSED},
		{"{'RelatedItem': [{'@odata.id': '/redfish/v1/Systems/1'},"
		 "{'@odata.id': '/redfish/v1/Chassis/1/'}], 'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
		{"{'RelatedItem': 7, 'Name': 7, 'PhysicalContext': 7, 'PowerConsumedWatts': 5}",
		 POWER_METER_OK, 5000},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct meter_redfish_watts watts = watts_in("RackMount", cases[i].entries);

		g_assert_cmpint(watts.code, ==, cases[i].code);
		g_assert_cmpint(watts.mw, ==, cases[i].mw);
		g_assert_true((watts.what == NULL) == (watts.code == POWER_METER_OK));
	}
}

static void test_an_entry_that_was_found_is_kept(void)
{
	g_autoptr(json_t) second =
		parse("{'PowerControl': [{'Name': 'a'}, {'PowerConsumedWatts': 5}]}");
	g_autoptr(json_t) both = parse("{'PowerControl': [{'PowerConsumedWatts': 9},"
				       "{'PowerConsumedWatts': null}]}");
	g_autoptr(json_t) one = parse("{'PowerControl': [{'PowerConsumedWatts': 9}]}");
	const struct meter_redfish_chassis machine = {.path = (char *)""};
	struct meter_redfish_entry entry = {.index = -1};

	g_assert_cmpint(meter_redfish_parse_power(second, &machine, &entry).mw, ==, 5000);
	g_assert_cmpint(entry.index, ==, 1);
	g_assert_cmpint(meter_redfish_parse_power(both, &machine, &entry).code, ==,
			POWER_METER_ERROR_NOT_ACTIVE);
	g_assert_cmpint(meter_redfish_parse_power(one, &machine, &entry).code, ==,
			POWER_METER_ERROR_SETUP);
	g_assert_true(meter_redfish_parse_power(one, &machine, &entry).gone);
	meter_redfish_entry_clear(&entry);
}

/* Firmware may list the same entries in another order, with or without another number. */
static void test_an_entry_that_was_found_is_followed(void)
{
	static const struct {
		const char *entries;
		enum power_meter_error code;
		int64_t mw;
		bool gone;
	} cases[] = {
		{"{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 6},"
		 "{'MemberId': 'c', 'Name': 'CPU', 'PowerConsumedWatts': 2}",
		 POWER_METER_OK, 6000, false},
		{"{'MemberId': 'c', 'Name': 'CPU', 'PowerConsumedWatts': 2},"
		 "{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 7}",
		 POWER_METER_OK, 7000, false},
		{"{'MemberId': 'c', 'Name': 'CPU', 'PowerConsumedWatts': 2},"
		 "{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': null}",
		 POWER_METER_ERROR_NOT_ACTIVE, REFUSED, false},
		{"{'MemberId': 'n', 'Name': 'System'}", POWER_METER_ERROR_SETUP, REFUSED, false},
		{"{'MemberId': 'n', 'Name': 'CPU', 'PowerConsumedWatts': 2},"
		 "{'MemberId': 'c', 'Name': 'System', 'PowerConsumedWatts': 7}",
		 POWER_METER_ERROR_SETUP, REFUSED, true},
		{"{'Name': 'System', 'PowerConsumedWatts': 2}", POWER_METER_ERROR_SETUP, REFUSED,
		 true},
		{"7, {'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 2},"
		 "{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 3}, []",
		 POWER_METER_OK, 2000, false},
		{"[], {}, {'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 2},"
		 "{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 3}",
		 POWER_METER_ERROR_SETUP, REFUSED, true},
		{"", POWER_METER_ERROR_SETUP, REFUSED, true},
	};
	g_autoptr(json_t) first =
		parse("{'PowerControl': [{'MemberId': 'c', 'Name': 'CPU', 'PowerConsumedWatts': 2},"
		      "{'MemberId': 'n', 'Name': 'System', 'PowerConsumedWatts': 5}]}");
	const struct meter_redfish_chassis machine = {.path = (char *)""};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf("{'PowerControl': [%s]}", cases[i].entries);
		g_autoptr(json_t) power = parse(text);
		struct meter_redfish_entry entry = {.index = -1};
		struct meter_redfish_watts watts;

		g_test_message("%s", text);
		g_assert_cmpint(meter_redfish_parse_power(first, &machine, &entry).mw, ==, 5000);
		watts = meter_redfish_parse_power(power, &machine, &entry);
		g_assert_cmpint(watts.code, ==, cases[i].code);
		g_assert_cmpint(watts.mw, ==, cases[i].mw);
		g_assert_cmpint(watts.gone, ==, cases[i].gone);
		meter_redfish_entry_clear(&entry);
	}
}

/* The chassis of a blade may be its enclosure, whose watts are those of all blades. */
static void test_an_enclosure_is_not_taken_for_its_blade(void)
{
	static const struct {
		const char *type, *entries;
		int64_t mw; /* REFUSED: several */
	} cases[] = {
		{"Blade",
		 "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 2400},"
		 "{'Name': 'Blade Power Control', 'PowerConsumedWatts': 210}",
		 210000},
		{"Sled",
		 "{'Name': 'Sled', 'PowerConsumedWatts': 210},"
		 "{'Name': 'Enclosure', 'PowerConsumedWatts': 2400}",
		 210000},
		{"Blade",
		 "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 2400},"
		 "{'Name': 'Power Control', 'PowerConsumedWatts': 210}",
		 REFUSED},
		{"Blade",
		 "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 2400},"
		 "{'Name': 'Blade Power Control', 'PowerConsumedWatts': 0}",
		 REFUSED},
		{"Blade", "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 210}", 210000},
		{"Blade",
		 "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 210},"
		 "{'Name': 'CPU Power', 'PowerConsumedWatts': 90}",
		 210000},
		{"RackMount",
		 "{'Name': 'Chassis Power Control', 'PowerConsumedWatts': 2400},"
		 "{'Name': 'Blade Power Control', 'PowerConsumedWatts': 210}",
		 REFUSED},
		{"Other",
		 "{'Name': 'Chassis', 'PowerConsumedWatts': 2400},"
		 "{'Name': 'Node', 'PowerConsumedWatts': 210}",
		 REFUSED},
		{"RackMount",
		 "{'Name': 'Chassis', 'PowerConsumedWatts': 240},"
		 "{'Name': 'Rear', 'PowerConsumedWatts': 210}",
		 240000},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct meter_redfish_watts watts = watts_in(cases[i].type, cases[i].entries);

		g_assert_cmpint(watts.mw, ==, cases[i].mw);
		g_assert_cmpint(watts.several, ==, cases[i].mw == REFUSED);
	}
}

static void test_vendors_places_and_means(void)
{
	static const struct {
		const char *power;
		int64_t mw;
		double mean_s;
	} cases[] = {
		{"{'Oem': {'ts_fujitsu': {'ChassisPowerConsumption': "
		 "{'CurrentPowerConsumptionW': 150}}}}",
		 150000, 0},
		{"{'Oem': {'ts_fujitsu': {'ChassisPowerConsumption': "
		 "{'CurrentPowerConsumptionW': 65535}}}}",
		 REFUSED, 0},
		{"{'PowerControl': [{'PowerMetrics': {'IntervalInMin': 5, "
		 "'AverageConsumedWatts': 80}}]}",
		 80000, 300},
		{"{'PowerControl': [{'PowerMetrics': {'IntervalInMin': 0, "
		 "'AverageConsumedWatts': 80}}]}",
		 80000, UNKNOWN_S},
		{"{'PowerControl': [{'PowerMetrics': {'AverageConsumedWatts': 80}}]}", 80000,
		 UNKNOWN_S},
		{"{'PowerControl': [{'PowerConsumedWatts': 90, 'PowerMetrics': "
		 "{'IntervalInMin': 5, 'AverageConsumedWatts': 80}}]}",
		 90000, 0},
		{"{'PowerControl': [{'PowerConsumedWatts': null, 'PowerMetrics': "
		 "{'IntervalInMin': 5, 'AverageConsumedWatts': 80}}]}",
		 REFUSED, 0},
		/* Watts of another place, or of what is no part of the whole. */
		{"{'PowerWatts': {'Reading': 61}}", REFUSED, 0},
		{"{'PowerSupplies': [{'PowerInputWatts': 61}]}", REFUSED, 0},
		{"[]", REFUSED, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) power = parse(cases[i].power);
		const struct meter_redfish_chassis machine = {.path = (char *)""};
		struct meter_redfish_entry entry = {.index = -1};
		const struct meter_redfish_watts watts =
			meter_redfish_parse_power(power, &machine, &entry);

		g_test_message("%s", cases[i].power);
		g_assert_cmpint(watts.mw, ==, cases[i].mw);
		g_assert_cmpfloat_with_epsilon(watts.of_unknown ? UNKNOWN_S : watts.mean_s,
					       cases[i].mean_s, 1e-9);
		meter_redfish_entry_clear(&entry);
	}
}

static void test_readings_are_in_watts(void)
{
	static const struct {
		const char *text;
		enum power_meter_error code;
		int64_t mw;
	} cases[] = {
		{"{'PowerWatts': {'Reading': 61.5}}", POWER_METER_OK, 61500},
		{"{'PowerWatts': {'Reading': null}}", POWER_METER_ERROR_NOT_ACTIVE, REFUSED},
		{"{'PowerWatts': {}}", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'PowerWatts': [61]}", POWER_METER_ERROR_SETUP, REFUSED},
		{"{'PowerWatts': {'Reading': []}}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'Reading': 374, 'ReadingUnits': 'W', 'ReadingType': 'Power'}", POWER_METER_OK,
		 374000},
		{"{'Reading': 374, 'ReadingUnits': 'Cel'}", POWER_METER_ERROR_GARBAGE, REFUSED},
		{"{'InputPowerWatts': {'Reading': 120}, 'OutputPowerWatts': {'Reading': 110}}",
		 POWER_METER_OK, 120000},
		{"[]", POWER_METER_ERROR_GARBAGE, REFUSED},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) value = parse(cases[i].text);
		const struct meter_redfish_watts watts = meter_redfish_parse_reading(value);

		g_test_message("%s", cases[i].text);
		g_assert_cmpint(watts.code, ==, cases[i].code);
		g_assert_cmpint(watts.mw, ==, cases[i].mw);
	}
	g_assert_cmpint(meter_redfish_parse_reading(NULL).code, ==, POWER_METER_ERROR_GARBAGE);
}

static void test_supplies_are_added_or_none_is(void)
{
	static const struct {
		const char *power;
		const char *name;
		int64_t mw;
	} cases[] = {
		{"{'PowerSupplies': [{'PowerInputWatts': 131}, {'PowerInputWatts': 120}]}",
		 "PowerSupplies", 251000},
		{"{'PowerSupplies': [{'Oem': {'Huawei': {'PowerInputWatts': 120}}},"
		 "{'Oem': {'Huawei': {'PowerInputWatts': 118}}}]}",
		 "PowerSupplies", 238000},
		{"{'PowerSupplies': [{'PowerInputWatts': 131}, {'PowerInputWatts': null}]}",
		 "PowerSupplies", REFUSED},
		{"{'PowerSupplies': [{'PowerInputWatts': 131}, {}]}", "PowerSupplies", REFUSED},
		{"{'PowerSupplies': [{'PowerInputWatts': 131},"
		 "{'Status': {'State': 'Absent'}, 'PowerInputWatts': null}]}",
		 "PowerSupplies", 131000},
		{"{'PowerSupplies': []}", "PowerSupplies", REFUSED},
		{"{}", "PowerSupplies", REFUSED},
		{"{'PowerSupplies': [{'Name': 'PS1', 'PowerInputWatts': 131},"
		 "{'Name': 'PS2', 'PowerInputWatts': 120}]}",
		 "PS2", 120000},
		{"{'PowerSupplies': [{'Name': 'PS', 'PowerInputWatts': 131},"
		 "{'Name': 'PS', 'PowerInputWatts': 120}]}",
		 "PS", REFUSED},
		{"{'PowerControl': [{'MemberId': '7', 'PowerConsumedWatts': 9}]}", "7", 9000},
		{"{'PowerControl': [{'MemberId': '7', 'PowerConsumedWatts': 9}]}", "8", REFUSED},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) power = parse(cases[i].power);
		const struct meter_redfish_watts watts =
			meter_redfish_parse_named(power, cases[i].name);

		g_test_message("%s", cases[i].power);
		g_assert_cmpint(watts.mw, ==, cases[i].mw);
		g_assert_true((watts.code == POWER_METER_OK) == (cases[i].mw >= 0));
	}
}

/* A chassis in short: "ID TYPE LINKED", with "-" for no type. */
static void add_chassis(GPtrArray *all, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, " ", -1);
	g_autofree char *path = g_strconcat("/redfish/v1/Chassis/", parts[0], NULL);
	g_autofree char *type =
		strcmp(parts[1], "-") == 0 ? g_strdup("null") : g_strdup_printf("'%s'", parts[1]);
	g_autofree char *json =
		g_strdup_printf("{'ChassisType': %s, 'Links': {'ComputerSystems': [%s]}}", type,
				strcmp(parts[2], "linked") == 0
					? "{'@odata.id': '/redfish/v1/Systems/1'}"
					: "");
	g_autoptr(json_t) body = parse(json);

	g_ptr_array_add(all, meter_redfish_chassis_new(body, path));
}

static void test_the_chassis_is_the_machine(void)
{
	static const struct {
		const char *chassis[5];
		const char *chosen; /* as a list */
	} cases[] = {
		{{"1 RackMount linked"}, "1 (RackMount)"},
		{{"1 - unlinked"}, "1"},
		{{"1 Enclosure unlinked"}, "1 (Enclosure)"},
		{{"G Module linked", "1 RackMount linked"}, "1 (RackMount)"},
		{{"B Component linked", "G Module linked"}, ""},
		{{"E Enclosure linked", "1 Blade linked"}, "1 (Blade)"},
		{{"E Enclosure linked", "1 Blade unlinked"}, "1 (Blade)"},
		{{"E Enclosure unlinked", "1 Other linked"}, "1 (Other)"},
		{{"A RackMount unlinked", "1 RackMount linked"}, "1 (RackMount)"},
		{{"A Rack-Mount linked", "1 - unlinked"}, "A (Rack-Mount)"},
		{{"D StorageEnclosure linked", "1 Sled linked"}, "1 (Sled)"},
		{{"Z Zone linked", "C Card linked", "D IPBasedDrive linked"}, ""},
		/* What these leave open is not guessed. */
		{{"1 Blade linked", "2 Blade linked"}, "1 (Blade), 2 (Blade)"},
		{{"1 RackMount unlinked", "2 Other linked"}, "1 (RackMount), 2 (Other)"},
		{{"1 - unlinked", "2 - unlinked"}, "1, 2"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) all =
			g_ptr_array_new_with_free_func((GDestroyNotify)meter_redfish_chassis_free);
		g_autoptr(GPtrArray) chosen = NULL;
		g_autofree char *list = NULL;

		for (int k = 0; k < 5 && cases[i].chassis[k]; k++)
			add_chassis(all, cases[i].chassis[k]);
		chosen = meter_redfish_choose(all);
		list = meter_redfish_list(chosen);
		g_assert_cmpstr(list, ==, cases[i].chosen);
	}
}

static void test_an_idrac_says_watts_that_are_a_minute_old(void)
{
	g_autoptr(json_t) body = parse("{'Manufacturer': 'Dell Inc.', 'ChassisType': 'Blade'}");
	struct meter_redfish_chassis *chassis =
		meter_redfish_chassis_new(body, "/redfish/v1/Chassis/System.Embedded.1/");

	g_assert_cmpstr(chassis->id, ==, "System.Embedded.1");
	g_assert_cmpfloat_with_epsilon(chassis->mean_s, 60, 1e-9);
	meter_redfish_chassis_free(chassis);
	g_assert_null(meter_redfish_chassis_new(NULL, "/redfish/v1/Chassis/1"));
}

static void test_links_lead_nowhere_else(void)
{
	static const struct {
		const char *link;
		const char *path;
	} cases[] = {
		{"/redfish/v1/Chassis/1/Power", "/redfish/v1/Chassis/1/Power"},
		{"/redfish/v1/P.1/Power?x=1", "/redfish/v1/P.1/Power?x=1"},
		{"@evil.example/redfish/v1", NULL}, /* would become user@evil.example */
		{"//evil.example/redfish/v1", NULL},
		{".evil.example/", NULL},
		/* Its path alone counts. */
		{"https://evil.example/redfish/v1/", "/redfish/v1/"},
		{"https://evil.example", NULL},
		{"https://evil.example/other/v1", NULL},
		/* Blanks are sent as what stands for them. */
		{"/redfish/v1/a b", "/redfish/v1/a%20b"},
		{"/redfish/v1/\xc3\xa4%20", "/redfish/v1/%C3%A4%20"},
		{"/redfish/v1/a\\r\\nX: y", NULL},
		{"/redfish/v1/Power#/PowerControl/0", NULL},
		{"/other/v1", NULL},
		{"", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("{'Power': {'@odata.id': '%s'}}", cases[i].link);
		g_autoptr(json_t) body = parse(text);
		struct meter_redfish_chassis *chassis =
			meter_redfish_chassis_new(body, "/redfish/x");

		g_test_message("%s", text);
		g_assert_cmpstr(chassis->power, ==, cases[i].path);
		g_assert_null(chassis->environment);
		meter_redfish_chassis_free(chassis);
	}
}

static void test_redirections_stay_in_the_service(void)
{
	static const struct {
		const char *location;
		const char *path;
	} cases[] = {
		{"/redfish/v1/Chassis/", "/redfish/v1/Chassis/"},
		{"https://bmc:8443/redfish/v1/Chassis/?a=b", "/redfish/v1/Chassis/?a=b"},
		{"https://BMC:8443/redfish/v1/Chassis/", "/redfish/v1/Chassis/"},
		{"Chassis/", "/redfish/v1/Chassis/"},
		{"https://bmc/redfish/v1/Chassis/", NULL}, /* another port */
		{"http://bmc:8443/redfish/v1/Chassis/", NULL},
		{"https://evil.example:8443/redfish/v1/Chassis/", NULL},
		{"https://user@bmc:8443/redfish/v1/Chassis/", NULL},
		{"//evil.example:8443/redfish/v1/Chassis/", NULL},
		{"/redfish/../login", NULL},
		{"/login", NULL},
		{"", "/redfish/v1/Chassis"},
		{NULL, NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path =
			meter_redfish_parse_redirection("https://bmc:8443", "/redfish/v1/Chassis",
							cases[i].location);

		g_test_message("%s", cases[i].location ? cases[i].location : "none");
		g_assert_cmpstr(path, ==, cases[i].path);
	}
}

static void test_members_are_listed(void)
{
	g_autoptr(json_t) good = parse("{'Members': [{'@odata.id': '/redfish/v1/Chassis/a'},"
				       "{'@odata.id': 7}, null,"
				       "{'@odata.id': '/redfish/v1/Chassis/b'}],"
				       "'Members@odata.nextLink': '/redfish/v1/Chassis?$skip=2'}");
	g_autoptr(json_t) empty = parse("{'Members': [], 'Members@odata.nextLink': ''}");
	g_autoptr(json_t) lost = parse("{'Members': [], 'Members@odata.nextLink': 'elsewhere'}");
	g_autoptr(json_t) none = parse("{'Members': {}}");
	g_autoptr(json_t) query = parse("{'Members': [], '@odata.nextLink': '?$skip=4'}");
	g_autoptr(json_t) part = parse("{'Members': [], '@odata.nextLink': '?$skip=4#a'}");
	const char *path = "/redfish/v1/Chassis?$skip=2";
	g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *next = NULL;
	g_autofree char *no_next = NULL;
	g_autofree char *query_next = NULL;

	g_assert_true(meter_redfish_parse_members(good, path, links, &next));
	g_assert_cmpuint(links->len, ==, 2);
	g_assert_cmpstr(links->pdata[1], ==, "/redfish/v1/Chassis/b");
	g_assert_cmpstr(next, ==, "/redfish/v1/Chassis?$skip=2");
	g_assert_true(meter_redfish_parse_members(empty, path, links, &no_next));
	g_assert_cmpuint(links->len, ==, 2);
	g_assert_null(no_next);
	g_assert_true(meter_redfish_parse_members(query, path, links, &query_next));
	g_assert_cmpstr(query_next, ==, "/redfish/v1/Chassis?$skip=4");
	g_assert_false(meter_redfish_parse_members(part, path, links, &no_next));
	g_assert_false(meter_redfish_parse_members(lost, path, links, &no_next));
	g_assert_false(meter_redfish_parse_members(none, path, links, &no_next));
	g_assert_false(meter_redfish_parse_members(NULL, path, links, &no_next));
}

static void test_systems_say_what_they_are_in(void)
{
	g_autoptr(json_t) system =
		parse("{'Links': {'Chassis': [7, {'@odata.id': '/redfish/v1/Chassis/1'}]}}");

	g_assert_true(meter_redfish_parse_holds(system, "/redfish/v1/Chassis/1/"));
	g_assert_false(meter_redfish_parse_holds(system, "/redfish/v1/Chassis/2"));
	g_assert_false(meter_redfish_parse_holds(NULL, "/redfish/v1/Chassis/2"));
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
	g_test_add_func("/redfish/parse/watts are those of the whole machine",
			test_watts_are_those_of_the_whole_machine);
	g_test_add_func("/redfish/parse/an entry that was found is kept",
			test_an_entry_that_was_found_is_kept);
	g_test_add_func("/redfish/parse/an entry that was found is followed",
			test_an_entry_that_was_found_is_followed);
	g_test_add_func("/redfish/parse/an enclosure is not taken for its blade",
			test_an_enclosure_is_not_taken_for_its_blade);
	g_test_add_func("/redfish/parse/vendors' places and means", test_vendors_places_and_means);
	g_test_add_func("/redfish/parse/readings are in watts", test_readings_are_in_watts);
	g_test_add_func("/redfish/parse/supplies are added, or none is",
			test_supplies_are_added_or_none_is);
	g_test_add_func("/redfish/parse/the chassis is the machine",
			test_the_chassis_is_the_machine);
	g_test_add_func("/redfish/parse/an iDRAC says watts that are a minute old",
			test_an_idrac_says_watts_that_are_a_minute_old);
	g_test_add_func("/redfish/parse/links lead nowhere else", test_links_lead_nowhere_else);
	g_test_add_func("/redfish/parse/redirections stay in the service",
			test_redirections_stay_in_the_service);
	g_test_add_func("/redfish/parse/members are listed", test_members_are_listed);
	g_test_add_func("/redfish/parse/systems say what they are in",
			test_systems_say_what_they_are_in);
	g_test_add_func("/redfish/parse/locations are whole or paths",
			test_locations_are_whole_or_paths);
	return g_test_run();
}
