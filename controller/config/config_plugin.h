/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/config/config_lab.h"

#define CONFIG_PLUGIN_USER "nobody"

/* How policies from outside (exec:COMMAND, so:FILE) run (docs/reference/policy-protocol.md). */
struct config_plugin {
	char *fallback;                         /* NULL: that of the system's model */
	double deadline_s;                      /* of an answer in runs and services; default 1 */
	double simulate_deadline_s;             /* elsewhere; default 60 */
	enum config_answer sandbox;             /* in runs and services; default yes */
	enum config_answer sandbox_simulations; /* elsewhere; default no */
	char *user; /* in the sandbox, where virtbed is root; default CONFIG_PLUGIN_USER */
	/* Limits in the sandbox. */
	uint32_t cpu_s;
	uint32_t memory_mib;
	uint32_t file_mib;
	uint32_t files;
	uint32_t processes;
};

/* The rows of the structure above. */
extern const struct config_section config_plugin_section;

/* The place of the section in config_served. */
#define CONFIG_PLUGIN 3

/* The section of `config`, or the defaults where there is none; texts are borrowed. */
struct config_plugin config_plugin_of(const struct config *config);
