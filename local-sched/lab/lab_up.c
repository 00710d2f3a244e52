/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "local-sched/lab/bmc/redfish.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_channel.h"
#include "local-sched/lab/lab_clean.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_peers.h"
#include "local-sched/lab/lab_process.h"
#include "local-sched/lab/lab_record.h"

/*
 * `up`: records what it will do, starts the supervisor and waits for its messages, asks every blade
 * from outside, and leaves the supervisor running.
 */

enum { START_TIMEOUT_S = 120, ANSWER_TIMEOUT_S = 120, AGAIN_TIMEOUT_S = 10, LOCK_TIMEOUT_S = 5 };

/* The interval at which a wait checks whether it is cancelled. */
static const double slice_s = 0.1;

struct up {
	struct lab_spec *spec;
	const struct machine_probe *probe; /* NULL: not fitted */
	const struct lab_observer *observer;
	int channel; /* to the supervisor; -1: not started */
	struct lab_state state;
};

static void G_GNUC_PRINTF(2, 3) report(const struct up *up, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	up->observer->progress(text, up->observer->data);
}

static bool not_cancelled(const struct up *up, GError **error)
{
	if (!*up->observer->cancelled)
		return true;
	return lab_error_set(error, LAB_ERROR_CANCELLED, "interrupted");
}

/*
 * 96 random bits as 16 characters. IPMI 2.0 passwords have up to 20, but ipmi_sim 2.0.33 opens no
 * session with a password of more than 16.
 */
static bool write_password(const char *lab, GError **error)
{
	g_autofree char *path = lab_paths_run(lab, LAB_PASSWORD_FILE);
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	unsigned char random[12];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return lab_error_set(error, LAB_ERROR_START, "no random numbers");
	text = g_base64_encode(random, sizeof random);
	line = g_strconcat(text, "\n", NULL);
	return g_file_set_contents_full(path, line, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
					error);
}

static bool choose_ports(struct lab_spec *spec, GError **error)
{
	uint16_t ports[LAB_SPEC_BLADES_MAX];

	if (!lab_peers_choose_ports(spec->blades_count, ports))
		return lab_error_set(error, LAB_ERROR_START, "no free ports for the BMCs");
	for (uint32_t i = 0; i < spec->blades_count; i++)
		spec->blades[i].bmc_port = ports[i];
	return true;
}

/* A certificate for the BMCs that need one. */
static bool write_certificate(const struct lab_spec *spec, GError **error)
{
	g_autofree char *certificate = lab_paths_run(spec->name, LAB_CERTIFICATE_FILE);
	g_autofree char *key = lab_paths_run(spec->name, LAB_KEY_FILE);

	for (uint32_t i = 0; i < spec->blades_count; i++)
		if (spec->blades[i].bmc == CONFIG_BMC_REDFISH)
			return redfish_make_certificate(certificate, key, error);
	return true;
}

/* Records the lab before anything of it exists; its control groups are below this process's own. */
static bool write_down(struct up *up, GError **error)
{
	const char *lab = up->spec->name;
	g_autofree char *probe = lab_paths_run(lab, MACHINE_PROBE_FILE);
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_detect(error);

	up->state.phase = LAB_STATE_STARTING;
	return cgroup && lab_cgroup_record(cgroup, lab, error) &&
	       (!up->probe || machine_probe_save(up->probe, probe, error)) &&
	       choose_ports(up->spec, error) && write_password(lab, error) &&
	       write_certificate(up->spec, error) && lab_spec_save(up->spec, error) &&
	       lab_record_save(up->spec, &up->state, error);
}

