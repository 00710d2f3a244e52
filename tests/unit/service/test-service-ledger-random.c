/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random lives of a service with two hosts: samples and reports that come late and in any number,
 * hosts that are away, counters that begin again, records that are kept, controllers that end, die
 * and take over, and retention. After each event the sum of all energy that the ledger has, with
 * its provisional energy and what meters have counted since, changes by no more than what arrived.
 * At the end it is what a plain account of the reports has. Time stands still but for tick(), and
 * all numbers follow from a seed.
 */
#include "common/clock.h"
#include "common/random.h"
#include "tests/unit/service/ledger_bed.h"

#define SEEDS 40
#define STEPS 400
#define HOSTS 2
#define TASK "test-1-0-1"

/* What every host draws at least: 1 mW, so many microjoules in a second. */
#define IDLE_MW 1
#define IDLE_UJ 1000

/* Each interval, part and stored number may be rounded by a microjoule. */
#define ROUNDING_UJ 8
#define RETENTION_S 300

static int64_t fake_now_ns = 1000000 * S;

int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
	return fake_now_ns;
}

/* A host and its local scheduler, in the `life` that its counter has. */
struct host {
	uint32_t life;
	int64_t begin_s; /* the first sample of the life: the counter is 0 */
	GArray *at_uj;   /* int64_t: the counter at each second since then */
	/* of these samples, and of the seconds between them, so many were sent */
	guint samples, seconds;
	bool away;
	/* samples when the service was recorded last, and the life then */
	guint kept_samples;
	uint32_t kept_life;
};

struct world {
	struct bed bed;
	struct random_stream random;
	int64_t now_s;
	struct host hosts[HOSTS];
	double kept_uj; /* the sum when the service was recorded last */
	/* Dynamic energy of seconds: */
	int64_t served_uj; /* reported by the controller that served then */
	int64_t late_uj;   /* reported to a later one */
	int64_t lost_uj;   /* gone with a counter before it was reported */
};

static uint64_t below(struct world *world, uint64_t n)
{
	return random_stream_below(&world->random, n);
}

static struct remote_meter *meter_of(struct world *world, uint32_t h)
{
	return g_ptr_array_index(remote_fleet_meters(world->bed.session.fleet), h);
}

static struct host_account *account_of(struct world *world, uint32_t h)
{
	return ledger_account(world->bed.service.ledger, bed_host(h));
}

/* The sum that must not jump. */
static double sum_uj(struct world *world)
{
	return (double)ledger_dynamic_uj(world->bed.service.ledger) +
	       run_service_unreported_j(&world->bed.session) * 1e6;
}

static void assert_between(double uj, double least_uj, double most_uj)
{
	g_assert_cmpfloat(uj, >=, least_uj - ROUNDING_UJ);
	g_assert_cmpfloat(uj, <=, most_uj + ROUNDING_UJ);
}

static int64_t at_uj(const struct host *host, guint i)
{
	return g_array_index(host->at_uj, int64_t, i);
}

/* Of the second that ends with sample i. */
static int64_t dynamic_uj(const struct host *host, guint i)
{
	return i > 0 ? at_uj(host, i) - at_uj(host, i - 1) - IDLE_UJ : 0;
}

static guint samples_of(const struct host *host)
{
	return host->at_uj->len;
}

/* What happens. */

static void tick(struct world *world)
{
	world->now_s++;
	fake_now_ns += S;
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *host = &world->hosts[h];
		const int64_t used_uj = below(world, 3) ? (int64_t)below(world, 5000) : 0;
		int64_t uj = 0;

		if (world->now_s < host->begin_s)
			continue;
		if (world->now_s > host->begin_s)
			uj = at_uj(host, samples_of(host) - 1) + IDLE_UJ + used_uj;
		g_array_append_val(host->at_uj, uj);
	}
}

/* Its local scheduler loses its state, and is away for some seconds. */
static void reset(struct world *world, uint32_t h)
{
	struct host *host = &world->hosts[h];

	for (guint i = host->seconds + 1; i < samples_of(host); i++)
		world->lost_uj += dynamic_uj(host, i);
	host->life++;
	host->begin_s = world->now_s + 1 + (int64_t)below(world, 3);
	g_array_set_size(host->at_uj, 0);
	host->samples = host->seconds = 0;
}

static void send_samples(struct world *world, uint32_t h, guint count)
{
	struct host *host = &world->hosts[h];
	struct remote_meter *meter = meter_of(world, h);
	const double before_uj = sum_uj(world);
	double arrived_uj = 0;

	for (guint n = 0; n < count && host->samples < samples_of(host); n++) {
		const guint i = host->samples++;
		const struct wire_sample sample = {
			.t_ns = world->bed.session.t0_ns + (host->begin_s + i) * S,
			.mw = IDLE_MW,
			.energy_uj = at_uj(host, i),
		};

		if (i == 0)
			remote_meter_rebase(meter);
		g_assert_true(remote_meter_add(meter, &sample));
		arrived_uj += (double)dynamic_uj(host, i);
	}
	assert_between(sum_uj(world), before_uj, before_uj + arrived_uj);
}

