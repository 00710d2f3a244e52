/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "fabric"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/subprocess.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_channel.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_process.h"
#include "local-sched/lab/lab_roles.h"
#include "local-sched/lab/lab_spec.h"

/*
 * The network that joins the blades: a bridge in a network namespace without a way out. Starts the
 * blades in it and ties each to the bridge by a pair of virtual links.
 */

enum { IP_TIMEOUT_S = 30, BLADE_START_TIMEOUT_S = 60 };

static const int blade_namespaces =
	CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;

/* A blade on the network. */
struct port {
	pid_t pid;
	int channel;
};

bool lab_network_run_ip(const char *const (*commands)[LAB_NETWORK_IP_WORDS], gsize count,
			GError **error)
{
	for (gsize i = 0; i < count; i++)
		if (!subprocess_run(commands[i], NULL, IP_TIMEOUT_S, NULL, error))
			return false;
	return true;
}

static bool set_up_bridge(GError **error)
{
	const char *bridge = LAB_ROLES_FABRIC_BRIDGE;
	const char *const commands[][LAB_NETWORK_IP_WORDS] = {
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", bridge, "address", LAB_ROLES_FABRIC_MAC, "type", "bridge"},
		{"ip", "address", "add", LAB_ROLES_FABRIC_ADDRESS, "dev", bridge},
		{"ip", "link", "set", bridge, "up"},
	};

	return lab_network_run_ip(commands, G_N_ELEMENTS(commands), error);
}

static bool link_blade(uint32_t number, pid_t pid, GError **error)
{
	g_autofree char *name = g_strdup_printf("b%u", number);
	g_autofree char *target = g_strdup_printf("%d", (int)pid);
	const char *const commands[][LAB_NETWORK_IP_WORDS] = {
		{"ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns",
		 target},
		{"ip", "link", "set", name, "master", LAB_ROLES_FABRIC_BRIDGE, "up"},
	};

	return lab_network_run_ip(commands, G_N_ELEMENTS(commands), error);
}

static bool start_blade(const struct lab_spec *spec, uint32_t number,
			const struct lab_cgroup *cgroup, struct port *ret_port, GError **error)
{
	g_autofree char *text = g_strdup_printf("%u", number);
	g_autofree char *log = lab_paths_data(spec->name, "lab.log");
	const char *const arguments[] = {spec->name, text, NULL};

	ret_port->pid = lab_process_start("blade", arguments, blade_namespaces,
					  LAB_PROCESS_PARENTS_LIFE, log, &ret_port->channel, error);
	if (ret_port->pid < 0)
		return false;
	return lab_cgroup_join(cgroup, spec->name, number, ret_port->pid, error) &&
	       link_blade(number, ret_port->pid, error) &&
	       lab_channel_send(ret_port->channel, "go");
}

/* Passes on the only message of a blade. */
static bool await_blade(const struct lab_spec_blade *blade, const struct port *port,
			double timeout_s, GError **error)
{
	g_autofree char *text = NULL;
	enum lab_channel_result result = lab_channel_receive(port->channel, timeout_s, &text);

	if (result == LAB_CHANNEL_MESSAGE && g_str_has_prefix(text, "started "))
		return lab_channel_send(LAB_CHANNEL_PARENT, "%s", text);
	return lab_error_set(error, LAB_ERROR_BROKEN, "blade \"%s\" did not start: %s", blade->name,
			     result == LAB_CHANNEL_MESSAGE ? text
			     : result == LAB_CHANNEL_END   ? "its first process ended"
							   : "no word from it for long");
}

static bool start_all(const struct lab_spec *spec, struct port *ports, GError **error)
{
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_of(spec->name, error);

	if (!cgroup || !set_up_bridge(error))
		return false;
	for (uint32_t i = 0; i < spec->blades_count; i++)
		if (!start_blade(spec, i + 1, cgroup, &ports[i], error))
			return false;
	for (uint32_t i = 0; i < spec->blades_count; i++)
		if (!await_blade(&spec->blades[i], &ports[i],
				 BLADE_START_TIMEOUT_S * spec->patience, error))
			return false;
	return true;
}

/* Reports the death of a blade, which stays ended; the others live on. */
static void watch(const struct lab_spec *spec, const struct port *ports)
{
	for (;;) {
		pid_t pid = waitpid(-1, NULL, 0);

		if (pid < 0 && errno == ECHILD)
			pause();
		for (uint32_t i = 0; i < spec->blades_count && pid > 0; i++) {
			if (ports[i].pid != pid)
				continue;
			log_error("blade \"%s\" ended", spec->blades[i].name);
			lab_channel_send(LAB_CHANNEL_PARENT, "dead %s", spec->blades[i].name);
		}
	}
}

int lab_network_main(const char *lab)
{
	static const char hostname[] = "fabric";
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_spec_t) spec = NULL;
	g_autofree struct port *ports = NULL;

	lab_channel_await_go();
	spec = lab_spec_load(lab, &error);
	if (spec) {
		ports = g_new0(struct port, spec->blades_count);
		if (sethostname(hostname, strlen(hostname)) == 0 && start_all(spec, ports, &error))
			watch(spec, ports); /* returns only with the supervisor's end */
	}
	lab_channel_send(LAB_CHANNEL_PARENT, "error %s",
			 error ? error->message : "cannot set the fabric's host name");
	return EXIT_FAILURE;
}
