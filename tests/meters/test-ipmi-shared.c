/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Meters by IPMI that share the session of one BMC: none of them starves, and what one of them does
 * to the session leads to no wrong reading of another. Sensors of another controller are read by
 * the same session. And what a read says whose BMC is slow. In virtual time (virtual_time.h).
 */
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/power/power.h"
#include "local-sched/power/power_meter.h"
#include "local-sched/power/sample_ring.h"
#include "tests/meters/fake_ipmitool.h"
#include "tests/meters/virtual_time.h"

enum { MANY = 10, SENSORS = 2, PORT = 623, MANY_S = 120, FIRST_NUMBER = 0x50 };

enum { BMC = 0x20, OTHER = 0x2c };

static const char *const names[MANY] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"};
static const char *const sensor_names[SENSORS] = {"PS1 Power In", "PS2 Power In"};
static const uint8_t sensor_raw[SENSORS] = {100, 50};

struct bed {
	char *directory, *password, *journal;
	struct fake_ipmitool tools;
	struct config_meter meters[MANY];
	struct power *power;
	GArray *samples[MANY];
	/* A single meter. */
	struct meter_set *set;
	struct power_meter *meter;
	bool read;       /* its read has ended */
	int64_t read_mw; /* -1: there is no reading, and why: */
	enum power_meter_error code;
	char *reason;
	/* The BMC. */
	guint slow_ms;  /* what each answer takes */
	guint login_ms; /* what a login takes */
	unsigned session;
	unsigned ended;          /* the last one before it was restarted */
	unsigned open;           /* sessions that are */
	unsigned open_most;      /* at once */
	bool other_owns_last;    /* the last sensor is another controller's */
	unsigned wrong_owner;    /* requests to a controller that has no such sensor */
	int dcmi_code;           /* the completion code of Get Power Reading */
	uint8_t factor[SENSORS]; /* M of each sensor */
	bool restarts;           /* with another factor, once it has sent its first record */
	bool loses;              /* the next request for a record */
	int64_t restarted_ns;
	GArray *answers; /* int64_t: when each reading that it sent came */
	/* The requests that it had. */
	unsigned dcmi_asked;
	unsigned records_asked;
	unsigned pieces_asked; /* those of them for a part of a record */
};

static unsigned log_in(uint16_t port, guint *ret_ms, void *data)
{
	struct bed *bed = data;

	*ret_ms = bed->login_ms;
	bed->open++;
	bed->open_most = MAX(bed->open_most, bed->open);
	return ++bed->session;
}

/* A session that has ended by itself is not open, and what it asks for is not answered. */
static bool log_out(uint16_t port, unsigned session, void *data)
{
	struct bed *bed = data;

	if (session <= bed->ended)
		return false;
	bed->open--;
	return true;
}

/* All sessions end, without a word. */
static void end_sessions(struct bed *bed)
{
	bed->ended = bed->session;
	bed->open = 0;
}

static uint8_t owner_of(const struct bed *bed, unsigned sensor)
{
	return bed->other_owns_last && sensor == SENSORS - 1 ? OTHER : BMC;
}

static void give_record(struct bed *bed, uint8_t id, struct fake_ipmi_answer *answer)
{
	const uint8_t next = id + 1 < SENSORS ? id + 1 : 0xff;

	if (bed->loses) {
		bed->loses = false;
		return;
	}
	fake_ipmi_reply_record(answer, id, next, owner_of(bed, id), FIRST_NUMBER + id,
			       bed->factor[id], sensor_names[id]);
	if (bed->restarts && id == 0) {
		bed->restarts = false;
		bed->restarted_ns = clock_now_ns();
		end_sessions(bed);
		bed->factor[0]++;
	}
}

