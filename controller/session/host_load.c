/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/host_load.h"

#include <glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/platform.h"
#include "common/read_number.h"

/* proc(5): user nice system idle iowait irq softirq steal; guest time is part of user. */
bool host_load_read(const struct platform *platform, const char *path, struct host_load *ret_load)
{
	g_autofree char *text = NULL;
	const char *at;
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
	uint64_t ticks[FIELDS];
	double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);

	if (!g_file_get_contents(path ?: "/proc/stat", &text, NULL, NULL) ||
	    !g_str_has_prefix(text, "cpu "))
		return false;
	at = text + strlen("cpu ");
	for (int i = 0; i < FIELDS; i++) {
		at = read_number_front_unsigned(at + strspn(at, " "), &ticks[i]);
		if (!at || *at == '\0' || !strchr(" \n", *at))
			return false;
	}
	ret_load->busy_s =
		(double)(ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) *
		tick_s;
	ret_load->steal_s = (double)ticks[STEAL] * tick_s;
	ret_load->at_s = (double)platform_now_ns(platform) * 1e-9;
	return true;
}

double host_load_cores(const struct host_load *from, const struct host_load *to)
{
	double dt_s = to->at_s - from->at_s;

	return dt_s > 0 ? (to->busy_s - from->busy_s) / dt_s : (double)NAN;
}
