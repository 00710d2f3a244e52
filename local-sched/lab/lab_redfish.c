/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "redfish"

#include <glib-unix.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/read_number.h"
#include "local-sched/lab/bmc/redfish.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_channel.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_roles.h"

/* The BMC of a blade, in a process of its own, so that it can fail as a real BMC does. */

static struct redfish *start(const struct lab_spec *spec, const struct lab_spec_blade *blade,
			     GError **error)
{
	g_autofree char *password_path = lab_paths_run(spec->name, LAB_PASSWORD_FILE);
	g_autofree char *certificate = lab_paths_run(spec->name, LAB_CERTIFICATE_FILE);
	g_autofree char *key = lab_paths_run(spec->name, LAB_KEY_FILE);
	g_autofree char *watts = lab_paths_blade_run(spec->name, blade->number, "watts");
	g_autofree char *address = g_strdup_printf("https://127.0.0.1:%u", blade->bmc_port);
	g_autofree char *password = NULL;
	struct redfish_spec redfish = {
		.name = blade->name,
		.address = address,
		.certificate = certificate,
		.key = key,
		.user = LAB_BMC_USER,
		.watts_file = watts,
	};

	if (!g_file_get_contents(password_path, &password, NULL, error))
		return NULL;
	redfish.password = g_strchomp(password);
	return redfish_new(&redfish, error);
}

static gboolean on_parent(int fd, GIOCondition condition, gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

int lab_redfish_main(const char *lab, const char *number)
{
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_spec_t) spec = NULL;
	g_autoptr(redfish_t) redfish = NULL;
	uint64_t which = 0;

	lab_channel_await_go();
	spec = lab_spec_load(lab, &error);
	if (spec && read_number_unsigned(number, 1, spec->blades_count, &which))
		redfish = start(spec, &spec->blades[which - 1], &error);
	if (!redfish) {
		log_error("BMC of blade %s: %s", number, error ? error->message : "no such blade");
		return EXIT_FAILURE;
	}
	g_unix_fd_add(LAB_CHANNEL_PARENT, G_IO_IN | G_IO_HUP, on_parent, loop);
	g_main_loop_run(loop);
	return EXIT_SUCCESS;
}
