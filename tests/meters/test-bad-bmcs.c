/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An hour of BMCs that are slow, say null or 0 W, redirect, forget sessions and restart, and of a
 * counter that wraps: no joule is wrong, and every gap is accounted for. By IPMI one is busy, says
 * that it does not measure, and restarts, and one gives its sensors other numbers and factors
 * whenever it restarts. The hour is virtual (virtual_time.h); with VIRTBED_LONG it is ten real
 * minutes.
 *
 * Each BMC keeps what it sent. A sample has to be something that was sent just then, and the
 * host's counter has to be the integral of that, which is computed here on its own.
 */
#include <gio/gio.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_server.h"
#include "common/platform.h"
#include "common/random.h"
#include "common/subprocess.h"
#include "local-sched/lab/bmc/redfish.h"
#include "local-sched/power/power.h"
#include "local-sched/power/sample_ring.h"
#include "tests/long.h"
#include "tests/meters/fake_ipmitool.h"
#include "tests/meters/virtual_time.h"

#define HOUR_S 3600.0
#define LONG_S 600.0
#define S 1000000000.0
#define PASSWORD "s3cret-word"
#define GAP_S 3.0 /* three intervals of a second */
#define POWER_PATH "/redfish/v1/Chassis/1/Power"

enum kind {
	STEADY,
	SLOW,
	SLOWER,
	NULLS,
	REDIRECTING,
	EXPIRING,
	RESTARTING,
	IPMI, /* by DCMI; the kinds before are Redfish */
	IPMI_SENSORS,
	KINDS,
};

enum { HOSTS = KINDS + 1, WRAPPING = KINDS, EXPIRES_AFTER = 7, FEED_MS = 100 };

static const char *const names[HOSTS] = {"steady",       "slow",     "slower",     "nulls",
					 "redirecting",  "expiring", "restarting", "ipmi",
					 "ipmi-sensors", "wrapping"};

/* Sensors of the BMC that restarts with others; two of them are read. */
enum { PS1, FAN, PS2, CPU, SENSORS, FIRST_NUMBER = 0x50 };
static const char *const sensor_names[SENSORS] = {"PS1 Power In", "Fans", "PS2 Power In", "CPU"};
static const char *const wanted_sensors[] = {"PS1 Power In", "PS2 Power In"};

/* Watts that were sent, and when. */
struct sent {
	int64_t t_ns;
	int64_t mw;
};

struct bmc {
	enum kind kind;
	const struct bed *bed;
	struct http_server *server; /* NULL: it restarts, or speaks IPMI */
	uint16_t port;
	/* By IPMI. */
	bool is_off;            /* it restarts */
	unsigned session;       /* the last one */
	unsigned ended;         /* the last one before a restart */
	uint8_t place[SENSORS]; /* which sensor a record is of; its number follows from the place */
	uint8_t factor[SENSORS]; /* M of a sensor */
	int64_t ps1_mw;          /* of its last reading */
	uint32_t moves;          /* times that the place of its watts was lost */
	struct random_stream random;
	int nulls_left;  /* so many answers without watts */
	int uses;        /* of the present session */
	char *token;     /* of the present session; NULL: none */
	GArray *sent;    /* struct sent */
	GArray *samples; /* struct sample_ring_entry */
	uint32_t losses; /* of its meter, and returns of it */
	uint32_t returns;
	double expected_uj; /* the integral of the samples as they were sent */
	double expected_gap_s;
};

/* An answer that is late. */
struct late {
	struct http_request *request;
	struct bmc *bmc;
	guint timer_id;
};

/* The counter of a processor, in a tree of its own. */
struct counter {
	char *path, *new_path;
	struct random_stream random;
	double uj;
	double watts;
	int64_t changes_ns; /* when it draws something else */
	int64_t fed_ns;
	double doubt_uj; /* by which a reading once a second may be off */
};

struct bed {
	char *directory, *certificate, *key, *password, *sys, *journal;
	struct bmc bmcs[KINDS];
	struct counter counter;
	struct config_meter meters[HOSTS];
	struct fake_ipmitool tools;
	struct power *power;
};