/* Sensors, their records, and 200 W by DCMI and by a request of its maker. */
static void ask(uint16_t port, unsigned session, uint8_t controller, const uint8_t *request,
		size_t size, struct fake_ipmi_answer *answer, void *data)
{
	static const uint8_t reading[18] = {0xdc, 200, [17] = 0x40};
	struct bed *bed = data;
	const int64_t at_ns = clock_now_ns() + bed->slow_ms * INT64_C(1000000);
	const unsigned command = size < 2 ? 0 : (unsigned)request[0] << 8 | request[1];

	answer->after_ms = bed->slow_ms;
	if (session <= bed->ended)
		return;
	bed->wrong_owner += controller != BMC && command != 0x042d;
	if (command == 0x2c02) {
		bed->dcmi_asked++;
		answer->code = bed->dcmi_code;
		if (answer->code == 0) {
			fake_ipmi_reply(answer, reading, sizeof reading);
			g_array_append_val(bed->answers, at_ns);
		}
	} else if (command == 0x3001) {
		fake_ipmi_reply(answer, reading + 1, 2);
	} else if (command == 0x0a20) {
		fake_ipmi_reply(answer, (const uint8_t[14]){0x51, SENSORS}, 14);
	} else if (command == 0x0a22) {
		fake_ipmi_reply(answer, (const uint8_t[]){1, 0}, 2);
	} else if (command == 0x0a23 && size == 8 && request[4] < SENSORS) {
		bed->records_asked++;
		bed->pieces_asked += request[7] != 0xff;
		give_record(bed, request[4], answer);
	} else if (command == 0x042d && size == 3) {
		const unsigned sensor = (request[2] - (unsigned)FIRST_NUMBER) % SENSORS;

		bed->wrong_owner += controller != owner_of(bed, sensor);
		fake_ipmi_reply(answer, (const uint8_t[]){sensor_raw[sensor], 0xc0, 0, 0}, 4);
	} else {
		answer->code = 0xc1;
	}
}

static void on_sample(uint32_t index, const struct sample_ring_entry *sample, void *data)
{
	struct bed *bed = data;

	g_array_append_vals(bed->samples[index], sample, 1);
}

static void on_event(const char *host, enum power_event event, const char *text, int64_t t_ns,
		     void *data)
{
	g_test_message("%s: event %d: %s", host, (int)event, text ?: "");
}

