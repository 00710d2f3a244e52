/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readings of a power's meters are means over, now and earlier. */
#include "common/platform.h"
#include "local-sched/power/power.h"

/* What the readings are means over, in turn; that of the last repeats. */
static const struct {
	double mean_s;
	bool unknown;
} means[] = {{0, false}, {60, false}, {300, false}, {0, true}, {1, false}};

/* A meter of the test's own. */
struct turning_meter {
	struct power_meter base;
	guint *reads;
};

static gboolean on_answer(gpointer data)
{
	struct turning_meter *meter = data;
	const guint index = MIN(*meter->reads, (guint)G_N_ELEMENTS(means) - 1);

	++*meter->reads;
	meter->base.timer_id = 0;
	meter->base.mean_s = means[index].mean_s;
	meter->base.mean_unknown = means[index].unknown;
	power_meter_end(&meter->base, 245000);
	return G_SOURCE_REMOVE;
}

static void read_soon(struct power_meter *base)
{
	base->timer_id = platform_after_ms(base->platform, 0, on_answer, base);
}

static const struct power_meter_ops turning_ops = {.kind = CONFIG_METER_SIMULATED,
						   .read = read_soon};

static struct power_meter *open_turning(uint32_t host, void *data)
{
	struct turning_meter *meter = g_new0(struct turning_meter, 1);

	meter->base.platform = &platform_machine;
	meter->base.ops = &turning_ops;
	meter->reads = data;
	return &meter->base;
}

static void on_event(const char *host, enum power_event event, const char *text, int64_t t_ns,
		     void *data)
{
}

static void test_the_longest_mean_is_kept(void)
{
	const struct config_meter config = {.kind = CONFIG_METER_SIMULATED, .interval_s = 0.01};
	guint reads = 0;
	const struct power_host host = {.name = "h1",
					.meter = &config,
					.open = open_turning,
					.open_data = &reads};
	g_autoptr(GError) error = NULL;
	g_autoptr(power_t) power =
		power_new(&platform_machine, &host, 1, NULL, on_event, NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpfloat(power_mean_s(power), ==, 0);
	g_assert_false(power_mean_unknown(power));
	while (reads < G_N_ELEMENTS(means))
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpfloat(power_mean_s(power), ==, 300);
	g_assert_true(power_mean_unknown(power));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/power/the longest mean is kept", test_the_longest_mean_is_kept);
	return g_test_run();
}
