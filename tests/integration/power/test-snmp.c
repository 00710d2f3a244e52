/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SNMP meter against the distribution's snmpd, with objects as metered outlets have them. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/subprocess.h"
#include "local-sched/power/power_meter.h"
#include "tests/integration/power/meter_fixture.h"

#define PASSWORD "s3cret-word"
#define OUTLETS "1.3.6.1.4.1.318.1.1.26.9.4.3.1.7"

struct fixture {
	struct meter_fixture meter;
	char *objects[2];
	GPid agent;
};

static void start_agent(struct fixture *fixture)
{
	static const char text[] = "rocommunity " PASSWORD " 127.0.0.1\n"
				   "createUser virtbed SHA \"" PASSWORD "\" AES\n"
				   "rouser virtbed priv\n"
				   "override ." OUTLETS ".1 integer 245\n"
				   "override ." OUTLETS ".2 octet_str \"24.5 W\"\n"
				   "override ." OUTLETS ".3 uinteger 0\n"
				   "override ." OUTLETS ".4 integer -1\n"
				   "override ." OUTLETS ".5 octet_str \"n/a\"\n"
				   "override ." OUTLETS ".6 counter 7000\n"
				   "override ." OUTLETS ".7 object_id .1.3.6\n";
	g_autofree char *config = meter_fixture_path(&fixture->meter, "snmpd.conf");
	g_autofree char *address = g_strdup_printf("udp:127.0.0.1:%u", fixture->meter.config.port);
	g_autofree char *log = meter_fixture_path(&fixture->meter, "snmpd.log");
	g_autofree char *state = g_strconcat("SNMP_PERSISTENT_DIR=", fixture->meter.dir, NULL);
	g_autofree char *place = g_strconcat("SNMPCONFPATH=", fixture->meter.dir, NULL);
	const char *const environment[] = {state, place, NULL};
	const char *const argv[] = {"snmpd", "-f", "-Lo", "-C", "-c", config, address, NULL};
	g_autoptr(GError) error = NULL;

	meter_fixture_write(config, text);
	fixture->agent = subprocess_spawn(argv, environment, log, &error);
	g_assert_no_error(error);
}

static void setup(struct fixture *fixture, gconstpointer snmp)
{
	meter_fixture_init(&fixture->meter, "b3");
	meter_fixture_write(fixture->meter.password_file, PASSWORD "\n");
	fixture->meter.config = (struct config_meter){
		.kind = CONFIG_METER_SNMP,
		.address = (char *)"127.0.0.1",
		.port = meter_fixture_free_port(),
		.password_file = fixture->meter.password_file,
		.snmp = GPOINTER_TO_INT(snmp),
		.privacy = CONFIG_METER_AES,
		.oid = fixture->objects,
		.oid_count = 1,
		.interval_s = 1,
	};
	fixture->objects[0] = (char *)OUTLETS ".1";
	if (fixture->meter.config.snmp == CONFIG_METER_SNMP_V3)
		fixture->meter.config.user = (char *)"virtbed";
	start_agent(fixture);
	/* It answers some time after its start. */
	for (int i = 0; i < 10 && meter_fixture_read(&fixture->meter) != 0; i++)
		continue;
	g_assert_cmpint(fixture->meter.mw, ==, 245000);
}

static void teardown(struct fixture *fixture, gconstpointer snmp)
{
	meter_fixture_close(&fixture->meter);
	subprocess_stop(fixture->agent, 5);
	meter_fixture_finish(&fixture->meter);
}

static void test_objects_are_read(struct fixture *fixture, gconstpointer snmp)
{
	static const struct {
		const char *object;
		int code;
		const char *words;
	} cases[] = {
		{OUTLETS ".3", POWER_METER_ERROR_NOT_ACTIVE, "0 W"},
		{OUTLETS ".4", POWER_METER_ERROR_GARBAGE, "-1 W"},
		{OUTLETS ".5", POWER_METER_ERROR_GARBAGE, "\"n/a\" is not a number"},
		{OUTLETS ".7", POWER_METER_ERROR_GARBAGE, "OID: "},
		{OUTLETS ".9", POWER_METER_ERROR_REJECTED, "o such "},
	};
	struct config_meter *config = &fixture->meter.config;

	g_assert_cmpstr(power_meter_source(fixture->meter.meter), ==, "snmp");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		meter_fixture_close(&fixture->meter);
		fixture->objects[0] = (char *)cases[i].object;
		g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, cases[i].code);
		g_assert_nonnull(strcasestr(fixture->meter.message, cases[i].words));
	}
	/* Tenths of a watt. */
	meter_fixture_close(&fixture->meter);
	fixture->objects[0] = (char *)OUTLETS ".1";
	config->scale = 0.1;
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 24500);
	/* The outlets of two supplies. */
	meter_fixture_close(&fixture->meter);
	config->scale = 0;
	config->oid_count = 2;
	fixture->objects[1] = (char *)OUTLETS ".2";
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 269500);
	/* A counter that has not moved. */
	meter_fixture_close(&fixture->meter);
	config->oid_count = 1;
	config->value = CONFIG_METER_WATT_HOURS;
	fixture->objects[0] = (char *)OUTLETS ".6";
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_NOT_YET);
}

