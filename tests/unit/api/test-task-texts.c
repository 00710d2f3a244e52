/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts of tasks that are kept: how much memory they take, and that they are those of the tasks as
 * they are.
 */
#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>

#include "common/json.h"
#include "controller/api/task_json.h"
#include "controller/api/task_texts.h"
#include "controller/config/config_controller.h"
#include "controller/engine/engine.h"
#include "controller/experiment/experiment.h"
#include "controller/session/run_session_private.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"

/* A text has the name of a task's host for each of its nodes. */
#define NAME "a-host-with-a-name-as-long-as-it-may-be1"

static const char config_text[] =
	"name: wide\n"
	"clusters:\n"
	"  - {name: c, nodes: 4096, cores: 1, memory_mib: 128, max_mhz: 1000, base_mhz: 1000,\n"
	"     hosts: [{name: " NAME ", uri: 'test:///default'}]}\n"
	"types:\n"
	"  - {name: wide, benchmark: is, class: S, cores: 4096, memory_mib: 64, share: 1}\n"
	"estimates:\n"
	"  - {type: wide, cluster: c, etc_s: 1, eec_j: 1}\n"
	"workload: {arrival_mean_s: 1, duration_s: 200, seed: 1, utility_max: [1]}\n"
	"experiment: {policies: [fcfs], limits: [1], budget_j: 1000000,\n"
	"  mapping_interval_s: 1, duration_s: 1000}\n";

/* A run that has come to its end. */
struct bed {
	struct experiment *experiment;
	struct experiment_trial trial;
	struct backend *backend;
	struct run_session session;
	struct task_texts *texts;
};

static struct config *load(void)
{
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	const int fd = g_file_open_tmp("virtbed-texts-XXXXXX", &path, &error);
	struct config *config;

	g_assert_no_error(error);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, config_text, -1, NULL));
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

static void bed_init(struct bed *bed, struct script *script)
{
	static const char *const schedulers[] = {"unix:/nonexistent", NULL};
	struct engine_setup setup;
	struct engine_result result;

	*bed = (struct bed){.session = {.platform = &platform_machine, .config = load(), .run = 1}};
	bed->experiment = experiment_new(bed->session.config, NULL, NULL);
	g_assert_nonnull(bed->experiment);
	g_assert_true(experiment_trial_init(bed->experiment, 0, 1, &bed->trial, NULL));
	setup = experiment_trial_setup(bed->experiment, &bed->trial, &bed->experiment->policies[0],
				       1000000);
	*script = (struct script){.system = setup.system};
	bed->backend = scripted_backend_new(script);
	bed->session.fleet =
		remote_fleet_new(&platform_machine, bed->session.config, schedulers, NULL);
	bed->session.engine = engine_new(&setup, bed->backend);
	bed->texts = task_texts_new(&bed->session);
	drive(bed->session.engine, bed->backend, scripted_backend_wait, &result);
	g_assert_cmpuint(result.tasks_completed, >, 150);
}

static void bed_finish(struct bed *bed)
{
	task_texts_free(bed->texts);
	engine_free(bed->session.engine);
	backend_destroy(bed->backend);
	remote_fleet_free(bed->session.fleet);
	experiment_trial_clear(&bed->trial);
	experiment_free(bed->experiment);
	config_free(bed->session.config);
}

/* As a request for the whole list and for a hidden one does. Returns the sum of their lengths. */
static gsize read_all(struct bed *bed)
{
	gsize sum = 0;

	for (uint32_t i = 0; i < engine_tasks_count(bed->session.engine); i++) {
		g_autoptr(json_t) json =
			task_json_short(&bed->session, engine_task_at(bed->session.engine, i));
		g_autofree char *text = json_text(json);

		g_assert_cmpstr(task_texts_get(bed->texts, i, false), ==, text);
		sum += strlen(text) + strlen(task_texts_get(bed->texts, i, true));
	}
	return sum;
}

/* Bytes; 0: another allocator than the C library's is used. */
static gsize allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void kept_texts_are_bounded_by_bytes(void)
{
	struct script script;
	struct bed bed;
	gsize before, after;

	bed_init(&bed, &script);
	before = allocated();
	g_assert_cmpuint(read_all(&bed), >, 70U << 20);
	after = allocated();
	bed_finish(&bed);
	if (before == 0)
		g_test_skip(
			"the texts are right; what they take the allocator (AddressSanitizer's?) does not tell");
	else
		g_assert_cmpuint(after, <, before + (40U << 20));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-texts/are bounded by bytes", kept_texts_are_bounded_by_bytes);
	return g_test_run();
}