static void send_seconds(struct world *world, uint32_t h, guint count)
{
	struct host *host = &world->hosts[h];
	g_autofree char *stream = g_strdup_printf("life-%u", host->life);
	const double before_uj = sum_uj(world);
	const double served_s = world->bed.service.served_s;
	double arrived_uj = 0;
	struct wire_usage_task task = {(char *)TASK, 50};
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

	for (guint n = 0; n < count && host->seconds + 1 < samples_of(host); n++) {
		const guint i = ++host->seconds;
		const int64_t to_s = host->begin_s + i;
		const struct wire_usage usage = {
			.seq = i,
			.host = bed_host(h),
			.counter = stream,
			.from_ns = world->bed.session.t0_ns + (to_s - 1) * S,
			.to_ns = world->bed.session.t0_ns + to_s * S,
			.length_ns = S,
			.from_uj = at_uj(host, i - 1),
			.to_uj = at_uj(host, i),
			.read = true,
			.tasks = &task,
			.tasks_count = 1,
		};

		g_ptr_array_add(list, g_memdup2(&usage, sizeof(usage)));
		arrived_uj += (double)dynamic_uj(host, i);
		if ((double)to_s > served_s)
			world->served_uj += dynamic_uj(host, i);
		else
			world->late_uj += dynamic_uj(host, i);
	}
	run_service_energy_take(h, stream, list, &world->bed.session);
	g_assert_false(world->bed.session.store_failed);
	assert_between(sum_uj(world), before_uj, before_uj + arrived_uj);
}

/* As once a minute. */
static void keep(struct world *world)
{
	struct run_service *service = &world->bed.service;
	g_autoptr(GError) error = NULL;

	service->row.t0_ns = world->bed.session.t0_ns;
	service->row.boot_id = clock_boot_id();
	g_assert_true(run_service_account_keep(service, &error));
	g_assert_no_error(error);
	g_clear_pointer(&service->row.boot_id, g_free);
	world->kept_uj = sum_uj(world);
	for (uint32_t h = 0; h < HOSTS; h++) {
		world->hosts[h].kept_samples = world->hosts[h].samples;
		world->hosts[h].kept_life = world->hosts[h].life;
	}
}

/* Asks local schedulers for what the store lacks; for samples only where a run continues. */
static void ask(struct world *world, bool go_on)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *host = &world->hosts[h];
		const struct host_account *account = account_of(world, h);
		g_autofree char *stream = g_strdup_printf("life-%u", host->life);

		host->seconds = g_strcmp0(account->meter->stream, stream) == 0
					? (guint)account->meter->seq
					: 0;
		if (!go_on)
			host->samples = samples_of(host);
		else
			host->samples = host->life == host->kept_life ? host->kept_samples : 0;
	}
}

static void open_again(struct world *world, bool go_on)
{
	struct bed *bed = &world->bed;
	g_autoptr(GError) error = NULL;

	bed->service.row.boot_id = clock_boot_id();
	bed->session.go_on = go_on;
	bed_open(bed);
	for (uint32_t h = 0; h < HOSTS; h++) {
		g_array_set_size(meter_of(world, h)->samples, 0);
		meter_of(world, h)->shift_uj = 0;
		meter_of(world, h)->rebase = false;
	}
	g_assert_true(run_service_account_resume(&bed->service, &error));
	g_assert_no_error(error);
	g_clear_pointer(&bed->service.row.boot_id, g_free);
	for (uint32_t h = 0; h < HOSTS; h++)
		meter_of(world, h)->idle_w = IDLE_MW * 1e-3;
	bed_begin(bed);
	ask(world, go_on);
}

/* The controller ends, or dies: then nothing of the time since keep() is known but reports. */
static void restart(struct world *world, bool dies)
{
	double before_uj;
	int64_t dynamic;

	if (!dies)
		keep(world);
	before_uj = sum_uj(world);
	dynamic = ledger_dynamic_uj(world->bed.service.ledger);
	bed_close(&world->bed);
	for (uint64_t i = below(world, 20); i > 0; i--)
		tick(world);
	open_again(world, false);
	g_assert_cmpint(ledger_dynamic_uj(world->bed.service.ledger), ==, dynamic);
	assert_between(sum_uj(world), fmax(world->kept_uj, (double)dynamic), before_uj);
}

/* It dies, and another one takes over at once, which reads the samples since keep() again. */
static void take_over(struct world *world)
{
	const double before_uj = sum_uj(world);

	bed_close(&world->bed);
	open_again(world, true);
	assert_between(sum_uj(world), world->kept_uj, before_uj);
	for (uint32_t h = 0; h < HOSTS; h++)
		if (!world->hosts[h].away)
			send_samples(world, h, G_MAXUINT);
}

static void prune(struct world *world)
{
	const double before_uj = sum_uj(world);
	g_autoptr(GError) error = NULL;
	bool more;

	g_assert_true(store_prune(world->bed.session.store, world->bed.service.row.run,
				  (double)(world->now_s - RETENTION_S), 100, &more, &error));
	g_assert_no_error(error);
	assert_between(sum_uj(world), before_uj, before_uj);
}

