/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Configurations: a good one is written and reads back equal, and makes a system and policies.
 * Bad ones may still be a list of estimates.
 */
#include <string.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/experiment.h"
#include "tests/fuzz/fuzz.h"

static const char base_text[] =
	"name: base\n"
	"clusters:\n"
	"  - {name: c, nodes: 2, cores: 2, memory_mib: 128, max_mhz: 1000, base_mhz: 1000,\n"
	"     hosts: [{name: h, uri: 'test:///default'}]}\n"
	"types:\n"
	"  - {name: t, benchmark: is, class: S, cores: 2, memory_mib: 64, share: 1}\n"
	"workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20}\n";

/* What is good for certain. */
static struct config *load_good(const char *text)
{
	g_autoptr(GError) error = NULL;
	struct config *config =
		config_controller_load(fuzz_file((const uint8_t *)text, strlen(text)), &error);

	g_assert_no_error(error);
	return config;
}

static void check_round_trip(const struct config *config)
{
	g_autofree char *text = config_to_text(config);
	g_autoptr(config_t) again = load_good(text);
	g_autofree char *text_again = config_to_text(again);

	g_assert_cmpstr(text_again, ==, text);
}

/* Environments draw their systems, which takes long; and a trace is a file of its own. */
static void check_experiment(const struct config *config)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = NULL;

	if (config_environment(config))
		return;
	experiment = experiment_new(config, NULL, &error);
	fuzz_check_error(experiment, error);
}

static void check_estimates(const uint8_t *data, size_t size)
{
	g_autoptr(config_t) base = load_good(base_text);
	g_autoptr(GError) error = NULL;

	fuzz_check_error(config_load_estimates(base, fuzz_file(data, size), &error), error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(fuzz_file(data, size), &error);

	fuzz_check_error(config, error);
	if (config) {
		check_round_trip(config);
		check_experiment(config);
	} else if (strstr(text, "estimates:")) {
		check_estimates(data, size);
	}
	return 0;
}