/* BMCs. */

static void reply_missing(struct http_request *request, int status, const char *text)
{
	http_request_reply(request, status, json_pack("{s:{s:s}}", "error", "message", text));
}

/* Whether the request is of the present session; otherwise answers it. */
static bool is_known(struct bmc *bmc, struct http_request *request)
{
	const char *token = http_request_header(request, "X-Auth-Token");

	bmc->uses++;
	if (bmc->kind == EXPIRING && bmc->uses > EXPIRES_AFTER)
		g_clear_pointer(&bmc->token, g_free);
	if (bmc->token && g_strcmp0(token, bmc->token) == 0)
		return true;
	reply_missing(request, 401, "no such session");
	return false;
}

static void post_session(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	struct bmc *bmc = data;

	g_free(bmc->token);
	bmc->token = g_uuid_string_random();
	bmc->uses = 0;
	http_request_set_header(request, "X-Auth-Token", bmc->token);
	http_request_set_header(request, "Location", "/redfish/v1/SessionService/Sessions/1");
	http_request_reply(request, 201, json_pack("{s:s}", "Id", "1"));
}

static void delete_session(struct http_request *request, const char *const *arguments, json_t *body,
			   void *data)
{
	struct bmc *bmc = data;

	g_clear_pointer(&bmc->token, g_free);
	http_request_reply(request, 204, NULL);
}

static void give_list(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	if (is_known(data, request))
		http_request_reply(request, 200,
				   json_pack("{s:[{s:s}]}", "Members", "@odata.id",
					     "/redfish/v1/Chassis/1"));
}

static void give_chassis(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	if (is_known(data, request))
		http_request_reply(request, 200,
				   json_pack("{s:s, s:s, s:{s:s}}", "ChassisType", "RackMount",
					     "PowerState", "On", "Power", "@odata.id", POWER_PATH));
}

/* Answers with watts; what is no reading is not kept. `watts` < 0: null. */
static void give_watts(struct bmc *bmc, struct http_request *request, double watts)
{
	const struct sent sent = {.t_ns = clock_now_ns(), .mw = llround(watts * 1000)};

	if (watts > 0 && watts < 65535)
		g_array_append_val(bmc->sent, sent);
	http_request_reply(request, 200,
			   json_pack("{s:[{s:o}]}", "PowerControl", "PowerConsumedWatts",
				     watts < 0 ? json_null() : json_real(watts)));
}

static double draw_watts(struct bmc *bmc)
{
	return 100 + (double)random_stream_below(&bmc->random, 200000) / 1000;
}

static void late_free(struct late *late)
{
	g_clear_handle_id(&late->timer_id, g_source_remove);
	g_free(late);
}

static gboolean on_late(gpointer data)
{
	struct late *late = data;

	late->timer_id = 0;
	give_watts(late->bmc, late->request, draw_watts(late->bmc));
	late_free(late);
	return G_SOURCE_REMOVE;
}

static void on_cancel(struct http_request *request, void *data)
{
	late_free(data);
}

/* Answers after 0.2 to 4.2 seconds, in the mean after less than two intervals; or always after 4. */
static void give_late(struct bmc *bmc, struct http_request *request)
{
	const double chance =
		bmc->kind == SLOW ? (double)random_stream_below(&bmc->random, 1000) / 1000 : 0.97;
	struct late *late = g_new0(struct late, 1);

	late->request = request;
	late->bmc = bmc;
	late->timer_id = g_timeout_add((guint)(200 + 4000 * chance * chance), on_late, late);
	http_request_on_cancel(request, on_cancel, late);
}