/* The supervisor does nothing before "go", and by then its pid is recorded. */
static bool start_supervisor(struct up *up, GError **error)
{
	const char *const arguments[] = {up->spec->name, NULL};
	g_autofree char *log = lab_paths_data(up->spec->name, "lab.log");
	pid_t pid = lab_process_start("supervisor", arguments, CLONE_NEWPID | CLONE_NEWNS,
				      LAB_PROCESS_OWN_LIFE, log, &up->channel, error);

	if (pid < 0)
		return false;
	up->state.supervisor = (struct lab_state_process){pid, lab_state_start_ticks(pid)};
	if (!lab_record_save(up->spec, &up->state, error))
		return false;
	lab_channel_send(up->channel, "go");
	return true;
}

/*
 * Handles a message of the supervisor if there is one within the slice. False: the start has
 * failed.
 */
static bool hear(struct up *up, double wait_s, bool *ret_ready, GError **error)
{
	g_autofree char *text = NULL;
	enum lab_channel_result result = lab_channel_receive(up->channel, wait_s, &text);

	if (result == LAB_CHANNEL_TIMEOUT)
		return true;
	if (result == LAB_CHANNEL_END)
		return lab_error_set(error, LAB_ERROR_START, "the lab's supervisor was killed");
	if (g_str_has_prefix(text, "error "))
		return lab_error_set(error, LAB_ERROR_START, "%s", text + strlen("error "));
	if (g_str_has_prefix(text, "dead "))
		return lab_error_set(error, LAB_ERROR_START,
				     "the first process of blade \"%s\" ended",
				     text + strlen("dead "));
	if (g_str_has_prefix(text, "started "))
		report(up, "blade %s: namespaces, bridge and libvirtd are there",
		       text + strlen("started "));
	*ret_ready = strcmp(text, "ready") == 0;
	return true;
}

static bool await_ready(struct up *up, GError **error)
{
	const double timeout_s = START_TIMEOUT_S * up->spec->patience;
	int64_t from_ns = clock_now_ns();
	bool ready = false;

	while (!ready) {
		if (!not_cancelled(up, error) || !hear(up, slice_s, &ready, error))
			return false;
		if (!ready && clock_elapsed_s(from_ns, clock_now_ns()) > timeout_s)
			return lab_error_set(error, LAB_ERROR_START,
					     "the blades did not start within %.0f s", timeout_s);
	}
	return true;
}

static bool take_answer(const struct up *up, const struct lab_peers_answer *answer, GError **error)
{
	const char *name = up->spec->blades[answer->number - 1].name;

	if (answer->answered) {
		report(up, "blade %s: libvirt answers", name);
		return true;
	}
	return lab_error_set(error, LAB_ERROR_START,
			     "the libvirt of blade \"%s\" did not answer within %.0f s: %s", name,
			     answer->after_s, answer->reason ? answer->reason : "no reason given");
}

static bool await_libvirts(struct up *up, double timeout_s, GError **error)
{
	g_autoptr(GAsyncQueue) answers =
		lab_peers_ask_libvirts(up->spec->name, up->spec->blades_count, timeout_s);
	int64_t from_ns = clock_now_ns();

	for (uint32_t left = up->spec->blades_count; left > 0;) {
		g_autoptr(lab_peers_answer_t) answer =
			g_async_queue_timeout_pop(answers, (guint64)(slice_s * 1e6));
		bool ready;

		if (!not_cancelled(up, error) || (up->channel >= 0 && !hear(up, 0, &ready, error)))
			return false;
		if (answer && !take_answer(up, answer, error))
			return false;
		left -= answer ? 1 : 0;
		/*
		 * A libvirt that accepts the connection and then does not answer blocks its thread.
		 */
		if (clock_elapsed_s(from_ns, clock_now_ns()) > timeout_s + 5)
			return lab_error_set(error, LAB_ERROR_START,
					     "%u libvirts did not answer within %.0f s", left,
					     timeout_s);
	}
	return true;
}

static bool bmc_answers(const struct lab_spec_blade *blade, double timeout_s)
{
	const uint16_t port = (uint16_t)blade->bmc_port;

	return blade->bmc == CONFIG_BMC_REDFISH ? lab_peers_reach_redfish(port, timeout_s)
						: lab_peers_ping_bmc(port, timeout_s);
}