static void test_wrong_secrets_are_refused(struct fixture *fixture, gconstpointer snmp)
{
	const int refusal = fixture->meter.config.snmp == CONFIG_METER_SNMP_V3
				    ? POWER_METER_ERROR_LOGIN
				    : POWER_METER_ERROR_NO_ANSWER;

	meter_fixture_write(fixture->meter.password_file, "n0t-the-w0rd\n");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, refusal);
	g_assert_null(strstr(fixture->meter.message, "n0t-the"));
}

/*
 * Has a script stand for snmpget in PATH. It has `real`, the program, and `run`, the number of this
 * run, which it counts in the file `log`. Returns what PATH was.
 */
static char *stand_in(const struct fixture *fixture, const char *log, const char *text)
{
	g_autofree char *real = g_find_program_in_path("snmpget");
	g_autofree char *script =
		g_strdup_printf("#!/bin/sh\nreal='%s'\necho x >>'%s'\nrun=$(wc -l <'%s')\n%s\n"
				"exec $real \"$@\"\n",
				real, log, log, text);
	g_autofree char *own = meter_fixture_path(&fixture->meter, "snmpget");
	char *before = g_strdup(g_getenv("PATH"));
	g_autofree char *path = g_strdup_printf("%s:%s", fixture->meter.dir, before);

	meter_fixture_write(own, script);
	g_assert_cmpint(g_chmod(own, 0700), ==, 0);
	g_setenv("PATH", path, TRUE);
	return before;
}

static gsize count_runs(const char *log)
{
	g_autofree char *text = NULL;
	gsize length;

	g_assert_true(g_file_get_contents(log, &text, &length, NULL));
	return length / strlen("x\n");
}

/* Opens meters of one agent, each of an object, as one of `set`. */
static void open_meters(const struct fixture *fixture, struct meter_set *set,
			struct meter_fixture *meters, char **objects, int count)
{
	for (int i = 0; i < count; i++) {
		meters[i] = (struct meter_fixture){.host = "b",
						   .config = fixture->meter.config,
						   .set = set};
		meters[i].config.oid = &objects[i];
		meter_fixture_open(&meters[i]);
	}
}

static void close_meters(struct meter_set *set, struct meter_fixture *meters, int count)
{
	for (int i = 0; i < count; i++) {
		meter_fixture_close(&meters[i]);
		g_free(meters[i].message);
	}
	meter_set_free(set);
}

static void read_meters(struct meter_fixture *meters, int count)
{
	int reads[16];

	for (int i = 0; i < count; i++) {
		reads[i] = meters[i].reads;
		power_meter_read(meters[i].meter, meter_fixture_on_read, &meters[i]);
	}
	for (int i = 0; i < count; i++)
		METER_FIXTURE_WAIT_FOR(meters[i].reads > reads[i]);
}

/* Each gets its own; an object that is missing takes nothing from the others. */
static void test_outlets_of_a_strip_are_read_together(struct fixture *fixture, gconstpointer snmp)
{
	enum { METERS = 4, ROUNDS = 3 };
	static const int64_t mw[METERS] = {245000, 24500, -1, 245000};
	char *objects[METERS] = {(char *)OUTLETS ".1", (char *)OUTLETS ".2", (char *)OUTLETS ".9",
				 (char *)OUTLETS ".1"};
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");
	g_autofree char *before = stand_in(fixture, log, "");
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture meters[METERS];

	open_meters(fixture, set, meters, objects, METERS);
	for (int round = 1; round <= ROUNDS; round++) {
		read_meters(meters, METERS);
		for (int i = 0; i < METERS; i++)
			g_assert_cmpint(meters[i].mw, ==, mw[i]);
		g_assert_cmpint(meters[2].code, ==, POWER_METER_ERROR_REJECTED);
	}
	close_meters(set, meters, METERS);
	g_setenv("PATH", before, TRUE);
	/* Version 1 refuses all objects for one of them, which goes apart from then on. */
	g_assert_cmpuint(count_runs(log), <=,
			 fixture->meter.config.snmp == CONFIG_METER_SNMP_V1
				 ? 1 + METERS + 2 * (ROUNDS - 1)
				 : ROUNDS);
}

