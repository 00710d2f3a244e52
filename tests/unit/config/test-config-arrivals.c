/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks that are given: in a file, whose errors name line and field, and in a list. */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"

static const char head[] =
	"name: t\n"
	"clusters: [{name: a, nodes: 2, cores: 1, memory_mib: 100}]\n"
	"types:\n"
	"  - {name: x, benchmark: is, class: S, cores: 2, memory_mib: 100, share: 1}\n"
	"  - {name: y, benchmark: cg, class: S, cores: 2, memory_mib: 100, share: 0, "
	"utility_max: 7}\n"
	"estimates:\n"
	"  - {type: x, cluster: a, etc_s: 10, eec_j: 3}\n"
	"  - {type: y, cluster: a, etc_s: 10, eec_j: 3}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 100}\n";

/* Loads a configuration with that workload; beside it is tasks.csv with `tasks`. */
static struct config *load(const char *workload, const char *tasks, bool controller, GError **error)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-arrivals-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *file = g_build_filename(dir, "tasks.csv", NULL);
	g_autofree char *saved = g_build_filename(dir, "saved.yaml", NULL);
	g_autofree char *text = g_strconcat(head, "workload: ", workload, "\n", NULL);
	struct config *config;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	if (tasks)
		g_assert_true(g_file_set_contents(file, tasks, -1, NULL));
	config = controller ? config_controller_load(path, error) : config_load(path, error);
	g_unlink(file);
	/* What is saved needs no file. */
	if (config && controller) {
		g_autofree char *digest = config_workload_digest(config->workload);
		g_autofree char *again = NULL;

		g_assert_true(config_save(config, saved, NULL));
		config_free(config);
		config = config_controller_load(saved, error);
		g_assert_nonnull(config);
		again = config_workload_digest(config->workload);
		g_assert_cmpstr(again, ==, digest);
		g_unlink(saved);
	}
	g_unlink(path);
	g_rmdir(dir);
	return config;
}

static void test_file(void)
{
	static const char tasks[] = "# exported\r\n"
				    "arrival_s , type, utility\r\n"
				    "\r\n"
				    "4.3333333333333339,x,3 # late\r\n"
				    "  0.1 , y\r\n"
				    "1e1,y,2";
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load("{arrivals: tasks.csv}", tasks, true, &error);
	const struct config_workload *workload;

	g_assert_no_error(error);
	workload = config->workload;
	g_assert_null(workload->arrivals);
	g_assert_cmpuint(workload->list_count, ==, 3);
	g_assert_cmpstr(workload->list[0].type, ==, "x");
	g_assert_cmpfloat(workload->list[0].arrival_s, ==, 4.3333333333333339);
	g_assert_cmpuint(workload->list[0].utility, ==, 3);
	g_assert_cmpuint(workload->list[1].utility, ==, 0);
	g_assert_cmpfloat(config_workload_duration_s(workload), ==, 10);
	g_assert_true(config_times_known(config));
}

/* A column of users, and their digests, which the lists without users have as ever. */
static void test_users(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) with =
		load("{arrivals: tasks.csv}",
		     "arrival_s,type,utility,user\n1,x,3,ann\n2,y,, bob \n3,y,4,\n", true, &error);
	g_autoptr(config_t) without =
		load("{arrivals: tasks.csv}", "1,x,3\n2,y\n3,y,4\n", true, &error);
	g_autoptr(config_t) drawn =
		load("{users: 3, think_s: 2, duration_s: 9, utility_max: [1]}", NULL, true, &error);
	g_autofree char *digest_with = NULL;
	g_autofree char *digest_without = NULL;
	g_autofree char *users = NULL;
	g_autofree char *none = NULL;
	g_autofree char *former = NULL;
	g_autofree char *other = NULL;

	g_assert_no_error(error);
	g_assert_cmpstr(with->workload->list[0].user, ==, "ann");
	g_assert_cmpstr(with->workload->list[1].user, ==, "bob");
	g_assert_cmpuint(with->workload->list[1].utility, ==, 0);
	g_assert_null(with->workload->list[2].user);
	g_assert_true(config_workload_reacts(with->workload));
	g_assert_false(config_workload_reacts(without->workload));
	digest_with = config_workload_digest(with->workload);
	digest_without = config_workload_digest(without->workload);
	g_assert_cmpstr(digest_without, ==,
			"2d475b31aee4f0ff8eaf771b0d55f6f3153aa28977d6cbcdac4ba720a4ed42ca");
	g_assert_cmpstr(digest_with, !=, digest_without);
	users = config_workload_users_digest(with);
	g_assert_cmpstr(users, ==, digest_with);
	none = config_workload_users_digest(without);
	g_assert_null(none);
	g_assert_true(config_times_known(drawn));
	former = config_workload_users_digest(drawn);
	drawn->workload->think_s = 3;
	other = config_workload_users_digest(drawn);
	g_assert_nonnull(former);
	g_assert_cmpstr(former, !=, other);
}

