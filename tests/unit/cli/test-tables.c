/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/tables.h"
#include "tests/unit/cli/document.h"

static void assert_table(struct table *(*make)(const json_t *), const char *text,
			 const char *expected)
{
	g_autoptr(json_t) object = document(text);
	g_autoptr(table_t) table = make(object);
	g_autofree char *shown = table_format(table, 0);

	g_assert_cmpstr(shown, ==, expected);
}

/*
 * Waiting with its reason (its nodes are left of an earlier plan), running with what is left,
 * suspended by a person, ended.
 */
static void test_tasks(void)
{
	assert_table(
		table_of_tasks,
		"{\"run\": 1, \"now_s\": 100.0, \"tasks\": ["
		"{\"task\": 7, \"type\": \"IS.2\", \"name\": null, \"user\": \"ann\","
		" \"state\": \"waiting\", \"held\": false, \"why\": \"no idle nodes\","
		" \"arrival_s\": 40.0, \"waited_s\": 0.0, \"waits_since_s\": 40.0, \"started_s\": null,"
		" \"executed_s\": 0.0, \"ended_s\": null, \"cluster\": \"c1\", \"nodes\": [0]},"
		"{\"task\": 8, \"type\": \"CG.4\", \"name\": \"night\", \"user\": \"bob\","
		" \"state\": \"running\", \"held\": false, \"why\": null, \"arrival_s\": 10.0,"
		" \"waited_s\": 10.0, \"started_s\": 20.0, \"since_s\": 20.0, \"executed_s\": 0.0,"
		" \"expected_end_s\": 130.0, \"ended_s\": null, \"cluster\": \"c1\", \"nodes\": [0, 1, 2, 5]},"
		"{\"task\": 9, \"type\": \"IS.2\", \"name\": null, \"user\": null,"
		" \"state\": \"suspended\", \"held\": true, \"why\": null, \"arrival_s\": 0.0,"
		" \"waited_s\": 1.0, \"started_s\": 1.0, \"executed_s\": 20.0, \"left_s\": 35.0,"
		" \"ended_s\": null},"
		"{\"task\": 10, \"type\": \"IS.2\", \"name\": null, \"user\": \"ann\","
		" \"state\": \"failed\", \"held\": false, \"why\": null, \"arrival_s\": 0.0,"
		" \"waited_s\": 10.0, \"started_s\": 10.0, \"executed_s\": 60.0, \"ended_s\": 70.0,"
		" \"cluster\": \"c2\", \"nodes\": [1], \"reason\": \"rank 0: exit status 1\"}]}",
		"TASK  NAME   TYPE  USER  STATE      WAITED  TIME  LEFT  NODES (WHY)\n"
		"----  -----  ----  ----  ---------  ------  ----  ----  ----------------------------\n"
		"   7  -      IS.2  ann   waiting      1:00     -     -  (no idle nodes)\n"
		"   8  night  CG.4  bob   running      0:10  1:20  0:30  c1/0-2,5\n"
		"   9  -      IS.2  -     suspended    0:01  0:20  0:35  (held)\n"
		"  10  -      IS.2  ann   failed       0:10  1:00     -  c2/1 (rank 0: exit status "
		"1)\n");
}

/*
 * A resumed task has executed the sum of both stretches; a task whose VMs were lost waits again,
 * beside what it waited before, has executed nothing and is nowhere; a task that is being resumed
 * stands still until then.
 */