/* Virtual time begins. Other meters and another BMC than these may be set before bed_start(). */
static void bed_init(struct bed *bed)
{
	*bed = (struct bed){.slow_ms = 10, .login_ms = 100, .factor = {1, 1}};
	bed->directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	bed->password = g_build_filename(bed->directory, "password", NULL);
	bed->journal = g_build_filename(bed->directory, "power", NULL);
	g_assert_true(g_file_set_contents_full(bed->password, "secret\n", -1,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	bed->answers = g_array_new(FALSE, FALSE, sizeof(int64_t));
	fake_ipmitool_init(&bed->tools, &platform_machine);
	bed->tools.log_in = log_in;
	bed->tools.ask = ask;
	bed->tools.log_out = log_out;
	bed->tools.data = bed;
	for (int i = 0; i < MANY; i++) {
		bed->samples[i] = g_array_new(FALSE, FALSE, sizeof(struct sample_ring_entry));
		bed->meters[i] = (struct config_meter){.kind = CONFIG_METER_IPMI,
						       .address = (char *)"bmc",
						       .port = PORT,
						       .user = (char *)"ADMIN",
						       .privilege = (char *)"USER",
						       .password_file = bed->password,
						       .interval_s = 1};
	}
	virtual_time_begin();
}

/* The BMC has no DCMI: one meter reads the sum of the sensors, another one by a request. */
static void read_sensors(struct bed *bed, int by_sensors, int by_request)
{
	bed->dcmi_code = 0xc1;
	bed->meters[by_request].raw = (char *)"0x30 0x01";
	bed->meters[by_request].raw_at = 1;
	bed->meters[by_sensors].sensor = (char **)sensor_names;
	bed->meters[by_sensors].sensor_count = SENSORS;
}

/* Starts the first `count` meters. */
static void bed_start(struct bed *bed, uint32_t count)
{
	struct power_host hosts[MANY];
	g_autoptr(GError) error = NULL;

	for (uint32_t i = 0; i < count; i++)
		hosts[i] = (struct power_host){.name = names[i], .meter = &bed->meters[i]};
	bed->power =
		power_new(&bed->tools.platform, hosts, count, bed->journal, on_event, bed, &error);
	g_assert_no_error(error);
	power_watch(bed->power, on_sample, bed);
}

static void bed_clear(struct bed *bed)
{
	const char *const argv[] = {"rm", "-rf", bed->directory, NULL};

	virtual_time_end();
	power_free(bed->power);
	power_meter_close(bed->meter);
	meter_set_free(bed->set);
	g_free(bed->reason);
	for (int i = 0; i < MANY; i++)
		g_array_unref(bed->samples[i]);
	g_array_unref(bed->answers);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(bed->directory);
	g_free(bed->password);
	g_free(bed->journal);
}

/* Opens the first meter, in place of bed_start(). */
static void bed_open(struct bed *bed)
{
	g_autoptr(GError) error = NULL;

	bed->set = meter_set_new(&bed->tools.platform);
	bed->meter =
		power_meter_open(&bed->tools.platform, &bed->meters[0], names[0], bed->set, &error);
	g_assert_no_error(error);
}

static void on_read(const struct power_reading *reading, const GError *error, void *data)
{
	struct bed *bed = data;

	g_free(bed->reason);
	bed->reason = error ? g_strdup(error->message) : NULL;
	bed->code = error ? (enum power_meter_error)error->code : POWER_METER_OK;
	bed->read_mw = reading ? reading->mw : -1;
	bed->read = true;
}

/* Reads the meter that is open. Returns the seconds that it took. */
static double read_once(struct bed *bed)
{
	const int64_t began_ns = clock_now_ns();

	bed->read = false;
	power_meter_read(bed->meter, on_read, bed);
	while (!bed->read)
		g_main_context_iteration(NULL, TRUE);
	return clock_elapsed_s(began_ns, clock_now_ns());
}

static gboolean on_end(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void run_for(double seconds)
{
	bool ended = false;

	g_timeout_add((guint)(seconds * 1e3), on_end, &ended);
	while (!ended)
		g_main_context_iteration(NULL, TRUE);
}

/* Whether an answer of the BMC came at that time. */
static bool came_at(const struct bed *bed, int64_t t_ns)
{
	for (guint i = 0; i < bed->answers->len; i++)
		if (llabs(g_array_index(bed->answers, int64_t, i) - t_ns) < 20000000)
			return true;
	return false;
}

/*
 * The answers to all meters take longer than a reading may: each meter has its turn in every round
 * or in every second one, by the time at which its answer came. After the first minute no joule is
 * in a gap.
 */
static void check_turns(double timeout_s, guint slow_ms)
{
	const double round_s = MANY * slow_ms / 1000.0;
	struct bed bed;
	int64_t began_ns, gap_ns[MANY];

	bed_init(&bed);
	bed.slow_ms = slow_ms;
	for (int i = 0; i < MANY; i++)
		bed.meters[i].timeout_s = timeout_s;
	bed_start(&bed, MANY);
	began_ns = clock_now_ns();
	run_for(MANY_S / 2);
	for (int i = 0; i < MANY; i++)
		gap_ns[i] = power_counter(bed.power, names[i])->gap_ns;
	run_for(MANY_S / 2);
	for (int i = 0; i < MANY; i++) {
		int64_t last_ns = began_ns;
		double apart_s = 0;

		for (guint k = 0; k < bed.samples[i]->len; k++) {
			const struct sample_ring_entry *sample =
				&g_array_index(bed.samples[i], struct sample_ring_entry, k);

			g_assert_true(came_at(&bed, sample->t_ns));
			apart_s = MAX(apart_s, clock_elapsed_s(last_ns, sample->t_ns));
			last_ns = sample->t_ns;
		}
		apart_s = MAX(apart_s, clock_elapsed_s(last_ns, clock_now_ns()));
		g_test_message("%s: %u readings, at most %.1f s apart", names[i],
			       bed.samples[i]->len, apart_s);
		g_assert_cmpfloat(apart_s, <, 2 * round_s + 1);
		g_assert_cmpint(power_counter(bed.power, names[i])->gap_ns, ==, gap_ns[i]);
	}
	bed_clear(&bed);
}

static void test_no_meter_starves_another_of_its_bmc(void)
{
	check_turns(0, 600);
}

/* A read joins another several times: what a reading takes counts from the first one on. */
static void test_turns_longer_than_several_reads_leave_no_gaps(void)
{
	check_turns(1.5, 700);
}

/*
 * The BMC restarts with another factor after it has sent the first of two records that are checked;
 * the other meter finds that its session has ended, and the second record comes by a new one.
 */
static void test_a_login_between_two_records_leads_to_no_wrong_factor(void)
{
	struct bed bed;
	guint before = 0, after = 0;

	bed_init(&bed);
	read_sensors(&bed, 0, 1);
	bed_start(&bed, 2);
	run_for(30);
	bed.restarts = true;
	run_for(60);
	g_assert_false(bed.restarts);
	for (guint k = 0; k < bed.samples[0]->len; k++) {
		const struct sample_ring_entry *sample =
			&g_array_index(bed.samples[0], struct sample_ring_entry, k);
		const bool is_after = sample->t_ns > bed.restarted_ns;

		g_assert_cmpint(sample->mw, ==, is_after ? 250000 : 150000);
		before += !is_after;
		after += is_after;
	}
	g_assert_cmpuint(before, >, 40);
	g_assert_cmpuint(after, >, 10);
	bed_clear(&bed);
}

/*
 * The session ends just before a check, which the other meter finds: a check whose first record
 * waited for the login is not repeated.
 */
static void test_a_check_behind_a_login_is_not_repeated(void)
{
	struct bed bed;

	bed_init(&bed);
	read_sensors(&bed, 1, 0);
	bed_start(&bed, 2);
	run_for(60.5);
	end_sessions(&bed);
	bed.records_asked = 0;
	run_for(20);
	g_assert_cmpuint(bed.session, ==, 2);
	g_assert_cmpuint(bed.records_asked, ==, SENSORS);
	bed_clear(&bed);
}

/* Packets that are lost at checks a minute apart: no record is too long for the BMC. */
static void test_packets_lost_at_a_distance_are_no_silence_over_a_record(void)
{
	struct bed bed;

	bed_init(&bed);
	read_sensors(&bed, 0, 1);
	bed_start(&bed, 1);
	for (int i = 0; i < 3; i++) {
		run_for(30);
		bed.loses = true;
		run_for(60);
		g_assert_false(bed.loses);
	}
	g_assert_cmpuint(bed.pieces_asked, ==, 0);
	bed_clear(&bed);
}

/* The records are checked after a minute, in which the session has ended. */
static void test_a_check_that_waits_for_a_login_is_not_yet_a_reading(void)
{
	struct bed bed;

	bed_init(&bed);
	read_sensors(&bed, 0, 1);
	bed_open(&bed);
	read_once(&bed);
	g_assert_cmpint(bed.read_mw, ==, 150000);
	run_for(70);
	bed.login_ms = 8000;
	g_assert_cmpfloat(read_once(&bed), <, POWER_METER_DEADLINE_S + 0.5);
	g_assert_cmpint(bed.code, ==, POWER_METER_ERROR_NOT_YET);
	g_assert_nonnull(strstr(bed.reason, "logging in"));
	read_once(&bed);
	g_assert_cmpint(bed.read_mw, ==, 150000);
	bed_clear(&bed);
}

/*
 * DCMI is busy, and looking for the sensors takes longer than the first read. The second one joins
 * that, and has a reading; the third one begins with DCMI again.
 */
static void test_a_read_that_joined_a_search_is_not_joined_by_the_next(void)
{
	struct bed bed;

	bed_init(&bed);
	read_sensors(&bed, 0, 1);
	bed.dcmi_code = 0xc0;
	bed.slow_ms = 1200;
	bed_open(&bed);
	read_once(&bed);
	g_assert_cmpint(bed.code, ==, POWER_METER_ERROR_NOT_YET);
	read_once(&bed);
	g_assert_cmpint(bed.read_mw, ==, 150000);
	g_assert_cmpuint(bed.dcmi_asked, ==, 1);
	bed.dcmi_code = 0;
	read_once(&bed);
	g_assert_cmpint(bed.read_mw, ==, 200000);
	g_assert_cmpuint(bed.dcmi_asked, ==, 2);
	bed_clear(&bed);
}

/*
 * Sensors of two controllers, and another meter of the BMC: one session at a time serves them, also
 * when the BMC has ended it, or it was idle. After a login the records are read again, and at the
 * end no session is left.
 */
static void test_another_controller_is_asked_by_the_same_session(void)
{
	struct bed bed;
	unsigned records;

	bed_init(&bed);
	read_sensors(&bed, 0, 1);
	bed.other_owns_last = true;
	bed_start(&bed, 2);
	run_for(30);
	g_assert_cmpuint(bed.session, ==, 1);
	records = bed.records_asked;
	end_sessions(&bed);
	bed.factor[1] = 2;
	run_for(20);
	g_assert_cmpuint(bed.session, ==, 2);
	g_assert_cmpuint(bed.records_asked, ==, records + SENSORS);
	g_assert_cmpint(power_counter(bed.power, names[0])->last_mw, ==, 200000);
	g_assert_cmpuint(bed.samples[0]->len, >, 30);
	for (guint k = 0; k < bed.samples[0]->len; k++) {
		const int64_t mw = g_array_index(bed.samples[0], struct sample_ring_entry, k).mw;

		g_assert_true(mw == 150000 || (mw == 200000 && k > 20));
	}
	power_free(g_steal_pointer(&bed.power));
	g_assert_cmpuint(bed.wrong_owner, ==, 0);
	g_assert_cmpuint(bed.open_most, ==, 1);
	g_assert_cmpuint(bed.open, ==, 0);
	bed_clear(&bed);
}

/* A session that was idle is closed before the next one is opened. */
static void test_an_idle_session_is_closed_before_the_next(void)
{
	struct bed bed;

	bed_init(&bed);
	bed_open(&bed);
	read_once(&bed);
	run_for(45);
	read_once(&bed);
	g_assert_cmpint(bed.read_mw, ==, 200000);
	g_assert_cmpuint(bed.session, ==, 2);
	g_assert_cmpuint(bed.open_most, ==, 1);
	bed_clear(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ipmi, shared/no meter starves another of its BMC",
			test_no_meter_starves_another_of_its_bmc);
	g_test_add_func("/ipmi, shared/turns longer than several reads leave no gaps",
			test_turns_longer_than_several_reads_leave_no_gaps);
	g_test_add_func("/ipmi, shared/a login between two records leads to no wrong factor",
			test_a_login_between_two_records_leads_to_no_wrong_factor);
	g_test_add_func("/ipmi, shared/a check behind a login is not repeated",
			test_a_check_behind_a_login_is_not_repeated);
	g_test_add_func("/ipmi, shared/packets lost at a distance are no silence over a record",
			test_packets_lost_at_a_distance_are_no_silence_over_a_record);
	g_test_add_func("/ipmi, shared/a check that waits for a login is not yet a reading",
			test_a_check_that_waits_for_a_login_is_not_yet_a_reading);
	g_test_add_func("/ipmi, shared/a read that joined a search is not joined by the next",
			test_a_read_that_joined_a_search_is_not_joined_by_the_next);
	g_test_add_func("/ipmi, shared/another controller is asked by the same session",
			test_another_controller_is_asked_by_the_same_session);
	g_test_add_func("/ipmi, shared/an idle session is closed before the next",
			test_an_idle_session_is_closed_before_the_next);
	return g_test_run();
}
