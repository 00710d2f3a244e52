/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The usage of 64 hosts, two tasks on each, over the hour for which a controller may be away. */
#include "common/platform.h"
#include "common/json.h"
#include "local-sched/core/host_usage.h"

#include <malloc.h>

#include "local-sched/cpu/cpu_account.h"
#include "local-sched/power/power.h"
#include "local-sched/power/sample_ring.h"
#include "tests/virtual/virtual_platform.h"

enum { HOSTS = 64, HOUR_S = 3600, BYTES_MAX = 64 << 20, MW = 200000 };

#define S INT64_C(1000000000)

/* A meter that always reads 200 W. */
static bool sample_watts(struct power_meter *meter, int64_t *ret_mw, GError **error)
{
	*ret_mw = MW;
	return true;
}

static const struct power_meter_ops steady_ops = {.kind = CONFIG_METER_SIMULATED,
						  .sample = sample_watts};

static struct power_meter *open_steady(uint32_t host, void *data)
{
	struct power_meter *meter = g_new0(struct power_meter, 1);

	meter->platform = data;
	meter->ops = &steady_ops;
	return meter;
}

static void on_event(const char *host, enum power_event event, const char *reason, int64_t t_ns,
		     void *data)
{
}

/* Answers at once: each of the host's two tasks used half a second. */
static void read_cpus(uint32_t host, executor_cpu_f done, void *done_data, void *data)
{
	struct cpu_account *account = cpu_account_new();

	for (uint32_t i = 0; i < 2; i++) {
		g_autofree char *id = g_strdup_printf("experiment-17.%u.%u-1", host, i);

		cpu_account_note(account, id, (uint64_t)S / 2);
	}
	done(cpu_account_take(account), 0, done_data);
	cpu_account_free(account);
}

static size_t used_bytes(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Fetches all intervals as a controller does that comes back. Returns how many there are. */
static guint fetch(struct host_usage *usage, int64_t *ret_cpu_ns, int64_t *ret_uj)
{
	uint64_t after = 0;
	guint count = 0;

	for (;;) {
		json_t *answer = host_usage_json(usage, after);
		json_t *interval, *time;
		const char *id;
		size_t i;

		if (json_array_size(json_object_get(answer, "intervals")) == 0) {
			json_decref(answer);
			return count;
		}
		json_array_foreach (json_object_get(answer, "intervals"), i, interval) {
			after = (uint64_t)json_integer_value(json_object_get(interval, "seq"));
			*ret_uj += json_integer_value(json_object_get(interval, "to_uj")) -
				   json_integer_value(json_object_get(interval, "from_uj"));
			json_object_foreach (json_object_get(interval, "tasks"), id, time)
				*ret_cpu_ns += json_integer_value(time);
			count++;
		}
		json_decref(answer);
	}
}

/*
 * Fetches all samples as a controller does that comes back: none is missing, of any host, and each
 * one is a second after the one before.
 */
static void assert_samples(const struct power *power)
{
	int64_t count[HOSTS] = {0}, last_ns[HOSTS] = {0}, after = 0, wanted = 1;

	for (;;) {
		g_autoptr(json_t) answer = power_samples_json(power, (uint64_t)after);
		json_t *samples = json_object_get(answer, "samples");
		json_t *sample;
		size_t i;

		json_array_foreach (samples, i, sample) {
			const char *name = json_string_value(json_object_get(sample, "host"));
			const int64_t t_ns = json_integer_value(json_object_get(sample, "t_ns"));
			const gsize host = (gsize)g_ascii_strtoull(name + 1, NULL, 10);

			g_assert_cmpint(json_integer_value(json_object_get(sample, "seq")), ==,
					wanted++);
			g_assert_cmpint(json_integer_value(json_object_get(sample, "energy_uj")),
					==, count[host] * MW * 1000);
			g_assert_true(count[host] == 0 || t_ns - last_ns[host] == S);
			g_assert_false(json_is_true(json_object_get(sample, "gap")));
			last_ns[host] = t_ns;
			count[host]++;
		}
		if (json_array_size(samples) == 0)
			break;
		after = json_integer_value(json_object_get(answer, "last"));
	}
	for (gsize i = 0; i < HOSTS; i++)
		g_assert_cmpint(count[i], ==, HOUR_S + 1);
}

/* The intervals are taken from the samples as they come. */
static void on_sample(uint32_t index, const struct sample_ring_entry *sample, void *data)
{
	host_usage_sampled(data, index, sample);
}

/* By the samplers themselves, under virtual time; what is counted is all that is allocated. */
static void test_an_hour_of_64_hosts_is_kept_in_64_mib(void)
{
	g_autoptr(virtual_platform_t) virtual = virtual_platform_new(1);
	const struct platform *platform = virtual_platform_of(virtual);
	const size_t before = used_bytes();
	struct config_meter meter = {.kind = CONFIG_METER_SIMULATED, .interval_s = 1};
	struct config_host config_hosts[HOSTS] = {0};
	struct config_cluster cluster = {.hosts = config_hosts, .hosts_count = HOSTS};
	struct power_host hosts[HOSTS];
	char *names[HOSTS];
	g_autoptr(GError) error = NULL;
	struct host_usage *usage;
	struct power *power;
	int64_t cpu_ns = 0, uj = 0;

	for (uint32_t i = 0; i < HOSTS; i++) {
		names[i] = g_strdup_printf("h%u", i);
		config_hosts[i].name = names[i];
		hosts[i] = (struct power_host){.name = names[i],
					       .meter = &meter,
					       .open = open_steady,
					       .open_data = (void *)platform};
	}
	power = power_new(platform, hosts, HOSTS, NULL, on_event, NULL, &error);
	g_assert_no_error(error);
	usage = host_usage_new(&cluster, power, read_cpus, NULL);
	power_watch(power, on_sample, usage);
	json_decref(host_usage_json(usage, 0));
	while (virtual_platform_s(virtual) < HOUR_S + 0.5)
		g_main_context_iteration(NULL, TRUE);
	g_test_message("%zu KiB", (used_bytes() - before) / 1024);
	g_assert_cmpuint(used_bytes() - before, <, BYTES_MAX);
	assert_samples(power);
	g_assert_cmpuint(fetch(usage, &cpu_ns, &uj), ==, HOSTS * HOUR_S);
	g_assert_cmpint(uj, ==, (int64_t)HOSTS * HOUR_S * MW * 1000);
	g_assert_cmpint(cpu_ns, ==, (int64_t)HOSTS * HOUR_S * S);
	host_usage_free(usage);
	power_free(power);
	for (uint32_t i = 0; i < HOSTS; i++)
		g_free(names[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host usage/an hour of 64 hosts is kept in 64 MiB",
			test_an_hour_of_64_hosts_is_kept_in_64_mib);
	return g_test_run();
}
