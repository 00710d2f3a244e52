/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to a service, over its socket, in virtual time by a scripted backend: what people
 * submit, ask of their tasks and do with nodes. Input: as api_bed.h says. The service comes to its
 * end, all it took on is in the store as it is in memory, and what was kept of scripts can be read.
 */
#include <math.h>
#include <stdlib.h>

#include "common/json.h"
#include "controller/service/run_service_private.h"
#include "controller/service/run_service_scripts.h"
#include "controller/store/store_private.h"
#include "tests/fuzz/api_bed.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"

static const char config_text[] =
	"name: fuzz\n"
	"clusters:\n"
	"  - {name: c, nodes: 2, cores: 1, memory_mib: 128, max_mhz: 1000, base_mhz: 1000,\n"
	"     hosts: [{name: h, uri: 'test:///default'}]}\n"
	"types:\n"
	"  - {name: one, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 0.5}\n"
	"  - {name: two, benchmark: is, class: S, cores: 2, memory_mib: 64, share: 0.5}\n"
	"  - {name: short, benchmark: script, cores: 1, memory_mib: 64, share: 0, time_s: 60}\n"
	"  - {name: pair, benchmark: script, nodes: 2, memory_mib: 64, share: 0, time_s: 90}\n"
	"estimates:\n"
	"  - {type: one, cluster: c, etc_s: 15, eec_j: 15}\n"
	"  - {type: two, cluster: c, etc_s: 20, eec_j: 40}\n"
	"workload: {arrival_mean_s: 8, duration_s: 80, utility_max: [1, 8]}\n"
	"experiment: {policies: [easy], limits: [1], budget_j: 1000,\n"
	"  mapping_interval_s: 5, duration_s: 100}\n"
	"service: {policy: easy, mapping_interval_s: 5, tasks_max: 60, user_tasks_max: 50}\n";

/* What all inputs share. */
static struct api_bed bed;
static struct store_sync *synced;
static int64_t row;

static void close_bed(void)
{
	store_sync_free(synced, NULL);
	api_bed_close(&bed);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct store_run run = {.policy = (char *)"easy", .limit = 1, .repeat = 1};
	g_autoptr(GError) error = NULL;

	fuzz_silence();
	api_bed_open(&bed, config_text);
	bed.plan.serve = true;
	run_service_check(bed.session.config, &error);
	g_assert_no_error(error);
	fuzz_check(store_add_run(bed.session.store, &run, NULL));
	row = run.run;
	synced = store_sync_new(bed.session.store, NULL);
	fuzz_check(synced != NULL);
	atexit(close_bed);
	return 0;
}

static struct run_service make_service(void)
{
	const struct config_service config = config_service_of(bed.session.config);
	struct run_service service = {
		.session = &bed.session,
		.config = config,
		.experiment = bed.experiment,
		.workload = workload_open_new(config.tasks_max),
		.submissions =
			g_ptr_array_new_with_free_func((GDestroyNotify)store_submission_free),
		.keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.row = {.run = row, .policy = (char *)"easy"},
		.sync = synced,
		.recorder =
			recorder_store_new(bed.session.store, row, bed.experiment->system, true),
	};

	run_service_energy_init(&service);
	service.setup =
		experiment_setup(bed.experiment, service.workload, &bed.experiment->policies[0], 0);
	service.setup.open = service.workload;
	service.setup.moments = POLICY_AT_BOTH;
	service.setup.record_changes = true;
	service.setup.platform = &platform_machine;
	service.setup.apart = true;
	service.setup.recorder = recorder_store_engine(service.recorder);
	return service;
}

static void clear_service(struct run_service *service)
{
	engine_free(service->engine);
	backend_destroy(service->backend);
	recorder_store_free(service->recorder);
	workload_free(service->workload);
	g_ptr_array_unref(service->submissions);
	g_hash_table_unref(service->keys);
	run_service_energy_clear(service);
	fuzz_check(database_exec(
		bed.session.store->database,
		"DELETE FROM submission; DELETE FROM drain; DELETE FROM task; DELETE FROM event;"
		"DELETE FROM decision; DELETE FROM suspension; DELETE FROM suspension_vm;",
		"begin again", NULL));
}

/* What its local scheduler would be sent can be read, if it is a script. */
static void check_script(const struct run_service *service, uint32_t task)
{
	g_autoptr(json_t) body = json_object();
	g_autoptr(GError) error = NULL;

	run_service_describe(task, body, (void *)service, &error);
	g_assert_no_error(error);

	const json_t *sent = json_object_get(body, "script");
	g_autoptr(task_script_t) script = sent ? task_script_parse(sent, &error) : NULL;

	g_assert_no_error(error);
}

static void check_record(const struct run_service *service)
{
	g_autoptr(GPtrArray) rows = store_submissions(bed.session.store, row, NULL);

	fuzz_check(rows && rows->len == service->submissions->len);
	for (guint i = 0; i < rows->len; i++) {
		const struct store_submission *kept = rows->pdata[i];
		const struct store_submission *told = service->submissions->pdata[i];

		fuzz_check(kept->task == i && kept->first <= i && i < kept->first + kept->count);
		g_assert_cmpstr(kept->type, ==, told->type);
		g_assert_cmpstr(kept->name, ==, told->name);
		g_assert_cmpstr(kept->key, ==, told->key);
		fuzz_check(kept->priority == told->priority && kept->held == told->held &&
			   kept->cancelled == told->cancelled);
		fuzz_check(kept->utility_max > 0 && isfinite(kept->utility_max));
		check_script(service, i);
	}
}

static void serve(struct run_service *service, struct api_requests *requests)
{
	double calls_s[API_BED_REQUESTS_MAX];
	const struct script script = {
		.system = service->setup.system,
		.watts = 2,
		.suspend_s = 1.5,
		.resume_s = 2.5,
		.kills = true,
		.calls_s = calls_s,
		.calls_count = API_BED_REQUESTS_MAX,
		.call = api_requests_ask_next,
		.data = requests,
	};
	struct engine_result result;

	for (uint32_t i = 0; i < API_BED_REQUESTS_MAX; i++)
		calls_s[i] = 1 + 3.5 * i;
	service->backend = scripted_backend_new(&script);
	service->engine = engine_new(&service->setup, service->backend);
	bed.session.engine = service->engine;
	bed.session.service = service;
	bed.session.run = row;
	drive(service->engine, service->backend, scripted_backend_wait, &result);
	bed.session.service = NULL;
	bed.session.engine = NULL;
	bed.session.run = 0;
	fuzz_check(result.ended_by != ENGINE_END_NONE && result.ended_by != ENGINE_END_ABORTED);
	fuzz_check(recorder_store_finish(service->recorder, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api_requests requests = api_requests_read(&bed, data, size);
	struct run_service service = make_service();

	serve(&service, &requests);
	check_record(&service);
	/* Those that are left find it ending. */
	while (requests.texts[requests.next])
		api_requests_ask_next(0, &requests);
	clear_service(&service);
	api_requests_clear(&requests);
	return 0;
}