/* The agent says nothing to a request for more than two objects. */
static void test_an_agent_that_drops_large_requests_is_read(struct fixture *fixture,
							    gconstpointer snmp)
{
	enum { METERS = 8 };
	char *objects[METERS];
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");
	g_autofree char *before = stand_in(
		fixture, log,
		"count=0\n"
		"for word; do case $word in 1.3.6.*) count=$((count + 1));; esac; done\n"
		"[ $count -le 2 ] || { sleep \"$5\"; echo 'Timeout: No Response' >&2; exit 1; }");
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture meters[METERS];
	gsize runs;

	for (int i = 0; i < METERS; i++)
		objects[i] = (char *)OUTLETS ".1";
	open_meters(fixture, set, meters, objects, METERS);
	read_meters(meters, METERS);
	for (int i = 0; i < METERS; i++)
		g_assert_cmpint(meters[i].mw, ==, 245000);
	runs = count_runs(log);
	read_meters(meters, METERS);
	for (int i = 0; i < METERS; i++)
		g_assert_cmpint(meters[i].mw, ==, 245000);
	g_assert_cmpuint(count_runs(log) - runs, ==, METERS / 2);
	close_meters(set, meters, METERS);
	g_setenv("PATH", before, TRUE);
}

/* After silence they are read together as before. */
static void test_a_silent_agent_fails_all_in_time(struct fixture *fixture, gconstpointer snmp)
{
	enum { METERS = 4 };
	char *objects[METERS];
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");
	g_autofree char *flag = meter_fixture_path(&fixture->meter, "silent");
	g_autofree char *text = g_strdup_printf("[ ! -e '%s' ] || { sleep \"$5\"; echo "
						"'Timeout: No Response' >&2; exit 1; }",
						flag);
	g_autofree char *before = stand_in(fixture, log, text);
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture meters[METERS];
	gsize runs;

	for (int i = 0; i < METERS; i++)
		objects[i] = (char *)OUTLETS ".1";
	for (int timeout_s = 1; timeout_s <= 4; timeout_s += 3) {
		fixture->meter.config.timeout_s = timeout_s;
		open_meters(fixture, set, meters, objects, METERS);
		meter_fixture_write(flag, "");
		read_meters(meters, METERS);
		for (int i = 0; i < METERS; i++)
			g_assert_cmpint(meters[i].code, ==, POWER_METER_ERROR_NO_ANSWER);
		g_unlink(flag);
		read_meters(meters, METERS);
		runs = count_runs(log);
		read_meters(meters, METERS);
		for (int i = 0; i < METERS; i++)
			g_assert_cmpint(meters[i].mw, ==, 245000);
		g_assert_cmpuint(count_runs(log) - runs, ==, 1);
		for (int i = 0; i < METERS; i++) {
			meter_fixture_close(&meters[i]);
			g_free(meters[i].message);
		}
	}
	meter_set_free(set);
	g_setenv("PATH", before, TRUE);
}

/* Only what has to do with the login is a refused one, which is asked again later and later. */
static void test_complaints_are_told_apart(struct fixture *fixture, gconstpointer snmp)
{
	static const struct {
		const char *complaint;
		int code;
		const char *words;
	} cases[] = {
		{"Error in packet\nReason: (genErr)", POWER_METER_ERROR_REJECTED, "genErr"},
		{"Error in packet\nReason: (tooBig)", POWER_METER_ERROR_REJECTED, "tooBig"},
		{"Error in packet\nReason: authorizationError (access denied)",
		 POWER_METER_ERROR_LOGIN, "check user"},
		{"snmpget: Failure in sendto (No route to host)", POWER_METER_ERROR_NO_ANSWER,
		 "No route"},
		{"snmpget: Unknown user name", POWER_METER_ERROR_LOGIN, "check user"},
		{"snmpget: Unknown host (pdu1)", POWER_METER_ERROR_NO_ANSWER, "resolved"},
		{"Segmentation fault", POWER_METER_ERROR_GARBAGE, "snmpget failed"},
	};
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("printf '%%s\\n' '%s' >&2; exit 1", cases[i].complaint);
		g_autofree char *before = stand_in(fixture, log, text);

		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, cases[i].code);
		g_assert_nonnull(strstr(fixture->meter.message, cases[i].words));
		g_setenv("PATH", before, TRUE);
	}
}

