/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ipmitool prints. */
#include "local-sched/power/meter_ipmi_parse.h"
#include "tests/fuzz/fuzz.h"

static void check_reading(enum power_meter_error verdict, int64_t mw)
{
	fuzz_check(verdict <= POWER_METER_ERROR_SETUP);
	if (verdict == POWER_METER_OK)
		fuzz_check(mw >= 0 && mw < 65535000);
	else
		fuzz_check(mw == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	g_autofree char *gist = NULL;
	enum power_meter_error verdict;
	uint8_t number = 0;
	int64_t mw = -1;

	verdict = meter_ipmi_parse_dcmi(text, &mw);
	check_reading(verdict, mw);
	mw = -1;
	verdict = meter_ipmi_parse_sensor(text, "Pwr", &mw);
	check_reading(verdict, mw);
	meter_ipmi_parse_sensor_number(text, "Pwr", &number);
	meter_ipmi_parse_sensor_raw(text);
	gist = meter_ipmi_parse_gist(text);
	fuzz_check(g_utf8_validate(gist, -1, NULL) && g_utf8_strlen(gist, -1) <= 120);
	return 0;
}
