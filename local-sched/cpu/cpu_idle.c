/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_idle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "local-sched/cpu/sysfs.h"

/*
 * A CPU that was in a state when the state was disabled is counted once more when it leaves. An
 * entry per CPU is therefore tolerated.
 */
enum { LATE_ENTRIES = 1 };

/* An idle state of one CPU. */
struct state {
	char *path; /* DIRECTORY/cpuN/cpuidle/stateM */
	bool banned;
	uint64_t usage; /* counter at the last check */
	uint64_t late;  /* of a disabled state: entries since it was disabled */
};

struct cpu_idle {
	char *sys_root;
	char *dev_root;
	char *state;
	struct cap_originals *originals;
	GArray *states;      /* struct state, of all CPUs */
	uint64_t latency_us; /* of the deepest state allowed */
	int latency_fd;      /* -1: cpu_dma_latency is not held */
	bool banned_any;
};

static void state_clear(gpointer data)
{
	g_free(((struct state *)data)->path);
}

static bool read_number(const char *path, const char *name, uint64_t *ret_value)
{
	g_autofree char *file = g_build_filename(path, name, NULL);

	return sysfs_read_number(file, ret_value, NULL);
}

/* "C6" stands for "C6" and for "C6-NHM". */
static bool names_match(const char *offered, const char *wanted)
{
	const gsize length = strlen(wanted);

	return g_ascii_strncasecmp(offered, wanted, length) == 0 &&
	       (offered[length] == '\0' || offered[length] == '-');
}

static char **state_paths(const char *cpu)
{
	g_autofree char *directory = g_build_filename(cpu, "cpuidle", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "state");
	g_autoptr(GStrvBuilder) paths = g_strv_builder_new();

	for (gsize i = 0; names[i]; i++) {
		g_autofree char *path = g_build_filename(directory, names[i], NULL);

		g_strv_builder_add(paths, path);
	}
	return g_strv_builder_end(paths);
}

/*
 * The exit latency of the configured state on `cpu`; collects the names of other states for a
 * message.
 */
static bool find_latency(const struct cpu_idle *idle, char *const *paths, uint64_t *ret_us,
			 GString *names)
{
	for (gsize i = 0; paths[i]; i++) {
		g_autofree char *file = g_build_filename(paths[i], "name", NULL);
		g_autofree char *name = sysfs_read(file, NULL);

		if (!name)
			continue;
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", name);
		if (names_match(name, idle->state) && read_number(paths[i], "latency", ret_us))
			return true;
	}
	return false;
}

static void set_unknown_state(const struct cpu_idle *idle, const GString *names, GError **error)
{
	g_autofree char *file = g_build_filename(idle->sys_root, "devices", "system", "cpu",
						 "cpuidle", "current_driver", NULL);
	g_autofree char *driver = sysfs_read(file, NULL);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
		    "C-state %s is not offered by the driver %s; its states: %s", idle->state,
		    driver ? driver : "(none)", names->len > 0 ? names->str : "none");
}

static void add_states(struct cpu_idle *idle, char *const *paths, uint64_t allowed_us)
{
	for (gsize i = 0; paths[i]; i++) {
		struct state state = {0};
		uint64_t latency_us;

		if (!read_number(paths[i], "latency", &latency_us))
			continue;
		state.path = g_strdup(paths[i]);
		state.banned = latency_us > allowed_us;
		g_array_append_val(idle->states, state);
	}
}

/* Finds the states of all CPUs, and which of them are too deep. */
static bool find_states(struct cpu_idle *idle, GError **error)
{
	g_auto(GStrv) cpus = host_knob_cpus(idle->sys_root);
	g_autoptr(GString) none = g_string_new(NULL);

	for (gsize i = 0; cpus[i]; i++) {
		g_auto(GStrv) paths = state_paths(cpus[i]);
		g_autoptr(GString) names = g_string_new(NULL);
		uint64_t allowed_us;

		if (!find_latency(idle, paths, &allowed_us, names)) {
			set_unknown_state(idle, names, error);
			return false;
		}
		add_states(idle, paths, allowed_us);
		idle->latency_us = i == 0 ? allowed_us : MIN(idle->latency_us, allowed_us);
	}
	if (cpus[0])
		return true;
	set_unknown_state(idle, none, error);
	return false;
}

/* Reads the usage counters as the reference for the next check. */
static void read_usage(struct cpu_idle *idle)
{
	for (guint i = 0; i < idle->states->len; i++) {
		struct state *state = &g_array_index(idle->states, struct state, i);

		read_number(state->path, "usage", &state->usage);
		state->late = 0;
	}
}

static bool disable_all(struct cpu_idle *idle, GError **error)
{
	for (guint i = 0; i < idle->states->len; i++) {
		const struct state *state = &g_array_index(idle->states, struct state, i);
		g_autofree char *file = g_build_filename(state->path, "disable", NULL);

		if (!state->banned)
			continue;
		if (!cap_originals_turn(idle->originals, file, "1", error))
			return false;
		idle->banned_any = true;
	}
	return true;
}

/* Holds cpu_dma_latency open, whose bound holds as long (pm_qos_interface of the kernel). */
static bool hold_latency(struct cpu_idle *idle, GError **error)
{
	g_autofree char *path = g_build_filename(idle->dev_root, "cpu_dma_latency", NULL);
	const int32_t latency_us = (int32_t)MIN(idle->latency_us, (uint64_t)INT32_MAX);
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && write(fd, &latency_us, sizeof latency_us) == sizeof latency_us) {
		idle->latency_fd = fd;
		return true;
	}
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
		    "cannot hold \"%s\": %s", path, g_strerror(errno));
	if (fd >= 0)
		close(fd);
	return false;
}