static gboolean on_close(gpointer data)
{
	meter_fixture_close(data);
	return G_SOURCE_REMOVE;
}

static gboolean on_start_read(gpointer data)
{
	struct meter_fixture *meter = data;

	power_meter_read(meter->meter, meter_fixture_on_read, meter);
	return G_SOURCE_REMOVE;
}

/* The run fails as a whole after one of its meters was closed, and is made again. */
static void test_a_meter_is_closed_during_a_shared_run(struct fixture *fixture, gconstpointer snmp)
{
	enum { METERS = 3 };
	char *objects[METERS] = {(char *)OUTLETS ".2", (char *)OUTLETS ".1", (char *)OUTLETS ".2"};
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");
	g_autofree char *before =
		stand_in(fixture, log, "[ $run -gt 1 ] || { sleep 0.5; echo one line; exit; }");
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture meters[METERS];

	open_meters(fixture, set, meters, objects, METERS);
	g_timeout_add(250, on_close, &meters[1]);
	for (int i = 0; i < METERS; i++)
		power_meter_read(meters[i].meter, meter_fixture_on_read, &meters[i]);
	METER_FIXTURE_WAIT_FOR(meters[0].reads == 1 && meters[2].reads == 1);
	g_assert_cmpint(meters[0].mw, ==, 24500);
	g_assert_cmpint(meters[2].mw, ==, 24500);
	g_assert_cmpint(meters[1].reads, ==, 0);
	close_meters(set, meters, METERS);
	g_setenv("PATH", before, TRUE);
	g_assert_cmpuint(count_runs(log), ==, 3);
}

/* A run ends with the time of one of its requests, which is not that of the others. */
static void test_each_request_has_its_own_time(struct fixture *fixture, gconstpointer snmp)
{
	enum { METERS = 3 };
	char *objects[METERS] = {(char *)OUTLETS ".1", (char *)OUTLETS ".1", (char *)OUTLETS ".1"};
	g_autofree char *log = meter_fixture_path(&fixture->meter, "runs");
	g_autofree char *before =
		stand_in(fixture, log, "case $run in 1) sleep 1.5;; 2) sleep 10;; esac");
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture meters[METERS];

	fixture->meter.config.timeout_s = 2;
	open_meters(fixture, set, meters, objects, METERS);
	power_meter_read(meters[0].meter, meter_fixture_on_read, &meters[0]);
	g_timeout_add(200, on_start_read, &meters[1]);
	g_timeout_add(1300, on_start_read, &meters[2]);
	METER_FIXTURE_WAIT_FOR(meters[0].reads == 1 && meters[1].reads == 1 &&
			       meters[2].reads == 1);
	g_assert_cmpint(meters[0].mw, ==, 245000);
	g_assert_cmpint(meters[1].code, ==, POWER_METER_ERROR_NO_ANSWER);
	g_assert_cmpint(meters[2].mw, ==, 245000);
	close_meters(set, meters, METERS);
	g_setenv("PATH", before, TRUE);
}

/* Something removes the files for temporary use that are old. */
static void test_what_is_tidied_is_made_again(struct fixture *fixture, gconstpointer snmp)
{
	g_autofree char *start = g_strdup_printf("virtbed-snmp-%d-", getpid());
	g_autoptr(GDir) dir = g_dir_open(g_get_tmp_dir(), 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(g_get_tmp_dir(), name, "snmp.conf", NULL);

		if (g_str_has_prefix(name, start))
			g_unlink(path);
	}
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
}

/* Whether a file below a directory has the password; links are not followed. */
static bool has_password(const char *directory)
{
	g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(directory, name, NULL);
		g_autofree char *text = NULL;

		if (g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			continue;
		if (g_file_test(path, G_FILE_TEST_IS_DIR)
			    ? has_password(path)
			    : g_file_get_contents(path, &text, NULL, NULL) &&
				      strstr(text, PASSWORD))
			return true;
	}
	return false;
}

/* What would be left of a process that is killed. */
static void test_no_file_has_the_password(struct fixture *fixture, gconstpointer snmp)
{
	g_autofree char *start = g_strdup_printf("virtbed-snmp-%d-", getpid());
	g_autoptr(GDir) dir = g_dir_open(g_get_tmp_dir(), 0, NULL);
	const char *name;
	int found = 0;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *directory = g_build_filename(g_get_tmp_dir(), name, NULL);
		g_autofree char *path = g_build_filename(directory, "snmp.conf", NULL);
		g_autofree char *target = NULL;
		g_autofree char *text = NULL;

		if (!g_str_has_prefix(name, start))
			continue;
		target = g_file_read_link(path, NULL);
		g_assert_true(target && g_str_has_prefix(target, "/proc/self/fd/"));
		g_assert_false(has_password(directory));
		/* That of SNMP v3 has a key that was derived once, not at each reading. */
		g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
		g_assert_cmpint(strstr(text, PASSWORD) != NULL, ==,
				GPOINTER_TO_INT(snmp) != CONFIG_METER_SNMP_V3);
		found++;
	}
	g_assert_cmpint(found, ==, 1);
}