static void test_interrupted_tasks(void)
{
	assert_table(
		table_of_tasks,
		"{\"run\": 1, \"now_s\": 100.0, \"tasks\": ["
		"{\"task\": 1, \"type\": \"IS.2\", \"state\": \"running\", \"waited_s\": 5.0, \"started_s\": 5.0,"
		" \"executed_s\": 30.0, \"since_s\": 90.0, \"expected_end_s\": 110.0, \"cluster\": \"c1\","
		" \"nodes\": [3]},"
		"{\"task\": 2, \"type\": \"IS.2\", \"state\": \"waiting\", \"attempts\": 1, \"waited_s\": 12.0,"
		" \"waits_since_s\": 70.0, \"started_s\": 12.0, \"executed_s\": 0.0, \"cluster\": \"c1\","
		" \"nodes\": [0]},"
		"{\"task\": 3, \"type\": \"IS.2\", \"state\": \"resuming\", \"waited_s\": 0.0, \"started_s\": 1.0,"
		" \"executed_s\": 30.0, \"left_s\": 20.0, \"expected_end_s\": 119.0, \"cluster\": \"c1\","
		" \"nodes\": [2]}]}",
		"TASK  NAME  TYPE  USER  STATE     WAITED  TIME  LEFT  NODES (WHY)\n"
		"----  ----  ----  ----  --------  ------  ----  ----  -----------\n"
		"   1  -     IS.2  -     running     0:05  0:40  0:10  c1/3\n"
		"   2  -     IS.2  -     waiting     0:42     -     -  -\n"
		"   3  -     IS.2  -     resuming    0:00  0:30  0:20  c1/2\n");
}

/* Where one has a priority there is a column for it. */
static void test_priorities(void)
{
	assert_table(table_of_tasks,
		     "{\"run\": 1, \"now_s\": 100.0, \"tasks\": ["
		     "{\"task\": 7, \"type\": \"IS.2\", \"user\": \"ann\", \"priority\": 0,"
		     " \"state\": \"waiting\", \"waited_s\": 0.0, \"waits_since_s\": 40.0},"
		     "{\"task\": 8, \"type\": \"IS.2\", \"user\": \"ann\", \"priority\": -20,"
		     " \"state\": \"waiting\", \"waited_s\": 0.0, \"waits_since_s\": 40.0}]}",
		     "TASK  NAME  TYPE  USER  PRIO  STATE    WAITED  TIME  LEFT  NODES (WHY)\n"
		     "----  ----  ----  ----  ----  -------  ------  ----  ----  -----------\n"
		     "   7  -     IS.2  ann      0  waiting    1:00     -     -  -\n"
		     "   8  -     IS.2  ann    -20  waiting    1:00     -     -  -\n");
}

static void test_clusters(void)
{
	assert_table(
		table_of_clusters,
		"{\"clusters\": [{\"cluster\": \"c1\", \"nodes\": 4, \"idle\": 1, \"busy\": 2,"
		" \"down\": 0, \"drained\": 1, \"cores\": 1, \"memory_mib\": 112,"
		" \"types\": [\"IS.2\", \"CG.2\"], \"virt_type\": \"qemu\","
		" \"meter\": \"dcmi\", \"modelled_watts\": true, \"watts_from\": \"model\"}]}",
		"CLUSTER  NODES  IDLE  BUSY  DOWN  DRAINED  CORES  MIB  VMS   METER         TYPES\n"
		"-------  -----  ----  ----  ----  -------  -----  ---  ----  ------------  ---------\n"
		"c1           4     1     2     0        1      1  112  qemu  dcmi (model)  IS.2 CG.2\n");
}

/* Where nodes drain there is a column for them: each node has one. */
static void test_draining(void)
{
	assert_table(
		table_of_clusters,
		"{\"clusters\": [{\"cluster\": \"c1\", \"nodes\": 4, \"idle\": 0, \"busy\": 1,"
		" \"down\": 0, \"drained\": 1, \"draining\": 2, \"cores\": 1, \"memory_mib\": 112,"
		" \"types\": [\"IS.2\"], \"virt_type\": \"kvm\", \"meter\": \"dcmi\"}]}",
		"CLUSTER  NODES  IDLE  BUSY  DOWN  DRAINED  DRAINING  CORES  MIB  VMS  METER  TYPES\n"
		"-------  -----  ----  ----  ----  -------  --------  -----  ---  ---  -----  -----\n"
		"c1           4     0     1     0        1         2      1  112  kvm  dcmi   IS.2\n");
}

