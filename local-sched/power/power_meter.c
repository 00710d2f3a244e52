/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power_meter.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/platform.h"
#include "common/read_file.h"
#include "common/visible.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/* Bytes of an error's text: what a device says in it is not bounded. */
enum { MESSAGE_MAX = 1 << 10 };

G_DEFINE_QUARK(virtbed_power_meter, power_meter_error)

/*
 * A new kind of meter is one file, one line here, one in the header and one in the configuration's
 * schema.
 */
static const struct power_meter_ops *const drivers[] = {
	&meter_ipmi_ops,  &meter_redfish_ops, &meter_amm_ops,  &meter_rapl_ops, &meter_acpi_ops,
	&meter_hwmon_ops, &meter_command_ops, &meter_snmp_ops, &meter_http_ops, &meter_model_ops,
};

struct power_meter *power_meter_open(const struct platform *platform,
				     const struct config_meter *config, const char *host,
				     struct meter_set *set, GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(drivers); i++) {
		struct power_meter *meter;

		if (drivers[i]->kind != config->kind)
			continue;
		meter = g_malloc0(drivers[i]->size);
		*meter = (struct power_meter){.platform = platform,
					      .ops = drivers[i],
					      .config = config,
					      .host = host,
					      .set = set};
		if (!meter->ops->open || meter->ops->open(meter, error))
			return meter;
		power_meter_close(meter);
		return NULL;
	}
	return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			  "host \"%s\": no driver for meters of kind %s", host,
			  config_meter_kind_name(config->kind));
}

char *power_meter_password(const struct config_meter *config, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = NULL;

	if (!config->password_file)
		return g_strdup("");
	text = read_file(config->password_file, READ_FILE_SMALL_MAX, NULL, &reason);
	if (!text)
		return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				  "no password: %s", reason->message);
	text[strcspn(text, "\r\n")] = '\0';
	return g_steal_pointer(&text);
}

static void set_error_v(const struct power_meter *meter, GError **error,
			enum power_meter_error code, const char *format, va_list arguments)
{
	g_autofree char *raw = g_strdup_vprintf(format, arguments);
	g_autofree char *text = visible_start(raw, MESSAGE_MAX);

	g_set_error(error, POWER_METER_ERROR, (int)code, "host \"%s\": %s", meter->host, text);
}

bool power_meter_set_error(const struct power_meter *meter, GError **error,
			   enum power_meter_error code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	set_error_v(meter, error, code, format, arguments);
	va_end(arguments);
	return false;
}

static void report_place(struct power_meter *meter, bool lost, const char *format,
			 va_list arguments)
{
	g_autofree char *raw = g_strdup_vprintf(format, arguments);
	g_autofree char *text = visible_start(raw, MESSAGE_MAX);
	const bool news = lost || meter->place_lost;

	if (lost)
		log_warning_of(LOG_HOST(meter->host), "the place of its watts is gone: %s", text);
	else
		log_info_of(LOG_HOST(meter->host), "its watts are in %s", text);
	meter->place_lost = lost;
	if (news && meter->on_place)
		meter->on_place(lost, text, meter->place_data);
}

void power_meter_lose_place(struct power_meter *meter, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_place(meter, true, format, arguments);
	va_end(arguments);
}

void power_meter_find_place(struct power_meter *meter, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_place(meter, false, format, arguments);
	va_end(arguments);
}

void power_meter_watch(struct power_meter *meter, power_meter_place_f on_place, void *data)
{
	meter->on_place = on_place;
	meter->place_data = data;
}

/* Forgets the timer and the failure of the read under way. */
static void clear_read(struct power_meter *meter)
{
	g_clear_handle_id(&meter->timer_id, g_source_remove);
	g_clear_error(&meter->failure);
}

void power_meter_end(struct power_meter *meter, int64_t mw)
{
	power_meter_end_with(meter, &(const struct power_reading){
					    .mw = mw, .t_ns = platform_now_ns(meter->platform)});
}

void power_meter_end_with(struct power_meter *meter, const struct power_reading *reading)
{
	clear_read(meter);
	meter->done(reading, NULL, meter->data);
}

static gboolean on_failure(gpointer data)
{
	struct power_meter *meter = data;
	g_autoptr(GError) error = g_steal_pointer(&meter->failure);

	meter->timer_id = 0;
	meter->done(NULL, error, meter->data);
	return G_SOURCE_REMOVE;
}

void power_meter_fail(struct power_meter *meter, enum power_meter_error code, const char *format,
		      ...)
{
	va_list arguments;

	clear_read(meter);
	va_start(arguments, format);
	set_error_v(meter, &meter->failure, code, format, arguments);
	va_end(arguments);
	meter->timer_id = platform_after_ms(meter->platform, 0, on_failure, meter);
}

static gboolean on_second_sample(gpointer data);

static void take_sample(struct power_meter *meter, bool is_first)
{
	int64_t mw = -1;

	meter->timer_id = 0;
	if (!meter->ops->sample(meter, &mw, &meter->failure))
		on_failure(meter);
	else if (mw >= 0)
		power_meter_end(meter, mw);
	else if (is_first)
		meter->timer_id = platform_after_ms(meter->platform, POWER_METER_FIRST_MS,
						    on_second_sample, meter);
	else
		power_meter_fail(meter, POWER_METER_ERROR_GARBAGE,
				 "its counter cannot be compared with itself %d ms before",
				 POWER_METER_FIRST_MS);
}

static gboolean on_first_sample(gpointer data)
{
	take_sample(data, true);
	return G_SOURCE_REMOVE;
}

static gboolean on_second_sample(gpointer data)
{
	take_sample(data, false);
	return G_SOURCE_REMOVE;
}

void power_meter_read(struct power_meter *meter, power_meter_done_f done, void *data)
{
	/* A simulated meter has no configuration. */
	const double given_s = meter->config ? meter->config->timeout_s : 0;
	const double timeout_s = given_s > 0 ? given_s : POWER_METER_DEADLINE_S;

	meter->done = done;
	meter->data = data;
	meter->deadline_ns = platform_now_ns(meter->platform) + (int64_t)(timeout_s * 1e9);
	if (meter->ops->sample)
		meter->timer_id = platform_after_ms(meter->platform, 0, on_first_sample, meter);
	else
		meter->ops->read(meter);
}

char *power_meter_progress(const struct power_meter *meter)
{
	g_autofree char *text = meter->ops->progress ? meter->ops->progress(meter) : NULL;

	return text ? g_strdup_printf("host \"%s\": %s", meter->host, text) : NULL;
}

const char *power_meter_source(const struct power_meter *meter)
{
	return meter->ops->source ? meter->ops->source(meter)
				  : config_meter_kind_name(meter->ops->kind);
}

double power_meter_mean_s(const struct power_meter *meter)
{
	const double given_s = meter->config ? meter->config->mean_s : 0;

	return MAX(meter->mean_s, given_s);
}

bool power_meter_mean_unknown(const struct power_meter *meter)
{
	return meter->mean_unknown && !(meter->config && meter->config->mean_s > 0);
}

void power_meter_close(struct power_meter *meter)
{
	if (!meter)
		return;
	clear_read(meter);
	if (meter->ops->close)
		meter->ops->close(meter);
	g_free(meter);
}