/*
 * What killed processes left is removed, and nothing else: not what is locked, of another name, or
 * behind a link.
 */
static void test_what_is_left_is_swept(struct fixture *fixture, gconstpointer snmp)
{
	/* The process of that number, which is above the highest, does not live. */
	static const char *const names[] = {"virtbed-snmp-4194305-abcdef",
					    "virtbed-snmp-4194305-locked", "virtbed-snmp-4194305-x",
					    "virtbed-snmp-4194305-linked"};
	g_autofree char *other = meter_fixture_path(&fixture->meter, "other");
	g_autofree char *file = g_build_filename(other, "file", NULL);
	char *paths[G_N_ELEMENTS(names)];
	int fd;

	meter_fixture_close(&fixture->meter);
	g_assert_cmpint(g_mkdir(other, 0700), ==, 0);
	meter_fixture_write(file, "x");
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *link = NULL;

		paths[i] = g_build_filename(g_get_tmp_dir(), names[i], NULL);
		link = g_build_filename(paths[i], "link", NULL);
		if (i == 3) {
			g_assert_cmpint(symlink(other, paths[i]), ==, 0);
			continue;
		}
		g_assert_cmpint(g_mkdir(paths[i], 0700), ==, 0);
		g_assert_cmpint(symlink(other, link), ==, 0);
	}
	fd = open(paths[1], O_RDONLY | O_DIRECTORY);
	g_assert_cmpint(flock(fd, LOCK_EX), ==, 0);
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *link = g_build_filename(paths[i], "link", NULL);

		g_assert_cmpint(g_file_test(paths[i], G_FILE_TEST_EXISTS), ==, i > 0);
		g_unlink(i == 3 ? paths[i] : link);
		g_rmdir(paths[i]);
		g_free(paths[i]);
	}
	g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
	close(fd);
}

/* Whether the peer is installed; snmpd lies in sbin. */
static bool has_peer(void)
{
	g_autofree char *path = g_strconcat(g_getenv("PATH"), ":/usr/sbin:/sbin", NULL);
	g_autofree char *agent = NULL;
	g_autofree char *client = NULL;

	g_setenv("PATH", path, TRUE);
	agent = g_find_program_in_path("snmpd");
	client = g_find_program_in_path("snmpget");
	return agent && client;
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (!has_peer()) {
		puts("1..0 # SKIP snmpd and snmpget are not installed");
		return g_getenv("CI") || g_getenv("VIRTBED_STRICT") ? 1 : 0;
	}
#define ADD(version, name, function)                                                               \
	g_test_add("/snmp/" #version " " name, struct fixture,                                     \
		   GINT_TO_POINTER(CONFIG_METER_SNMP_##version), setup, function, teardown)
	ADD(V3, "objects are read", test_objects_are_read);
	ADD(V1, "objects are read", test_objects_are_read);
	ADD(V2C, "objects are read", test_objects_are_read);
	ADD(V3, "wrong secrets are refused", test_wrong_secrets_are_refused);
	ADD(V2C, "wrong secrets are refused", test_wrong_secrets_are_refused);
	ADD(V3, "outlets of a strip are read together", test_outlets_of_a_strip_are_read_together);
	ADD(V1, "outlets of a strip are read together", test_outlets_of_a_strip_are_read_together);
	ADD(V2C, "outlets of a strip are read together", test_outlets_of_a_strip_are_read_together);
	ADD(V2C, "an agent that drops large requests is read",
	    test_an_agent_that_drops_large_requests_is_read);
	ADD(V2C, "a silent agent fails all in time", test_a_silent_agent_fails_all_in_time);
	ADD(V3, "complaints are told apart", test_complaints_are_told_apart);
	ADD(V2C, "a meter is closed during a shared run",
	    test_a_meter_is_closed_during_a_shared_run);
	ADD(V2C, "each request has its own time", test_each_request_has_its_own_time);
	ADD(V2C, "what is tidied is made again", test_what_is_tidied_is_made_again);
	ADD(V3, "no file has the password", test_no_file_has_the_password);
	ADD(V3, "what is left is swept", test_what_is_left_is_swept);
	return g_test_run();
}