static void test_nodes(void)
{
	assert_table(table_of_nodes,
		     "{\"nodes\": [{\"cluster\": \"c1\", \"node\": 0, \"name\": \"c1-n0\","
		     " \"host\": \"b1\", \"state\": \"draining\", \"reason\": \"new disk\","
		     " \"task\": 7},"
		     " {\"cluster\": \"c1\", \"node\": 1, \"name\": \"c1-n1\", \"host\": null,"
		     " \"state\": \"idle\", \"reason\": null, \"task\": null}]}",
		     "NODE  NAME   HOST  STATE     TASK  REASON\n"
		     "----  -----  ----  --------  ----  --------\n"
		     "c1/0  c1-n0  b1    draining     7  new disk\n"
		     "c1/1  c1-n1  -     idle         -  -\n");
}

/*
 * Numbers have a column where any decision has them; the same again is one row, with the numbers of
 * the first.
 */
static void test_decisions(void)
{
	assert_table(
		table_of_decisions,
		"{\"decisions\": [{\"time_s\": 1.04, \"utc\": \"2026-01-31T23:59:59.540Z\", \"action\": {\"kind\": \"placeholder\","
		" \"cluster\": \"c1\", \"nodes\": [0, 1], \"start_s\": 9.0, \"end_s\": 12.5,"
		" \"objective\": 0.25, \"reason\": \"best-upr\"}},"
		" {\"time_s\": 0.5, \"action\": {\"kind\": \"placeholder\","
		" \"cluster\": \"c1\", \"nodes\": [0, 1], \"start_s\": 8.5, \"end_s\": 12.0,"
		" \"objective\": 0.25, \"reason\": \"best-upr\"}},"
		" {\"time_s\": 9.0, \"action\": {\"kind\": \"drop\", \"objective\": 0,"
		" \"reason\": \"worthless\"}}]}",
		"TIME S  UTC                   TIMES  DECISION     NODES   START S  START UTC             END S  "
		"END UTC               OBJECTIVE  REASON\n"
		"------  --------------------  -----  -----------  ------  -------  --------------------  -----  "
		"--------------------  ---------  ---------\n"
		"   1.0  2026-01-31T23:59:59Z      2  placeholder  c1/0,1      9.0  2026-02-01T00:00:07Z   12.5  "
		"2026-02-01T00:00:11Z   0.250000  best-upr\n"
		"   9.0  -                         1  drop         -             -  -                         -  "
		"-                      0.000000  worthless\n");
}

/* The list of `virtbed resume`: a user keeps task 9 suspended, a policy suspends task 12. */
static void test_suspensions(void)
{
	assert_table(
		table_of_suspensions,
		"{\"tasks\": ["
		"{\"task\": 9, \"type\": \"IS.2\", \"state\": \"suspended\", \"held\": true,"
		" \"cluster\": \"c1\", \"suspensions\": 2},"
		"{\"task\": 12, \"type\": \"CG.4\", \"state\": \"suspending\", \"held\": false,"
		" \"cluster\": \"c2\", \"suspensions\": 1}]}",
		"TASK  TYPE  STATE       CLUSTER  SUSPENSIONS  HELD\n"
		"----  ----  ----------  -------  -----------  ----\n"
		"   9  IS.2  suspended   c1                 2  yes\n"
		"  12  CG.4  suspending  c2                 1  no\n");
}

/* Whatever a controller sends, there is a table. */
static void test_rubbish(void)
{
	static const char *const texts[] = {"{}", "[]", "{\"tasks\": 7}", "{\"tasks\": [1, null]}",
					    "{\"tasks\": [{\"nodes\": \"x\", \"task\": []}]}"};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(json_t) object = document(texts[i]);
		g_autoptr(table_t) table = table_of_tasks(object);
		g_autofree char *shown = table_format(table, 0);

		g_assert_true(g_str_has_prefix(shown, "TASK  NAME"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tables/tasks", test_tasks);
	g_test_add_func("/tables/interrupted-tasks", test_interrupted_tasks);
	g_test_add_func("/tables/priorities", test_priorities);
	g_test_add_func("/tables/clusters", test_clusters);
	g_test_add_func("/tables/draining", test_draining);
	g_test_add_func("/tables/nodes", test_nodes);
	g_test_add_func("/tables/decisions", test_decisions);
	g_test_add_func("/tables/suspensions", test_suspensions);
	g_test_add_func("/tables/rubbish", test_rubbish);
	return g_test_run();
}
