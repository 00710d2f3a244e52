/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A module for OpenIPMI's ipmi_sim that adds what the stock BMC lacks: the DCMI command Get Power
 * Reading (DCMI 1.5, section 6.6.1, Table 6-16), and a power sensor that follows the same watts
 * file. Loaded by
 *
 *     loadlib "dcmi_module.so" "KIND MAX_AGE_S WATTS_FILE"
 *
 * where KIND is "dcmi", or "sensor" for a BMC without DCMI, which answers c1h.
 *
 * A watts file that is missing, invalid or older than MAX_AGE_S stands for a lost sensor: DCMI
 * answers cbh, and the sensor reports that it is not scanning. (A sensor that ipmi_sim itself polls
 * from a file would keep its last value without end.)
 */
#include <OpenIPMI/mcserv.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "local-sched/lab/bmc/dcmi_module.h"
#include "local-sched/lab/bmc/watts.h"

enum {
	DCMI_GROUP = 0xdc,
	GET_POWER_READING = 0x02,
	MODE_STATISTICS = 0x01, /* system power statistics, since the controller started */
	STATE_ACTIVE = 0x40,
	READING_LENGTH = 19, /* of an answer, completion code included */
	CC_INVALID_LENGTH = 0xc7,
	CC_NOT_FOUND = 0xcb, /* requested sensor, data, or record not found */
	CC_INVALID_FIELD = 0xcc,
	TICK_MS = 100,
	SENSOR_LUN = 0,
};

/* The module's state: one per BMC. */
struct dcmi {
	sys_data_t *sys;
	ipmi_timer_t *timer;
	const char *watts_file;
	double max_age_s;
	struct timeval started;
	uint32_t min_w, max_w;
	uint64_t sum_w, count; /* over the ticks */
	int sensor_enabled;    /* as last set; -1: never */
	int sensor_raw;
};

int ipmi_sim_module_print_version(sys_data_t *sys, char *options);
int ipmi_sim_module_init(sys_data_t *sys, const char *options);

/* Splits the options that bmc.c writes. Returns the file's name, or NULL. */
static const char *parse_options(const char *options, int *ret_dcmi, double *ret_max_age_s)
{
	char kind[8];
	int end = 0;

	if (sscanf(options, "%7s %lf %n", kind, ret_max_age_s, &end) < 2 || !end || !options[end])
		return NULL;
	*ret_dcmi = strcmp(kind, "dcmi") == 0;
	return *ret_dcmi || strcmp(kind, "sensor") == 0 ? options + end : NULL;
}

static uint32_t rounded_watts(uint32_t mw)
{
	return (mw + 500) / 1000;
}

/* Appends `bytes` bytes of `value`, least significant first. */
static void put_number(unsigned char *answer, unsigned int *length, uint32_t value, int bytes)
{
	for (; bytes > 0; bytes--, value >>= 8)
		answer[(*length)++] = (unsigned char)value;
}

static void put_power_reading(const struct dcmi *dcmi, uint32_t watts, unsigned char *answer,
			      unsigned int *length)
{
	struct timeval mono, wall;
	const uint64_t average = dcmi->count ? dcmi->sum_w / dcmi->count : watts;

	dcmi->sys->get_monotonic_time(dcmi->sys, &mono);
	dcmi->sys->get_real_time(dcmi->sys, &wall);
	*length = 0;
	put_number(answer, length, 0, 1);
	put_number(answer, length, DCMI_GROUP, 1);
	put_number(answer, length, watts, 2);
	put_number(answer, length, watts < dcmi->min_w ? watts : dcmi->min_w, 2);
	put_number(answer, length, watts > dcmi->max_w ? watts : dcmi->max_w, 2);
	put_number(answer, length, (uint32_t)average, 2);
	put_number(answer, length, (uint32_t)wall.tv_sec, 4);
	put_number(answer, length, (uint32_t)(mono.tv_sec - dcmi->started.tv_sec) * 1000, 4);
	put_number(answer, length, STATE_ACTIVE, 1);
}