static void give_power(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	static const double none[] = {-1, 0, 65535};
	struct bmc *bmc = data;

	if (!is_known(bmc, request))
		return;
	if (bmc->kind == REDIRECTING && !arguments[0]) {
		http_request_set_header(request, "Location", POWER_PATH "/watts");
		http_request_reply(request, 308, NULL);
	} else if (bmc->kind == SLOW || bmc->kind == SLOWER) {
		give_late(bmc, request);
	} else {
		if (bmc->kind == NULLS && bmc->nulls_left == 0 &&
		    random_stream_below(&bmc->random, 20) == 0)
			bmc->nulls_left = 1 + (int)random_stream_below(&bmc->random, 8);
		if (bmc->nulls_left > 0) {
			bmc->nulls_left--;
			give_watts(bmc, request, none[bmc->nulls_left % 3]);
		} else {
			give_watts(bmc, request, draw_watts(bmc));
		}
	}
}

static const struct http_route routes[] = {
	{"POST", "/redfish/v1/SessionService/Sessions", post_session, .takes_body = true},
	{"DELETE", "/redfish/v1/SessionService/Sessions/1", delete_session},
	{"GET", "/redfish/v1/Chassis", give_list},
	{"GET", "/redfish/v1/Chassis/1", give_chassis},
	{"GET", POWER_PATH, give_power},
	{"GET", POWER_PATH "/*", give_power},
	{NULL},
};

static void start_bmc(struct bmc *bmc)
{
	const struct http_tls tls = {.certificate = bmc->bed->certificate, .key = bmc->bed->key};
	g_autofree char *address = g_strdup_printf("https://127.0.0.1:%u", bmc->port);
	g_autoptr(GError) error = NULL;

	bmc->server = http_server_new_tls(&platform_machine, address, &tls, routes, bmc, &error);
	g_assert_no_error(error);
	bmc->port = (uint16_t)strtoul(strrchr(http_server_address(bmc->server), ':') + 1, NULL, 10);
}

/* BMCs by IPMI. */

/* The firmware gives its sensors numbers and factors. */
static void number_sensors(struct bmc *bmc)
{
	for (uint8_t i = 0; i < SENSORS; i++) {
		const uint8_t at = (uint8_t)random_stream_below(&bmc->random, i + 1);

		bmc->place[i] = bmc->place[at];
		bmc->place[at] = i;
		bmc->factor[i] = (uint8_t)(1 + random_stream_below(&bmc->random, 4));
	}
}

static struct bmc *find_ipmi(struct bed *bed, uint16_t port)
{
	for (int i = IPMI; i < KINDS; i++)
		if (bed->bmcs[i].port == port)
			return &bed->bmcs[i];
	g_assert_not_reached();
}

static unsigned on_ipmi_login(uint16_t port, guint *ret_ms, void *data)
{
	struct bmc *bmc = find_ipmi(data, port);

	*ret_ms = 50 + (guint)random_stream_below(&bmc->random, 3000);
	return bmc->is_off ? 0 : ++bmc->session;
}

/* Get Power Reading: now and then refused, deactivated, or no power. */
static void give_dcmi(struct bmc *bmc, struct fake_ipmi_answer *answer)
{
	const uint64_t chance = random_stream_below(&bmc->random, 40);
	const uint16_t watts = (uint16_t)(100 + random_stream_below(&bmc->random, 300));
	const uint16_t told = chance == 0 ? 0 : chance == 1 ? 65535 : watts;
	const struct sent sent = {.t_ns = clock_now_ns() + answer->after_ms * INT64_C(1000000),
				  .mw = watts * 1000};
	const uint8_t bytes[18] = {0xdc,
				   (uint8_t)told,
				   (uint8_t)(told >> 8),
				   1,
				   0,
				   0xf4,
				   1,
				   100,
				   0,
				   0,
				   0,
				   0,
				   0,
				   1,
				   0,
				   0,
				   0,
				   chance == 2 ? 0 : 0x40};

	if (chance == 3 || chance == 4) {
		answer->code = chance == 3 ? 0xc0 : 0xcb;
		return;
	}
	if (chance > 4)
		g_array_append_val(bmc->sent, sent);
	fake_ipmi_reply(answer, bytes, chance == 5 ? 7 : sizeof bytes);
	if (chance == 5)
		g_array_set_size(bmc->sent, bmc->sent->len - 1);
}

