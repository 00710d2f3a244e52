/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy that decides on a thread of its own: which promises wait for tasks that are late, and
 * when waiting tasks are mapped after suspensions, resumptions and migrations.
 */
#include <glib.h>

#include "tests/unit/engine/async_stage.h"

static const struct async_scene scenes[] = {
	{
		.name = "that a promise slides again and again is said once of each reason, and it waits no longer than "
			"what is late",
		.policy = "easy",
		.rows = {WIDE + 1, WIDE + 1, NARROW + 1},
		.late_s = 55,
		/*
		 * At 25 s its nodes are busy; at 30 and 60 s what runs there is late, which ends
		 * before the next event.
		 */
		.log = "10 start 0.1 c0 0,1\n65 start 1.1 c0 0,1\n80 start 2.1 c0 0\n",
		.slid = "1 1 c1 ",
		.completed = 3,
	},
	{
		.name = "a promise does not wait for what is late and was suspended",
		.policy = "easy",
		.rows = {WIDE + 1, WIDE + 1, NARROW + 1},
		.late_s = 55,
		/* at 30 s, when it was moved to 60 s */
		.deeds = {{NOTHING, 0}, {SUSPEND, 0}},
		.log = "10 start 0.1 c0 0,1\n30 suspend 0.1 #1\n30 start 1.1 c0 0,1\n45 start 2.1 c0 0\n100 kill 0.1\n",
		.slid = "1 1 c1 ",
		.completed = 2,
	},
	{
		.name = "a promise does not wait for what is late and was migrated away",
		.policy = "easy",
		.rows = {NARROW + 1, NARROW + 1, NARROW + 1, WIDE + 1},
		.late_s = 55,
		/* at 30 s, when it was moved to 60 s */
		.deeds = {{NOTHING, 0}, {NOTHING, 0}, {MIGRATE, 0}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n30 migrate 0.1 #1 c0 1\n32 start 2.1 c0 0\n"
		       "65 start 3.1 c0 0,1\n",
		.slid = "2 2 c2 3 c3 ",
		.completed = 4,
	},
	{
		.name = "a promise does not wait for what is late and could not be migrated",
		.policy = "easy",
		.rows = {NARROW + 1, NARROW + 1, NARROW + 1, WIDE + 1},
		.late_s = 55,
		.unmoved = true,
		.deeds = {{NOTHING, 0}, {NOTHING, 0}, {MIGRATE, 0}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n30 migrate 0.1 #1 c0 1\n32 start 2.1 c0 1\n"
		       "65 start 3.1 c0 0,1\n",
		.slid = "2 2 c2 3 c3 ",
		.completed = 4,
	},
	{
		.name = "waiting tasks are mapped when a migration has freed a node",
		.policy = "max-upr",
		.rows = {NARROW + 1},
		.later = {{12, MIGRATE, 0}, {13, SUBMIT, NARROW}},
		.log = "10 start 0.1 c0 0\n12 migrate 0.1 #1 c0 1\n14 start 1.1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "waiting tasks are mapped when a failed migration has freed a node",
		.policy = "max-upr",
		.rows = {NARROW + 1},
		.unmoved = true,
		.later = {{12, MIGRATE, 0}, {13, SUBMIT, NARROW}},
		.log = "10 start 0.1 c0 0\n12 migrate 0.1 #1 c0 1\n14 start 1.1 c0 1\n",
		.completed = 2,
	},
	{
		.name = "migrating what is not late moves no promise",
		.policy = "easy",
		.rows = {NARROW + 1, WIDE + 1, WIDE + 1},
		.deeds = {{SUBMIT, NARROW}, {MIGRATE, 0}},
		.log = "10 start 0.1 c0 0\n11 migrate 0.1 #1 c0 1\n25 start 1.1 c0 0,1\n40 start 2.1 c0 0,1\n"
		       "55 start 3.1 c0 0\n",
		.completed = 4,
	},
	{
		.name = "waiting tasks are mapped when nodes without a claim have been left",
		.policy = "easy",
		.rows = {WIDE + 1},
		.leaves_s = 5,
		.later = {{12, SUSPEND, 0}, {13, SUBMIT, WIDE}},
		.log = "10 start 0.1 c0 0,1\n12 suspend 0.1 #1\n17 start 1.1 c0 0,1\n100 kill 0.1\n",
		.completed = 1,
	},
	{
		.name = "a promise does not wait for a claim that is late and was taken back",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = {NARROW + 1, NARROW + 1},
		.leaves_s = 35,
		.deeds = {{SUBMIT, URGENT}},
		/*
		 * Task 2 is to come when task 0 has left, and task 3 behind it; at 30 s that was
		 * moved to 60 s. Task 0 would be resumed first: EASY knows nothing of it.
		 */
		.later = {{13, EASY, 0}, {14, SUBMIT, WIDE}, {40, CANCEL, 2}, {41, SUSPEND, 0}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n46 start 3.1 c0 0,1\n100 kill 0.1\n",
		.slid = "3 3 c3 ",
		.completed = 2,
	},
	{
		.name = "the task that was to follow is mapped when a task could not be suspended",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{SUBMIT, URGENT}},
		.step = {.task = 0, .n = 1, .way = SCRIPT_STAYED, .after_s = 2, .times = 1},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n13 suspend 0.1 #1\n13 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n",
		.completed = 3,
	},
	{
		.name = "a task that could not be resumed is mapped at once, and started again in the end",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{SUBMIT, URGENT}},
		.step = {.task = 0, .n = 1, .resume = true, .way = SCRIPT_STAYED, .after_s = 2},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n25 resume 0.1 #1 c0 1\n"
		       "27 resume 0.1 #1 c0 0\n29 resume 0.1 #1 c0 0\n31 kill 0.1\n31 start 0.2 c0 0\n",
		.completed = 3,
	},
	{
		.name = "cancelling a suspended task that was not late moves no promise",
		.policy = "easy",
		.rows = {NARROW + 1, NARROW + 1, WIDE + 1},
		.late_s = 5,
		/* when task 0 ended early */
		.deeds = {{SUBMIT, NARROW}, {SUSPEND, 1}, {NOTHING, 0}, {CANCEL, 1}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 1.1 #1\n15 kill 1.1\n"
		       "25 start 2.1 c0 0,1\n40 start 3.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "cancelling a task that is being resumed moves no promise",
		.policy = "easy",
		.rows = {NARROW + 1, NARROW + 1, WIDE + 1},
		.late_s = 5,
		.deeds = {{SUBMIT, NARROW}, {SUSPEND, 1}, {NOTHING, 0}, {RESUME_AND_CANCEL, 1}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 1.1 #1\n15 resume 1.1 #1 c0 0\n15 kill 1.1\n"
		       "25 start 2.1 c0 0,1\n40 start 3.1 c0 0\n",
		.completed = 3,
	},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	async_stage_add(scenes, G_N_ELEMENTS(scenes));
	return g_test_run();
}
