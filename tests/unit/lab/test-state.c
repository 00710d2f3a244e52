/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/lab_state.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BMC                                                                                        \
	"\"bmc\": {\"address\": \"127.0.0.1\", \"port\": 20623, \"user\": \"ADMIN\", "             \
	"\"password_file\": \"/run/x/bmc-password\", \"cipher_suite\": 3, "                        \
	"\"privilege\": \"ADMINISTRATOR\", \"sensor\": \"Pwr Consumption\"}"
#define BLADE(name)                                                                                \
	"{\"name\": \"" name "\", \"uri\": \"uri-of-" name "\", \"peer_uri\": \"peer-of-" name     \
	"\", \"bridge\": \"br7\", " BMC "}"

/* A configuration of one cluster with two hosts: one on blade b1, one with a URI of its own. */
static struct config *new_config(const char *blade)
{
	struct config *config = g_new0(struct config, 1);

	config->name = g_strdup("unit-test-no-such-lab");
	config->clusters_count = 1;
	config->clusters = g_new0(struct config_cluster, 1);
	config->clusters[0].name = g_strdup("c1");
	config->clusters[0].hosts_count = 2;
	config->clusters[0].hosts = g_new0(struct config_host, 2);
	config->clusters[0].hosts[0].blade = g_strdup(blade);
	config->clusters[0].hosts[0].bridge = g_strdup("br0");
	config->clusters[0].hosts[1].uri = g_strdup("test:///default");
	return config;
}

static bool resolve(struct config *config, const char *text, GError **error)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("lab-XXXXXX.json", &path, NULL);
	bool done;

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	done = lab_state_resolve_file(config, path, error);
	g_unlink(path);
	return done;
}

static void test_hosts_get_what_their_blade_offers(void)
{
	g_autoptr(config_t) config = new_config("b2");
	const struct config_host *host = &config->clusters[0].hosts[0];
	g_autoptr(GError) error = NULL;

	g_assert_true(resolve(config, "{\"blades\": [" BLADE("b1") ", " BLADE("b2") "]}", &error));
	g_assert_no_error(error);
	g_assert_cmpstr(host->uri, ==, "uri-of-b2");
	g_assert_cmpstr(host->peer_uri, ==, "peer-of-b2");
	g_assert_cmpstr(host->bridge, ==, "br7");
	g_assert_cmpint(host->meter->kind, ==, CONFIG_METER_IPMI);
	g_assert_cmpstr(host->meter->address, ==, "127.0.0.1");
	g_assert_cmpuint(host->meter->port, ==, 20623);
	g_assert_cmpstr(host->meter->user, ==, "ADMIN");
	g_assert_cmpstr(host->meter->password_file, ==, "/run/x/bmc-password");
	g_assert_cmpuint(host->meter->cipher_suite, ==, 3);
	g_assert_cmpstr(host->meter->privilege, ==, "ADMINISTRATOR");
	g_assert_cmpuint(host->meter->sensor_count, ==, 1);
	g_assert_cmpstr(host->meter->sensor[0], ==, "Pwr Consumption");
	g_assert_cmpfloat_with_epsilon(host->meter->interval_s, 1, 1e-12);
	g_assert_cmpstr(config->clusters[0].hosts[1].uri, ==, "test:///default");
	g_assert_null(config->clusters[0].hosts[1].meter);
}

static void test_a_blade_may_speak_redfish(void)
{
	static const char text[] =
		"{\"blades\": [{\"name\": \"b1\", \"uri\": \"u\", \"bridge\": \"br7\", \"bmc\": "
		"{\"kind\": \"redfish\", \"address\": \"127.0.0.1\", \"port\": 20624, \"user\": "
		"\"ADMIN\", \"password_file\": \"/run/x/p\"%s}}]}";
	g_autofree char *good = g_strdup_printf(text, ", \"ca_file\": \"/run/x/c\"");
	g_autofree char *bad = g_strdup_printf(text, "");
	g_autoptr(config_t) config = new_config("b1");
	const struct config_host *host = &config->clusters[0].hosts[0];
	g_autoptr(GError) error = NULL;

	/* Nothing is left of what another kind of BMC had. */
	g_assert_true(resolve(config, "{\"blades\": [" BLADE("b1") "]}", NULL));
	g_assert_true(resolve(config, good, &error));
	g_assert_no_error(error);
	g_assert_cmpint(host->meter->kind, ==, CONFIG_METER_REDFISH);
	g_assert_cmpuint(host->meter->port, ==, 20624);
	g_assert_cmpstr(host->meter->ca_file, ==, "/run/x/c");
	g_assert_null(host->meter->sensor);
	g_assert_null(host->meter->privilege);
	g_assert_cmpuint(host->meter->cipher_suite, ==, 0);
	g_assert_false(resolve(config, bad, &error));
	g_assert_error(error, LAB_STATE_ERROR, LAB_STATE_ERROR_BROKEN);
}