static void give_record(const struct bmc *bmc, uint8_t id, struct fake_ipmi_answer *answer)
{
	const uint8_t sensor = bmc->place[id];
	const uint8_t next = id + 1 < SENSORS ? id + 1 : 0xff;

	fake_ipmi_reply_record(answer, id, next, 0x20, FIRST_NUMBER + id, bmc->factor[sensor],
			       sensor_names[sensor]);
}

/* The sum is sent with the second sensor. */
static void give_sensor(struct bmc *bmc, uint8_t number, struct fake_ipmi_answer *answer)
{
	const uint8_t sensor = bmc->place[(number - FIRST_NUMBER) % SENSORS];
	const uint8_t raw = (uint8_t)(20 + random_stream_below(&bmc->random, 200));
	const int64_t mw = INT64_C(1000) * raw * bmc->factor[sensor];
	const struct sent sent = {.t_ns = clock_now_ns() + answer->after_ms * INT64_C(1000000),
				  .mw = bmc->ps1_mw + mw};

	fake_ipmi_reply(answer, (const uint8_t[]){raw, 0xc0, 0, 0}, 4);
	if (sensor == PS1)
		bmc->ps1_mw = mw;
	if (sensor == PS2)
		g_array_append_val(bmc->sent, sent);
}

static void on_ipmi_request(uint16_t port, unsigned session, uint8_t controller,
			    const uint8_t *request, size_t size, struct fake_ipmi_answer *answer,
			    void *data)
{
	struct bmc *bmc = find_ipmi(data, port);
	const unsigned command = size < 2 ? 0 : (unsigned)request[0] << 8 | request[1];

	answer->code = 0xc1;
	answer->after_ms = 5 + (guint)random_stream_below(&bmc->random, 200);
	if (bmc->is_off || session <= bmc->ended)
		answer->code = -1;
	else if (command == 0x2c02 && bmc->kind == IPMI)
		give_dcmi(bmc, answer);
	else if (command == 0x0001)
		fake_ipmi_reply(answer, (const uint8_t[]){0x01, 0, 0}, 3);
	else if (command == 0x0a20)
		fake_ipmi_reply(answer, (const uint8_t[14]){0x51, SENSORS}, 14);
	else if (command == 0x0a22)
		fake_ipmi_reply(answer, (const uint8_t[]){1, 0}, 2);
	else if (command == 0x0a23 && size == 8 && request[4] < SENSORS)
		give_record(bmc, request[4], answer);
	else if (command == 0x042d && size == 3)
		give_sensor(bmc, request[2], answer);
}

static gboolean on_ipmi_restart(gpointer data)
{
	struct bmc *bmc = data;
	guint next_s;

	bmc->is_off = !bmc->is_off;
	if (bmc->is_off) {
		bmc->ended = bmc->session;
		number_sensors(bmc);
		next_s = 2 + (guint)random_stream_below(&bmc->random, 59);
	} else {
		next_s = 20 + (guint)random_stream_below(&bmc->random, 181);
	}
	g_timeout_add_seconds(next_s, on_ipmi_restart, bmc);
	return G_SOURCE_REMOVE;
}

/* A BMC restarts within 2 to 60 seconds, after it ran for 20 to 200; it has no sessions then. */
static gboolean on_restart(gpointer data)
{
	struct bmc *bmc = data;
	guint next_s;

	if (bmc->server) {
		g_clear_pointer(&bmc->server, http_server_free);
		g_clear_pointer(&bmc->token, g_free);
		next_s = 2 + (guint)random_stream_below(&bmc->random, 59);
	} else {
		start_bmc(bmc);
		next_s = 20 + (guint)random_stream_below(&bmc->random, 181);
	}
	g_timeout_add_seconds(next_s, on_restart, bmc);
	return G_SOURCE_REMOVE;
}

/* The counter that wraps. */

#define WRAPS_UJ 65532610987.0