static void step(struct world *world)
{
	const uint32_t h = (uint32_t)below(world, HOSTS);
	struct host *host = &world->hosts[h];
	const double before_uj = sum_uj(world);
	const uint64_t event = below(world, 100);

	if (event < 40) {
		tick(world);
		assert_between(sum_uj(world), before_uj, before_uj);
	} else if (event < 60 && !host->away) {
		send_samples(world, h, 1 + (guint)below(world, 6));
	} else if (event < 80 && !host->away) {
		send_seconds(world, h, 1 + (guint)below(world, 6));
	} else if (event < 85) {
		host->away = !host->away;
	} else if (event < 88) {
		reset(world, h);
	} else if (event < 92) {
		keep(world);
	} else if (event < 96) {
		restart(world, event < 94);
	} else if (event < 98) {
		take_over(world);
	} else {
		prune(world);
	}
}

/* Checks. */

static double used_uj(struct world *world, double begin_s, bool of_store)
{
	const struct run_service *service = &world->bed.service;
	g_autoptr(GError) error = NULL;
	double used_j;

	if (of_store)
		run_service_used_since(service, begin_s, &used_j, &error);
	else
		run_service_used_until(&world->bed.service, begin_s, clock_now_ns(), &used_j,
				       &error);
	g_assert_no_error(error);
	return used_j * 1e6;
}

/* A window's energy in memory is that of the store. */
static void check_window(struct world *world)
{
	const double begin_s = (double)(world->now_s - world->now_s % (RETENTION_S / 2));
	const double uj = used_uj(world, begin_s, true);

	assert_between(used_uj(world, begin_s, false), uj, uj);
	assert_between(uj, 0, sum_uj(world));
}

static int64_t stored_uj(struct world *world, const char *by)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) sums = store_account_sums(world->bed.session.store,
						       world->bed.service.row.run, by, &error);
	int64_t sum = 0;

	g_assert_no_error(error);
	for (guint i = 0; i < sums->len; i++) {
		const struct store_account_sum *one = g_ptr_array_index(sums, i);

		sum += g_str_equal(by, "task") ? one->tasks_uj
					       : one->meter_uj - one->idle_uj - one->unserved_uj;
	}
	return sum;
}

/* All is reported: nothing is provisional, and the store, the ledger and a plain account agree. */
static void check_end(struct world *world)
{
	const struct ledger *ledger = world->bed.service.ledger;

	for (uint32_t h = 0; h < HOSTS; h++)
		world->hosts[h].away = false;
	for (int i = 0; i < 5; i++)
		tick(world);
	for (uint32_t h = 0; h < HOSTS; h++) {
		send_samples(world, h, G_MAXUINT);
		send_seconds(world, h, G_MAXUINT);
		g_assert_cmpint(host_account_provisional_uj(account_of(world, h)), ==, 0);
	}
	assert_between(sum_uj(world), (double)ledger_dynamic_uj(ledger),
		       (double)ledger_dynamic_uj(ledger));
	g_assert_cmpint(ledger_dynamic_uj(ledger), ==, stored_uj(world, "host"));
	g_assert_cmpint(ledger_task_uj(ledger, 0), ==, stored_uj(world, "task"));
	g_assert_cmpint(ledger_task_uj(ledger, 0), >=, world->served_uj);
	g_assert_cmpint(ledger_task_uj(ledger, 0), <=, world->served_uj + world->late_uj);
	g_assert_cmpint(ledger_dynamic_uj(ledger), >=, world->served_uj);
	assert_between((double)ledger_dynamic_uj(ledger), 0,
		       (double)(world->served_uj + world->late_uj + world->lost_uj));
}

static void live(uint64_t seed)
{
	struct world world = {.now_s = AGE_S};

	g_test_message("seed %" G_GUINT64_FORMAT, seed);
	random_stream_init(&world.random, seed, 0);
	bed_set_up(&world.bed, NULL);
	bed_begin(&world.bed);
	for (uint32_t h = 0; h < HOSTS; h++) {
		world.hosts[h].at_uj = g_array_new(FALSE, FALSE, sizeof(int64_t));
		world.hosts[h].begin_s = AGE_S + 1;
		remote_meter_start(meter_of(&world, h), clock_now_ns(), IDLE_MW * 1e-3);
	}
	/* The accounts begin. */
	for (int i = 0; i < 3; i++)
		tick(&world);
	for (uint32_t h = 0; h < HOSTS; h++)
		send_seconds(&world, h, 1);
	keep(&world);
	for (int i = 0; i < STEPS; i++) {
		step(&world);
		if (i % 10 == 0)
			check_window(&world);
	}
	check_end(&world);
	bed_tear_down(&world.bed, NULL);
	for (uint32_t h = 0; h < HOSTS; h++)
		g_array_unref(world.hosts[h].at_uj);
}

static void test_random(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		live(seed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/service-ledger/random", test_random);
	return g_test_run();
}
