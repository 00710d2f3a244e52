/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_root.h"

#include <string.h>

#include "common/config/config_parts.h"

/* A section whose rows config_served has. */
#define CONFIG_SERVED(key_name, index)                                                             \
	.name = (key_name), .kind = CONFIG_KIND_SECTION,                                           \
	.offset = offsetof(struct config, served_sections) + (index) * sizeof(void *),             \
	.size = sizeof(void *)

/* The whole file is a section, too, whose structure has a name of its own. */
#define config_file config

static const struct config_key root_keys[] = {
	{CONFIG_TEXT(file, name), .needed = true,
	 .help = "of the experiment or service; a name, which names the run "
		 "directory and the lab. With a section `lab` letters, digits, `_` and `-` only."},
	{CONFIG_TEXT(file, description), .help = "free text for the headings of reports."},
	{CONFIG_SECTIONS(file, clusters, config_cluster_section), .needed = true, .most = 1000,
	 .help = "at least one."},
	{CONFIG_SECTIONS(file, types, config_type_section), .most = CONFIG_TYPES_MAX,
	 .help = "what runs; their shares sum to 1. Needed, unless there is an `environment`."},
	{CONFIG_SECTIONS(file, estimates, config_estimate_section),
	 .help = "ETC and EEC of every type on every "
		 "cluster that it fits. Without any, `virtbed profile` measures them."},
	{CONFIG_SECTIONS(file, overheads, config_overhead_section),
	 .help = "an entry per suspension that was "
		 "measured. Simulations draw from these; without any, suspending takes no time."},
	{CONFIG_SECTIONS(file, unmeasured, config_unmeasured_section),
	 .help = "the pairs of type and cluster without an estimate, with the reasons."},
	{CONFIG_SECTION(file, workload, config_workload_section),
	 .help = "arrivals and utility. Needed, unless there is an `environment`."},
	{CONFIG_SECTION(file, experiment, config_experiment_section), .needed = true,
	 .help = "policies, limits and times."},
	{CONFIG_SECTION(file, service, config_service_section),
	 .help = "how `virtbed serve` schedules."},
	{CONFIG_SECTION(file, tls, config_tls_section),
	 .help = "how daemons on different machines know one another."},
	{CONFIG_SECTION(file, lab, config_lab_section),
	 .help = "emulated blades on this machine, see `virtbed lab`. Needs root."},
	{CONFIG_SERVED("environment", 0),
	 .help = "task types and arrivals that are drawn for simulations."},
	{CONFIG_SERVED("study", 1), .help = "what `virtbed study` varies."},
	{CONFIG_SERVED("verdict", 2),
	 .help = "the pairs of policies that `virtbed run --until-verdict` decides."},
	{CONFIG_SERVED("plugin", 3),
	 .help = "how policies from outside run, which `exec:COMMAND`, `so:FILE` and `batsim:COMMAND` name."},
	{CONFIG_TEXT(file, image),
	 .help = "directory of the guest image. By default VIRTBED_IMAGE, else that of the build or the package."},
	{CONFIG_NUMBER(file, patience), CONFIG_NOT_ZERO, CONFIG_TO(1, 1000),
	 .help = "how many times as long as on a "
		 "machine of speed 1 boots and the like may take; without it 1. Fitting a lab sets it."},
	{NULL},
};

const struct config_section *config_root_init(const struct config_served *served,
					      struct config_root *ret_root)
{
	const size_t first = offsetof(struct config, served_sections);

	G_STATIC_ASSERT(sizeof(root_keys) <= sizeof(ret_root->keys));
	memcpy(ret_root->keys, root_keys, sizeof(root_keys));
	for (struct config_key *key = ret_root->keys; served && key->name; key++)
		if (key->kind == CONFIG_KIND_SECTION && !key->section)
			key->section = served->sections[(key->offset - first) / sizeof(void *)];
	ret_root->section =
		(struct config_section){.keys = ret_root->keys, .size = sizeof(struct config)};
	return &ret_root->section;
}
