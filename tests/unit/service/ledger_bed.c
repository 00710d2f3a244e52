/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/service/ledger_bed.h"

#include "common/clock.h"
#include "controller/backend/sim.h"

#define ROOM 4

static struct config_meter meter = {.kind = CONFIG_METER_IPMI, .interval_s = 1};
static struct config_host hosts[] = {
	{.name = (char *)"ha", .meter = &meter},
	{.name = (char *)"hb", .meter = &meter},
	{.name = (char *)"hc"},
};
static struct config_cluster clusters[] = {
	{.name = (char *)"a", .nodes = 1, .cores = 1, .hosts = &hosts[0], .hosts_count = 1},
	{.name = (char *)"b", .nodes = 1, .cores = 1, .hosts = &hosts[1], .hosts_count = 1},
	{.name = (char *)"c", .nodes = 1, .cores = 1, .hosts = &hosts[2], .hosts_count = 1},
};
static struct config_type type = {.name = (char *)"short", .benchmark = (char *)"ep", .cores = 1};
static const struct config lab = {
	.name = (char *)"test",
	.clusters = clusters,
	.clusters_count = G_N_ELEMENTS(clusters),
	.types = &type,
	.types_count = 1,
};

static struct sched_system *make_system(void)
{
	static const struct sched_cluster of[] = {
		{.name = "a", .nodes = 1, .cores = 1, .pstates = 1},
		{.name = "b", .nodes = 1, .cores = 1, .pstates = 1},
		{.name = "c", .nodes = 1, .cores = 1, .pstates = 1},
	};
	struct sched_system *system = sched_system_new(of, G_N_ELEMENTS(of), 1);

	system->row_names[0] = "short";
	for (gsize c = 0; c < G_N_ELEMENTS(of); c++) {
		system->etc_s[c] = 10;
		system->eec_j[c] = 10;
		system->nodes[c] = 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

void bed_open(struct bed *bed)
{
	const struct utility constant = {.max = 1,
					 .segments_count = 1,
					 .segments = {{UTILITY_CONSTANT, 1e9, 1, 1, 0}}};
	struct run_service *service = &bed->service;
	char message[256];

	service->workload = workload_open_new(ROOM);
	service->workload->tasks[0] = (struct sched_task){.utility = constant};
	service->workload->tasks_count = 1;
	service->submissions = g_ptr_array_new();
	g_ptr_array_set_size(service->submissions, 1);
	service->recorder =
		recorder_store_new(bed->session.store, service->row.run, bed->system, true);
	bed->session.recorder = service->recorder;
	run_service_energy_init(service);
	service->backend = backend_sim_new(bed->system, ROOM);
	service->setup = (struct engine_setup){
		.system = bed->system,
		.workload = service->workload,
		.open = service->workload,
		.recorder = recorder_store_engine(service->recorder),
		.mapping_interval_s = 1,
		.duration_s = (double)INFINITY,
		.task_ended_j = run_service_energy_ended,
		.task_ended_data = service,
	};
	g_assert_cmpint(policy_parse("easy", &service->setup.policy, message, sizeof(message)), ==,
			0);
	service->engine = engine_new(&service->setup, service->backend);
}

void bed_close(struct bed *bed)
{
	struct run_service *service = &bed->service;

	engine_free(service->engine);
	backend_destroy(service->backend);
	g_assert_true(recorder_store_finish(service->recorder, NULL));
	g_assert_false(bed->session.store_failed);
	recorder_store_free(service->recorder);
	run_service_energy_clear(service);
	g_ptr_array_unref(service->submissions);
	workload_free(service->workload);
	g_clear_pointer(&service->expected, g_ptr_array_unref);
}

void bed_set_up(struct bed *bed, const void *data)
{
	static const char *const addresses[] = {"unix:/nobody-a", "unix:/nobody-b",
						"unix:/nobody-c"};
	g_autoptr(GError) error = NULL;

	run_dir_make(&bed->record);
	bed->plan.experiment = (char *)"test";
	bed->session.plan = &bed->plan;
	bed->session.platform = &platform_machine;
	bed->session.config = (struct config *)&lab;
	bed->session.progress = run_progress_new(&platform_machine);
	bed->session.t0_ns = clock_now_ns() - AGE_S * S;
	bed->session.store = bed->record.store;
	bed->session.service = &bed->service;
	bed->session.fleet = remote_fleet_new(&platform_machine, &lab, addresses, &error);
	g_assert_no_error(error);
	bed->system = make_system();
	bed->service.session = &bed->session;
	bed->service.older_spent_j = (double)NAN;
	bed->service.config.energy_window_s = 1e9; /* it has begun long before */
	bed->service.row.run = bed->record.run;
	bed->service.row.policy = (char *)"easy";
	bed_open(bed);
}

void bed_tear_down(struct bed *bed, const void *data)
{
	bed_close(bed);
	sched_system_free(bed->system);
	remote_fleet_free(bed->session.fleet);
	run_progress_free(bed->session.progress);
	run_dir_remove(&bed->record);
}

const char *bed_host(uint32_t cluster)
{
	return hosts[cluster].name;
}

void bed_begin(struct bed *bed)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(run_service_energy_load(&bed->service, &error));
	g_assert_no_error(error);
	g_assert_true(bed->service.ledger_complete);
	g_assert_true(run_service_energy_begin(&bed->service, &error));
	g_assert_no_error(error);
}