static void handle_dcmi(lmc_data_t *mc, msg_t *message, unsigned char *answer, unsigned int *length,
			void *data)
{
	const struct dcmi *dcmi = data;
	uint32_t mw;

	if (message->cmd != GET_POWER_READING) {
		handle_invalid_cmd(mc, answer, length);
		return;
	}
	*length = 1;
	if (message->len < 4)
		answer[0] = CC_INVALID_LENGTH;
	else if (message->data[1] != MODE_STATISTICS)
		answer[0] = CC_INVALID_FIELD;
	else if (!watts_read(dcmi->watts_file, dcmi->max_age_s, &mw))
		answer[0] = CC_NOT_FOUND;
	else
		put_power_reading(dcmi, rounded_watts(mw), answer, length);
}

/* Sets the 8-bit sensor to `mw`, or to having no reading. */
static void set_sensor(struct dcmi *dcmi, lmc_data_t *mc, int enabled, uint32_t mw)
{
	const uint32_t step_mw = DCMI_MODULE_SENSOR_STEP_W * 1000;
	uint32_t raw = (mw + step_mw / 2) / step_mw;

	if (raw > 255)
		raw = 255; /* saturates, as real ones do */
	if (enabled != dcmi->sensor_enabled) {
		ipmi_mc_sensor_set_enabled(mc, SENSOR_LUN, DCMI_MODULE_SENSOR_NUMBER,
					   (unsigned char)enabled);
		dcmi->sensor_enabled = enabled;
	}
	if (enabled && (int)raw != dcmi->sensor_raw) {
		ipmi_mc_sensor_set_value(mc, SENSOR_LUN, DCMI_MODULE_SENSOR_NUMBER,
					 (unsigned char)raw, 0);
		dcmi->sensor_raw = (int)raw;
	}
}

static void on_tick(void *data)
{
	struct dcmi *dcmi = data;
	struct timeval again = {.tv_usec = TICK_MS * 1000};
	lmc_data_t *mc = dcmi->sys->ipmb_addrs[DCMI_MODULE_MC_ADDRESS];
	uint32_t mw = 0;
	const int enabled = watts_read(dcmi->watts_file, dcmi->max_age_s, &mw);
	const uint32_t watts = rounded_watts(mw);

	if (enabled) {
		dcmi->min_w = watts < dcmi->min_w ? watts : dcmi->min_w;
		dcmi->max_w = watts > dcmi->max_w ? watts : dcmi->max_w;
		dcmi->sum_w += watts;
		dcmi->count++;
	}
	if (mc)
		set_sensor(dcmi, mc, enabled, mw);
	dcmi->sys->start_timer(dcmi->timer, &again);
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *options)
{
	printf("virtbed DCMI power reading\n");
	return 0;
}

/* ipmi_sim never unloads a module: the state is not freed. */
int ipmi_sim_module_init(sys_data_t *sys, const char *options)
{
	struct timeval first = {.tv_usec = TICK_MS * 1000};
	struct dcmi *dcmi = calloc(1, sizeof(*dcmi));
	const char *file;
	int with_dcmi;

	if (!dcmi)
		return ENOMEM;
	dcmi->sys = sys;
	dcmi->min_w = UINT16_MAX;
	dcmi->sensor_enabled = -1;
	dcmi->sensor_raw = -1;
	file = parse_options(options, &with_dcmi, &dcmi->max_age_s);
	if (!file) {
		free(dcmi);
		return EINVAL; /* ipmi_sim names the module and ends */
	}
	dcmi->watts_file = strdup(file);
	sys->get_monotonic_time(sys, &dcmi->started);
	if (sys->alloc_timer(sys, on_tick, dcmi, &dcmi->timer) != 0)
		return ENOMEM;
	sys->start_timer(dcmi->timer, &first);
	if (with_dcmi)
		ipmi_emu_register_group_extension_handler(DCMI_GROUP, handle_dcmi, dcmi);
	return 0;
}
