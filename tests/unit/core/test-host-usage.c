/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The usage of 64 hosts, two tasks on each, over the hour for which a controller may be away. */
#include "common/platform.h"
#include "local-sched/core/host_usage.h"

#include <malloc.h>

#include "local-sched/cpu/cpu_account.h"

enum { HOSTS = 64, HOUR_S = 3600, BYTES_MAX = 64 << 20 };

#define S INT64_C(1000000000)

/* A meter that the test reads itself. */
static void read_never(struct power_meter *meter)
{
}

static const struct power_meter_ops silent_ops = {.kind = CONFIG_METER_SIMULATED,
						  .read = read_never};

static struct power_meter *open_silent(uint32_t host, void *data)
{
	struct power_meter *meter = g_new0(struct power_meter, 1);

	meter->platform = &platform_machine;
	meter->ops = &silent_ops;
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

static void test_an_hour_of_64_hosts_is_kept_in_64_mib(void)
{
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
	uint64_t seq = 0;

	for (uint32_t i = 0; i < HOSTS; i++) {
		names[i] = g_strdup_printf("h%u", i);
		config_hosts[i].name = names[i];
		hosts[i] =
			(struct power_host){.name = names[i], .meter = &meter, .open = open_silent};
	}
	power = power_new(&platform_machine, hosts, HOSTS, NULL, on_event, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(power_samples_kept(power), >, HOSTS * HOUR_S);
	usage = host_usage_new(&cluster, power, read_cpus, NULL);
	json_decref(host_usage_json(usage, 0));
	for (int64_t second = 0; second <= HOUR_S; second++) {
		for (uint32_t i = 0; i < HOSTS; i++) {
			const struct sample_ring_entry sample = {.seq = ++seq,
								 .host = i,
								 .t_ns = second * S,
								 .mw = 200000,
								 .energy_uj = (uint64_t)second *
									      200000000};

			host_usage_sampled(usage, i, &sample);
		}
	}
	g_test_message("%zu KiB", (used_bytes() - before) / 1024);
	g_assert_cmpuint(used_bytes() - before, <, BYTES_MAX);
	g_assert_cmpuint(fetch(usage, &cpu_ns, &uj), ==, HOSTS * HOUR_S);
	g_assert_cmpint(uj, ==, (int64_t)HOSTS * HOUR_S * 200000000);
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
