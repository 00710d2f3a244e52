/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ipmitool prints, and sensor records of a BMC. */
#include <math.h>

#include "local-sched/power/ipmi_sdr.h"
#include "local-sched/power/meter_ipmi_parse.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text)
{
	g_autofree char *gist = meter_ipmi_parse_gist(text);
	struct ipmi_dcmi dcmi = {.mw = -1};
	struct ipmi_answer answer;
	uint8_t raw;

	fuzz_check(meter_ipmi_parse_raw(text, &answer) <= POWER_METER_ERROR_SETUP);
	fuzz_check(answer.size <= IPMI_ANSWER_MAX);
	if (meter_ipmi_parse_dcmi(&answer, &dcmi) == POWER_METER_OK)
		fuzz_check(dcmi.mw >= 0 && dcmi.mw < 65535000);
	else
		fuzz_check(dcmi.mw == -1);
	meter_ipmi_parse_sensor(&answer, &raw);
	fuzz_check(g_utf8_validate(gist, -1, NULL) && g_utf8_strlen(gist, -1) <= 120);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	struct ipmi_sensor sensor;

	check_text(text);
	if (ipmi_sdr_parse(data, size, &sensor)) {
		fuzz_check(g_utf8_validate(sensor.name, -1, NULL));
		fuzz_check(!isinf(ipmi_sdr_watts(&sensor.factors, data[0])));
	}
	return 0;
}