static bool await_bmcs(const struct up *up, double timeout_s, GError **error)
{
	for (uint32_t i = 0; i < up->spec->blades_count; i++) {
		const struct lab_spec_blade *blade = &up->spec->blades[i];

		if (!not_cancelled(up, error))
			return false;
		if (!bmc_answers(blade, timeout_s))
			return lab_error_set(
				error, LAB_ERROR_START,
				"the BMC of blade \"%s\" does not answer on 127.0.0.1:%u",
				blade->name, blade->bmc_port);
	}
	report(up, "%u BMCs answer", up->spec->blades_count);
	return true;
}

static bool start(struct up *up, GError **error)
{
	if (!write_down(up, error) || !start_supervisor(up, error) || !await_ready(up, error) ||
	    !await_libvirts(up, ANSWER_TIMEOUT_S * up->spec->patience, error) ||
	    !await_bmcs(up, AGAIN_TIMEOUT_S * up->spec->patience, error))
		return false;
	up->state.phase = LAB_STATE_UP;
	if (!lab_record_save(up->spec, &up->state, error))
		return false;
	return lab_channel_send(up->channel, "keep");
}

/* After a failed start, prints the lab's log, which is about to be removed. */
static void report_log(const struct up *up)
{
	g_autofree char *path = lab_paths_data(up->spec->name, "lab.log");
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	lines = g_strsplit(g_strchomp(text), "\n", -1);
	for (guint count = g_strv_length(lines), i = count > 10 ? count - 10 : 0; i < count; i++)
		report(up, "log: %s", lines[i]);
}

static bool start_or_clean(struct up *up, GError **error)
{
	g_autoptr(GError) cleaning = NULL;

	if (start(up, error)) {
		close(up->channel);
		return true;
	}
	if (!*up->observer->cancelled)
		report_log(up);
	if (up->channel >= 0)
		close(up->channel);
	if (!lab_clean(up->spec->name, &cleaning))
		report(up, "%s", cleaning->message);
	return false;
}

/* For a running lab of this name: checks whether it is equal to the requested one, and answers. */
static bool join(struct up *up, GError **error)
{
	g_autoptr(lab_spec_t) running = lab_spec_load(up->spec->name, NULL);

	if (!running || lab_state_load(up->spec->name).phase != LAB_STATE_UP ||
	    !lab_spec_same(running, up->spec))
		return lab_error_set(
			error, LAB_ERROR_OTHER,
			"a lab \"%s\" with other blades, budgets or coefficients is up; take "
			"it down first, or give this one another name with --name",
			up->spec->name);
	report(up, "the lab is up already");
	up->spec = running;
	return await_libvirts(up, AGAIN_TIMEOUT_S * running->patience, error) &&
	       await_bmcs(up, AGAIN_TIMEOUT_S * running->patience, error);
}

/*
 * Removes the remains of a dead lab of this name. Its lock is removed with it, so a new one is
 * taken.
 */
static int clean_and_lock(const char *name, int lock, GError **error)
{
	bool clean = lab_clean(name, error);

	close(lock);
	return clean ? lab_record_lock(name, LOCK_TIMEOUT_S, error) : -1;
}

bool lab_up(struct lab_spec *spec, const struct machine_probe *probe,
	    const struct lab_observer *observer, GError **error)
{
	struct up up = {.spec = spec, .probe = probe, .observer = observer, .channel = -1};
	int lock = lab_record_lock(spec->name, LOCK_TIMEOUT_S, error);
	bool done;

	if (lock < 0)
		return false;
	if (lab_record_supervisor(spec->name).pid > 0) {
		done = join(&up, error);
	} else {
		lock = clean_and_lock(spec->name, lock, error);
		done = lock >= 0 && start_or_clean(&up, error);
	}
	if (lock >= 0)
		close(lock);
	return done;
}