static void test_a_given_sampling_interval_is_kept(void)
{
	g_autoptr(config_t) config = new_config("b1");
	struct config_host *host = &config->clusters[0].hosts[0];

	host->meter = g_new0(struct config_meter, 1);
	host->meter->interval_s = 0.25;
	g_assert_true(resolve(config, "{\"blades\": [" BLADE("b1") "]}", NULL));
	g_assert_cmpfloat_with_epsilon(host->meter->interval_s, 0.25, 1e-12);
	/* Twice gives the same: a daemon may resolve again after the lab was restarted. */
	g_assert_true(resolve(config, "{\"blades\": [" BLADE("b1") "]}", NULL));
	g_assert_cmpstr(host->uri, ==, "uri-of-b1");
}

static void test_a_failure_changes_nothing(void)
{
	static const struct {
		const char *text;
		enum lab_state_error code;
	} cases[] = {
		{"{\"blades\": [" BLADE("b1") "]}", LAB_STATE_ERROR_BLADE},
		{"{\"blades\": []}", LAB_STATE_ERROR_BLADE},
		{"{\"blades\": {}}", LAB_STATE_ERROR_BROKEN},
		{"{}", LAB_STATE_ERROR_BROKEN},
		{"[", LAB_STATE_ERROR_BROKEN},
		{"{\"blades\": [{\"name\": \"b9\"}]}", LAB_STATE_ERROR_BROKEN},
		{"{\"blades\": [{\"name\": \"b9\", \"uri\": \"u\", \"bridge\": \"b\"}]}",
		 LAB_STATE_ERROR_BROKEN},
		{"{\"blades\": [{\"name\": \"b9\", \"uri\": \"u\", \"bridge\": \"b\", \"bmc\": "
		 "{\"address\": \"a\", \"port\": 0}}]}",
		 LAB_STATE_ERROR_BROKEN},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(config_t) config = new_config("b9");
		g_autoptr(GError) error = NULL;

		g_assert_false(resolve(config, cases[i].text, &error));
		g_assert_error(error, LAB_STATE_ERROR, (int)cases[i].code);
		g_assert_null(config->clusters[0].hosts[0].uri);
		g_assert_null(config->clusters[0].hosts[0].meter);
		g_assert_cmpstr(config->clusters[0].hosts[0].bridge, ==, "br0");
	}
}

static void test_a_lab_that_is_not_up_is_named_with_its_cure(void)
{
	g_autoptr(config_t) config = new_config("b1");
	g_autoptr(GError) error = NULL;

	g_assert_false(lab_state_resolve(config, NULL, &error));
	g_assert_error(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN);
	g_assert_nonnull(strstr(error->message, "virtbed lab up"));
	g_clear_error(&error);
	g_assert_false(lab_state_resolve(config, "../escape", &error));
	g_assert_error(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN);
}

static void test_a_configuration_without_blades_needs_no_lab(void)
{
	g_autoptr(config_t) config = new_config(NULL);
	g_autoptr(GError) error = NULL;

	g_assert_true(lab_state_resolve(config, NULL, &error));
	g_assert_no_error(error);
}

static void test_names(void)
{
	static const char *const good[] = {"a", "one-machine", "A_1", "0"};
	static const char *const bad[] = {"",         "-a",
					  "a/b",      "..",
					  "a b",      "a.b",
					  "\xc3\xa4", "12345678901234567890123456789012345678901"};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
		g_assert_true(lab_state_name_ok(good[i]));
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(lab_state_name_ok(bad[i]));
}

static void test_a_process_is_told_from_a_later_one_of_its_pid(void)
{
	struct lab_state_process us = {getpid(), lab_state_start_ticks(getpid())};
	struct lab_state_process older = {getpid(), us.start_ticks - 1};

	g_assert_cmpuint(us.start_ticks, >, 0);
	g_assert_true(lab_state_process_alive(us));
	g_assert_false(lab_state_process_alive(older));
	g_assert_false(lab_state_process_alive((struct lab_state_process){0, 0}));
	g_assert_false(lab_state_process_alive((struct lab_state_process){-1, 1}));
}

static void test_a_zombie_is_not_alive(void)
{
	struct lab_state_process process;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
	process = (struct lab_state_process){pid, lab_state_start_ticks(pid)};
	g_assert_cmpuint(process.start_ticks, >, 0);
	g_assert_false(lab_state_process_alive(process));
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/state/hosts get what their blade offers",
			test_hosts_get_what_their_blade_offers);
	g_test_add_func("/lab/state/a blade may speak Redfish", test_a_blade_may_speak_redfish);
	g_test_add_func("/lab/state/a given sampling interval is kept",
			test_a_given_sampling_interval_is_kept);
	g_test_add_func("/lab/state/a failure changes nothing", test_a_failure_changes_nothing);
	g_test_add_func("/lab/state/a lab that is not up is named with its cure",
			test_a_lab_that_is_not_up_is_named_with_its_cure);
	g_test_add_func("/lab/state/a configuration without blades needs no lab",
			test_a_configuration_without_blades_needs_no_lab);
	g_test_add_func("/lab/state/names", test_names);
	g_test_add_func("/lab/state/a process is told from a later one of its pid",
			test_a_process_is_told_from_a_later_one_of_its_pid);
	g_test_add_func("/lab/state/a zombie is not alive", test_a_zombie_is_not_alive);
	return g_test_run();
}
