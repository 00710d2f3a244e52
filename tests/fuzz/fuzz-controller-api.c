/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to a controller, over its socket, in the midst of a run with a policy that preempts, by
 * a scripted backend in virtual time. Input: as api_bed.h says. The run comes to its end.
 */
#include <stdlib.h>

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
	"estimates:\n"
	"  - {type: one, cluster: c, etc_s: 15, eec_j: 15}\n"
	"  - {type: two, cluster: c, etc_s: 20, eec_j: 40}\n"
	"workload: {arrival_mean_s: 8, duration_s: 80, utility_max: [1, 8]}\n"
	"experiment: {policies: [max-util-preempt-greedy], limits: [1], budget_j: 1000,\n"
	"  mapping_interval_s: 5, duration_s: 100}\n";

/* What all inputs share. */
static struct api_bed bed;
static struct experiment_trial trial;

static void close_bed(void)
{
	experiment_trial_clear(&trial);
	api_bed_close(&bed);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_silence();
	api_bed_open(&bed, config_text);
	fuzz_check(experiment_trial_init(bed.experiment, 0, 1, &trial, NULL));
	atexit(close_bed);
	return 0;
}

static void run(struct api_requests *requests)
{
	const struct engine_setup setup =
		experiment_trial_setup(bed.experiment, &trial, &bed.experiment->policies[0],
				       bed.experiment->config->experiment->budget_j);
	double calls_s[API_BED_REQUESTS_MAX];
	const struct script script = {
		.system = setup.system,
		.watts = 2,
		.suspend_s = 1.5,
		.resume_s = 2.5,
		.calls_s = calls_s,
		.calls_count = API_BED_REQUESTS_MAX,
		.call = api_requests_ask_next,
		.data = requests,
	};
	struct engine_result result;

	for (uint32_t i = 0; i < API_BED_REQUESTS_MAX; i++)
		calls_s[i] = 6 + 3.5 * i;

	struct backend *backend = scripted_backend_new(&script);

	bed.session.engine = engine_new(&setup, backend);
	drive(bed.session.engine, backend, scripted_backend_wait, &result);
	fuzz_check(result.ended_by != ENGINE_END_NONE && result.ended_by != ENGINE_END_ABORTED);
	engine_free(bed.session.engine);
	bed.session.engine = NULL;
	backend_destroy(backend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api_requests requests = api_requests_read(&bed, data, size);

	run(&requests);
	/* Those that are left find no run under way. */
	while (requests.texts[requests.next])
		api_requests_ask_next(0, &requests);
	api_requests_clear(&requests);
	return 0;
}