static gboolean on_feed(gpointer data)
{
	struct counter *counter = data;
	const int64_t now_ns = clock_now_ns();
	char text[32];

	if (counter->fed_ns)
		counter->uj += counter->watts * clock_elapsed_s(counter->fed_ns, now_ns) * 1e6;
	counter->fed_ns = now_ns;
	if (now_ns >= counter->changes_ns) {
		const double before = counter->watts;

		counter->watts = 50 + (double)random_stream_below(&counter->random, 200);
		counter->changes_ns = now_ns + (int64_t)(60 * S);
		counter->doubt_uj += fabs(counter->watts - before) * 1e6;
	}
	snprintf(text, sizeof text, "%.0f\n", fmod(counter->uj, WRAPS_UJ));
	/* A reader never sees a part of it, as in sysfs. */
	g_assert_true(g_file_set_contents_full(counter->new_path, text, -1,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	g_assert_cmpint(rename(counter->new_path, counter->path), ==, 0);
	return G_SOURCE_CONTINUE;
}

static void make_file(const struct bed *bed, const char *name, const char *text)
{
	g_autofree char *path =
		g_build_filename(bed->sys, "class/powercap/intel-rapl:0", name, NULL);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* What the meters tell. */

static void on_sample(uint32_t index, const struct sample_ring_entry *sample, void *data)
{
	struct bed *bed = data;

	if (index < KINDS)
		g_array_append_vals(bed->bmcs[index].samples, sample, 1);
}

static void on_event(const char *host, enum power_event event, const char *text, int64_t t_ns,
		     void *data)
{
	struct bed *bed = data;

	for (int i = 0; i < KINDS; i++) {
		if (strcmp(names[i], host) != 0)
			continue;
		bed->bmcs[i].losses += event == POWER_EVENT_LOST;
		bed->bmcs[i].returns += event == POWER_EVENT_BACK;
		bed->bmcs[i].moves += event == POWER_EVENT_PLACE_LOST;
	}
}

static void bed_init(struct bed *bed)
{
	g_autoptr(GError) error = NULL;

	bed->directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	bed->certificate = g_build_filename(bed->directory, "certificate.pem", NULL);
	bed->key = g_build_filename(bed->directory, "key.pem", NULL);
	bed->password = g_build_filename(bed->directory, "password", NULL);
	bed->sys = g_build_filename(bed->directory, "sys", NULL);
	bed->journal = g_build_filename(bed->directory, "power", NULL);
	redfish_make_certificate(bed->certificate, bed->key, &error);
	g_assert_no_error(error);
	g_assert_true(g_file_set_contents_full(bed->password, PASSWORD "\n", -1,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	make_file(bed, "name", "package-0\n");
	make_file(bed, "max_energy_range_uj", "65532610987\n");
	bed->counter.path =
		g_build_filename(bed->sys, "class/powercap/intel-rapl:0/energy_uj", NULL);
	bed->counter.new_path = g_strconcat(bed->counter.path, ".new", NULL);
	/* It wraps within the first minutes. */
	bed->counter.uj = WRAPS_UJ - 5e9;
	random_stream_init(&bed->counter.random, 1, WRAPPING);
	for (int i = 0; i < KINDS; i++) {
		struct bmc *bmc = &bed->bmcs[i];

		*bmc = (struct bmc){.kind = (enum kind)i, .bed = bed};
		random_stream_init(&bmc->random, 1, (uint64_t)i);
		bmc->sent = g_array_new(FALSE, FALSE, sizeof(struct sent));
		bmc->samples = g_array_new(FALSE, FALSE, sizeof(struct sample_ring_entry));
		if (i >= IPMI) {
			number_sensors(bmc);
			bmc->port = (uint16_t)(i + 1);
			bed->meters[i] =
				(struct config_meter){.kind = CONFIG_METER_IPMI,
						      .address = (char *)"bmc",
						      .port = bmc->port,
						      .user = (char *)"ADMIN",
						      .privilege = (char *)"USER",
						      .password_file = bed->password,
						      .interval_s = 1,
						      .sensor = (char **)wanted_sensors,
						      .sensor_count =
							      i == IPMI_SENSORS
								      ? G_N_ELEMENTS(wanted_sensors)
								      : 0};
			continue;
		}
		start_bmc(bmc);
		bed->meters[i] = (struct config_meter){.kind = CONFIG_METER_REDFISH,
						       .address = (char *)"127.0.0.1",
						       .port = bmc->port,
						       .user = (char *)"ADMIN",
						       .password_file = bed->password,
						       .ca_file = bed->certificate,
						       .auth = CONFIG_METER_SESSION,
						       .interval_s = 1};
	}
	bed->meters[WRAPPING] = (struct config_meter){.kind = CONFIG_METER_RAPL,
						      .sys_root = bed->sys,
						      .interval_s = 1};
}

static void bed_start(struct bed *bed)
{
	struct power_host hosts[HOSTS];
	g_autoptr(GError) error = NULL;

	on_feed(&bed->counter);
	g_timeout_add(FEED_MS, on_feed, &bed->counter);
	g_timeout_add_seconds(20, on_restart, &bed->bmcs[RESTARTING]);
	g_timeout_add_seconds(30, on_ipmi_restart, &bed->bmcs[IPMI]);
	g_timeout_add_seconds(40, on_ipmi_restart, &bed->bmcs[IPMI_SENSORS]);
	fake_ipmitool_init(&bed->tools, &platform_machine);
	bed->tools.log_in = on_ipmi_login;
	bed->tools.ask = on_ipmi_request;
	bed->tools.data = bed;
	for (int i = 0; i < HOSTS; i++)
		hosts[i] = (struct power_host){.name = names[i], .meter = &bed->meters[i]};
	bed->power =
		power_new(&bed->tools.platform, hosts, HOSTS, bed->journal, on_event, bed, &error);
	g_assert_no_error(error);
	power_watch(bed->power, on_sample, bed);
}

static void bed_clear(struct bed *bed)
{
	const char *const argv[] = {"rm", "-rf", bed->directory, NULL};

	/* The meters close their sessions, which no server of this thread could answer meanwhile. */
	for (int i = 0; i < KINDS; i++)
		g_clear_pointer(&bed->bmcs[i].server, http_server_free);
	virtual_time_end();
	power_free(bed->power);
	for (int i = 0; i < KINDS; i++) {
		g_free(bed->bmcs[i].token);
		g_array_unref(bed->bmcs[i].sent);
		g_array_unref(bed->bmcs[i].samples);
	}
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(bed->counter.path);
	g_free(bed->counter.new_path);
	g_free(bed->directory);
	g_free(bed->certificate);
	g_free(bed->key);
	g_free(bed->password);
	g_free(bed->sys);
	g_free(bed->journal);
}

/* What was sent as this sample, which had `slack_ns` to arrive. */
static const struct sent *find_sent(const struct bmc *bmc, guint *next,
				    const struct sample_ring_entry *sample, int64_t slack_ns)
{
	for (; *next < bmc->sent->len; (*next)++) {
		const struct sent *sent = &g_array_index(bmc->sent, struct sent, *next);

		if (sent->mw == sample->mw && sent->t_ns <= sample->t_ns &&
		    sample->t_ns - sent->t_ns <= slack_ns) {
			(*next)++;
			return sent;
		}
	}
	return NULL;
}

/* Compares the samples of a BMC with what it sent, and integrates that. */
static void check_samples(struct bmc *bmc, int64_t slack_ns)
{
	const struct sent *last = NULL;
	guint next = 0;

	for (guint i = 0; i < bmc->samples->len; i++) {
		const struct sample_ring_entry *sample =
			&g_array_index(bmc->samples, struct sample_ring_entry, i);
		const struct sent *sent = find_sent(bmc, &next, sample, slack_ns);
		double between_s;

		g_assert_nonnull(sent); /* otherwise it was never sent */
		if (last) {
			between_s = clock_elapsed_s(last->t_ns, sent->t_ns);
			if (bmc->kind != SLOW && bmc->kind != SLOWER && bmc->kind < IPMI)
				g_assert_true(sample->gap == (between_s > GAP_S) ||
					      fabs(between_s - GAP_S) < 0.1);
			if (sample->gap) {
				bmc->expected_gap_s += between_s;
				bmc->expected_uj +=
					(double)MAX(last->mw, sent->mw) * between_s * 1e3;
			} else {
				bmc->expected_uj +=
					(double)(last->mw + sent->mw) / 2 * between_s * 1e3;
			}
		}
		last = sent;
	}
}

static void check_bmc(struct bed *bed, struct bmc *bmc, double seconds, bool is_virtual)
{
	const struct energy_counter *counter = power_counter(bed->power, names[bmc->kind]);
	const guint count = bmc->samples->len;
	const struct sample_ring_entry *first, *last;
	double covered_s;

	check_samples(bmc, is_virtual ? (int64_t)(0.2 * S) : (int64_t)S);
	g_assert_cmpuint(count, >, (guint)(seconds / 6));
	first = &g_array_index(bmc->samples, struct sample_ring_entry, 0);
	last = &g_array_index(bmc->samples, struct sample_ring_entry, count - 1);
	covered_s = clock_elapsed_s(first->t_ns, last->t_ns);
	g_test_message("%s: %u samples, %.0f J, %.0f J of them in gaps of %.0f s, lost %u times",
		       names[bmc->kind], count, (double)counter->energy_uj / 1e6,
		       (double)counter->gap_uj / 1e6, (double)counter->gap_ns / S, bmc->losses);
	/* Every moment between the first sample and the last is covered, or in a gap. */
	g_assert_cmpint(counter->covered_ns + counter->gap_ns, ==, last->t_ns - first->t_ns);
	g_assert_cmpfloat(fabs((double)counter->gap_ns / S - bmc->expected_gap_s), <=,
			  is_virtual ? 0.001 * count : covered_s * 0.01);
	g_assert_cmpfloat(fabs((double)counter->energy_uj / bmc->expected_uj - 1), <,
			  is_virtual ? 1e-4 : 0.01);
	g_assert_cmpuint(bmc->losses - bmc->returns, <=, 1);
	g_assert_true((bmc->moves > 0) == (bmc->kind == IPMI_SENSORS));
	if (bmc->kind == STEADY || bmc->kind == SLOWER || bmc->kind == REDIRECTING ||
	    bmc->kind == EXPIRING) {
		g_assert_cmpuint(bmc->losses, ==, 0);
		g_assert_cmpint(counter->gap_ns, ==, 0);
	} else if (bmc->kind != SLOW) {
		g_assert_cmpuint(bmc->losses, >, 0);
		g_assert_cmpint(counter->gap_ns, >, 0);
	}
}

static gboolean on_end(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void test_no_joule_is_wrong_and_every_gap_is_accounted_for(void)
{
	const bool is_virtual = !tests_are_long();
	const double seconds = is_virtual ? HOUR_S : LONG_S;
	const struct energy_counter *wrapping;
	struct bed bed = {0};
	double began_uj;
	bool ended = false;

	bed_init(&bed);
	if (is_virtual)
		virtual_time_begin();
	began_uj = bed.counter.uj;
	bed_start(&bed);
	g_timeout_add_seconds((guint)seconds, on_end, &ended);
	while (!ended)
		g_main_context_iteration(NULL, TRUE);
	for (int i = 0; i < KINDS; i++)
		check_bmc(&bed, &bed.bmcs[i], seconds, is_virtual);
	wrapping = power_counter(bed.power, names[WRAPPING]);
	g_test_message("wrapping: %.0f J of %.0f J", (double)wrapping->energy_uj / 1e6,
		       (bed.counter.uj - began_uj) / 1e6);
	g_assert_cmpfloat(bed.counter.uj - WRAPS_UJ, >, WRAPS_UJ * seconds / HOUR_S);
	g_assert_cmpint(wrapping->gap_ns, ==, 0);
	/* The seconds at both ends, and those in which it changed. */
	g_assert_cmpfloat(fabs((double)wrapping->energy_uj - (bed.counter.uj - began_uj)), <,
			  bed.counter.doubt_uj + 2 * 250 * 1e6);
	bed_clear(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bad BMCs/no joule is wrong and every gap is accounted for",
			test_no_joule_is_wrong_and_every_gap_is_accounted_for);
	return g_test_run();
}