/*
 * Falls back to cpu_dma_latency. If that fails or was done already, the knob is not effective, for
 * `reason` (taken over).
 */
static void fall_back(struct cpu_idle *idle, struct host_knob *knob, char *reason)
{
	g_autofree char *before = reason;
	g_autoptr(GError) error = NULL;

	if (idle->latency_fd >= 0 || !hold_latency(idle, &error)) {
		host_knob_judge(knob, HOST_KNOB_NOT_EFFECTIVE,
				g_strdup_printf("%s%s%s", before, error ? "; " : "",
						error ? error->message : ""));
		return;
	}
	host_knob_set_text(&knob->set,
			   g_strdup_printf("cpu_dma_latency %" PRIu64 " us", idle->latency_us));
	host_knob_judge(knob, HOST_KNOB_UNKNOWN,
			g_strdup_printf("%s; cpu_dma_latency is held instead", before));
	read_usage(idle);
}

/* Reads back how many of the disabled states are disabled, or the latency that is in force. */
static void read_back(const struct cpu_idle *idle, struct host_knob *knob)
{
	guint banned = 0;
	guint disabled = 0;
	int32_t latency_us;

	if (idle->latency_fd >= 0) {
		const bool there = pread(idle->latency_fd, &latency_us, sizeof latency_us, 0) ==
				   sizeof latency_us;

		host_knob_set_text(&knob->read_back,
				   there ? g_strdup_printf("%d us", latency_us) : NULL);
		return;
	}
	for (guint i = 0; i < idle->states->len; i++) {
		const struct state *state = &g_array_index(idle->states, struct state, i);
		uint64_t value = 0;

		banned += state->banned;
		disabled +=
			state->banned && read_number(state->path, "disable", &value) && value != 0;
	}
	host_knob_set_text(&knob->read_back,
			   g_strdup_printf("%u of %u states off", disabled, banned));
	if (disabled < banned && knob->effect != HOST_KNOB_NOT_EFFECTIVE)
		host_knob_judge(knob, HOST_KNOB_NOT_EFFECTIVE,
				g_strdup_printf("%u states read back as not disabled",
						banned - disabled));
}

struct cpu_idle *cpu_idle_apply(const char *sys_root, const char *dev_root, const char *state,
				struct cap_originals *originals, struct host_knob *ret_knob)
{
	struct cpu_idle *idle = g_new0(struct cpu_idle, 1);
	g_autoptr(GError) error = NULL;

	idle->sys_root = g_strdup(sys_root);
	idle->dev_root = g_strdup(dev_root);
	idle->state = g_strdup(state);
	idle->originals = originals;
	idle->states = g_array_new(FALSE, TRUE, sizeof(struct state));
	idle->latency_fd = -1;
	g_array_set_clear_func(idle->states, state_clear);
	*ret_knob = (struct host_knob){.name = "idle", .requested = g_strdup(state)};
	if (!find_states(idle, &error)) {
		host_knob_judge(ret_knob, HOST_KNOB_NOT_EFFECTIVE, g_strdup(error->message));
		return idle;
	}
	if (disable_all(idle, &error)) {
		ret_knob->set = g_strdup(idle->banned_any ? "deeper states off" : "none is deeper");
		host_knob_judge(ret_knob,
				idle->banned_any ? HOST_KNOB_UNKNOWN : HOST_KNOB_EFFECTIVE,
				idle->banned_any ? g_strdup("no CPU was seen idle yet") : NULL);
	} else {
		fall_back(idle, ret_knob, g_strdup(error->message));
	}
	read_usage(idle);
	read_back(idle, ret_knob);
	return idle;
}

/* The entries of allowed states since the last check, and whether a disabled state was entered. */
static uint64_t count_entries(struct cpu_idle *idle, bool *ret_banned_entered)
{
	uint64_t allowed = 0;

	for (guint i = 0; i < idle->states->len; i++) {
		struct state *state = &g_array_index(idle->states, struct state, i);
		uint64_t usage;

		if (!read_number(state->path, "usage", &usage) || usage < state->usage)
			continue;
		if (state->banned) {
			state->late += usage - state->usage;
			*ret_banned_entered |= state->late > LATE_ENTRIES;
		} else {
			allowed += usage - state->usage;
		}
		state->usage = usage;
	}
	return allowed;
}

void cpu_idle_check(struct cpu_idle *idle, struct host_knob *knob)
{
	bool banned_entered = false;
	uint64_t allowed;

	if (!knob->set)
		return;
	read_back(idle, knob);
	allowed = count_entries(idle, &banned_entered);
	if (banned_entered)
		fall_back(idle, knob,
			  g_strdup(idle->latency_fd >= 0
					   ? "deeper states are entered though cpu_dma_latency is "
					     "held"
					   : "deeper states are entered though they are disabled"));
	else if (allowed > 0 && knob->effect == HOST_KNOB_UNKNOWN)
		host_knob_judge(knob, HOST_KNOB_EFFECTIVE, NULL);
	if (banned_entered)
		read_back(idle, knob);
}

void cpu_idle_free(struct cpu_idle *idle)
{
	if (!idle)
		return;
	if (idle->latency_fd >= 0)
		close(idle->latency_fd);
	g_array_unref(idle->states);
	g_free(idle->sys_root);
	g_free(idle->dev_root);
	g_free(idle->state);
	g_free(idle);
}