/* The file need not be where a local scheduler is. */
static void test_local_scheduler(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load("{arrivals: elsewhere.csv}", NULL, false, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(config->workload->list_count, ==, 0);
}

static void test_errors(void)
{
	static const struct {
		const char *workload, *tasks, *words;
	} cases[] = {
		{"{arrivals: tasks.csv}", "1,x,2\n\n2,z,1\n",
		 "workload.arrivals: 'tasks.csv', line 3: type: no type 'z' in types"},
		{"{arrivals: tasks.csv}", "1,x,0",
		 "line 1: utility: '0' is no whole number above 0"},
		{"{arrivals: tasks.csv}", "1,x,1.5", "line 1: utility: '1.5' is no whole number"},
		{"{arrivals: tasks.csv}", "1,y\n1,x\n",
		 "line 2: utility: missing; give one, or type 'x' a utility_max"},
		{"{arrivals: tasks.csv}", "1,y\n-1,y\n", "line 2: arrival_s: '-1' is no time"},
		{"{arrivals: tasks.csv}", "1,y\nnan,y\n", "line 2: arrival_s: 'nan' is no time"},
		{"{arrivals: tasks.csv}", "1,y\narrival_s,type,utility\n",
		 "line 2: arrival_s: 'arrival_s' is no time"},
		{"{arrivals: tasks.csv}", "1", "line 1: type: missing"},
		{"{arrivals: tasks.csv}", "1,x,2,ann,3", "line 1: user: more than 4 fields"},
		{"{arrivals: tasks.csv}", "1,x,2,,,,3", "line 1: user: more than 4 fields"},
		{"{arrivals: tasks.csv, users: 2}", "1,y\n",
		 "workload.users: of drawn tasks, and "},
		{"{users: 2, utility_max: [1]}", NULL,
		 "workload.duration_s: missing; users submit tasks in this time"},
		{"{users: 2, load: 1, duration_s: 5, utility_max: [1]}", NULL,
		 "workload.load: of tasks that arrive at their own times"},
		{"{arrival_mean_s: 2, duration_s: 5, think_mean_s: 1, utility_max: [1]}", NULL,
		 "workload.think_mean_s: of users, and there are none"},
		{"{users: 2, duration_s: 5, think_mean_s: 1, think_s: 1, utility_max: [1]}", NULL,
		 "workload.think_s: users think either"},
		{"{arrivals: tasks.csv}", "# none\n", "'tasks.csv' has no task"},
		{"{arrivals: tasks.csv}", "1,\xff,2\n", "'tasks.csv' is no text in UTF-8"},
		{"{arrivals: tasks.csv}", NULL, "workload.arrivals: '"},
		{"{arrivals: tasks.csv, duration_s: 5}", "1,y\n",
		 "workload.duration_s: of drawn tasks, and "},
		{"{arrivals: tasks.csv, utility_max: [1]}", "1,y\n",
		 "workload.utility_max: of drawn"},
		{"{arrivals: tasks.csv, list: [{type: y, arrival_s: 1}]}", "1,y\n",
		 "workload.arrivals: 'tasks.csv', but there is a list as well"},
		{"{list: [{type: y, arrival_s: 1}, {type: z, arrival_s: 1}]}", NULL,
		 "workload.list[1].type: no type 'z' in types"},
		{"{list: [{type: y, arrival_s: -1}]}", NULL, "workload.list[0].arrival_s: -1"},
		{"{seed: 3}", NULL, "workload.utility_max: missing"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(load(cases[i].workload, cases[i].tasks, true, &error));
		g_assert_nonnull(error);
		if (!strstr(error->message, cases[i].words))
			g_error("\"%s\" is not in: %s", cases[i].words, error->message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config-arrivals/a file is read into the list", test_file);
	g_test_add_func("/config-arrivals/a local scheduler needs no file", test_local_scheduler);
	g_test_add_func("/config-arrivals/tasks have users", test_users);
	g_test_add_func("/config-arrivals/errors name line and field", test_errors);
	return g_test_run();
}
