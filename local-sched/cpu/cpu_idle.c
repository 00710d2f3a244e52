/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_idle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/read_number.h"
#include "common/visible.h"
#include "local-sched/cpu/sysfs.h"

/*
 * A CPU that was in a state when the state was disabled is counted once more when it leaves. An
 * entry per CPU is therefore tolerated.
 */
enum { LATE_ENTRIES = 1 };

/* Of a state's name in a message. */
enum { SHOWN_MAX = 40 };

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
	GPtrArray *cpus;     /* paths of the CPUs that have their states in `states` */
	GArray *states;      /* struct state, of all CPUs */
	uint64_t latency_us; /* of the deepest state allowed */
	int latency_fd;      /* -1: cpu_dma_latency is not held */
	bool banned_any;
	bool is_shallower; /* no CPU has a state as deep as the one wanted */
	bool is_hidden;    /* their states may be deeper: nothing is set, and nothing known */
	char *note;        /* which state stands for the one wanted; NULL: one of its name */
};

static void state_clear(gpointer data)
{
	g_free(((struct state *)data)->path);
}

static bool read_file_number(const char *path, const char *name, uint64_t *ret_value)
{
	g_autofree char *file = g_build_filename(path, name, NULL);

	return sysfs_read_number(file, ret_value, NULL);
}

/*
 * How well the name of an offered state fits the wanted name, from the worst. Drivers of Linux
 * append the maker of a state ("C6-SKX", "C1_ACPI") and a letter for a variant ("C1E", "C7s").
 */
enum fit {
	FIT_NOT = 0,
	FIT_VARIANT, /* "C1E" for "C1" */
	FIT_BASE,    /* "C1_ACPI" and "C1", either way */
	FIT_MAKER,   /* "C6-SKX" for "C6" */
	FIT_NAME,
};

/* The length of a name without its maker. */
static gsize base_length(const char *name)
{
	return strcspn(name, "-_");
}

/* The number in a name: 6 of "C6" and "C6S-ADL", 0 of "POLL". False: it has none. */
static bool state_number(const char *name, uint64_t *ret_number, const char **ret_rest)
{
	const gsize poll = strlen("POLL");

	*ret_number = 0;
	*ret_rest = NULL;
	if (g_ascii_strncasecmp(name, "POLL", poll) == 0)
		*ret_rest = name + poll;
	else if (g_ascii_toupper(name[0]) == 'C')
		*ret_rest = read_number_front_unsigned(name + 1, ret_number);
	return *ret_rest != NULL;
}

static enum fit find_fit(const char *offered, const char *wanted)
{
	const gsize base = base_length(offered);
	uint64_t number, wanted_number;
	const char *rest, *wanted_rest;
	bool one_number;

	if (g_ascii_strcasecmp(offered, wanted) == 0)
		return FIT_NAME;
	if (base == strlen(wanted) && g_ascii_strncasecmp(offered, wanted, base) == 0)
		return FIT_MAKER;
	if (base == base_length(wanted) && g_ascii_strncasecmp(offered, wanted, base) == 0)
		return FIT_BASE;
	one_number = state_number(offered, &number, &rest) &&
		     state_number(wanted, &wanted_number, &wanted_rest) && number == wanted_number;
	/* "C0" is another name of "POLL". */
	if (one_number && number == 0 && base_length(rest) == 0 && base_length(wanted_rest) == 0)
		return FIT_BASE;
	return one_number && base_length(wanted_rest) == 0 && *rest != '-' && *rest != '_'
		       ? FIT_VARIANT
		       : FIT_NOT;
}

/* What is known of the depth of a state. */
enum depth {
	DEPTH_NONE,     /* it has no number */
	DEPTH_NAME,     /* that of its name */
	DEPTH_HARDWARE, /* that of the hardware, of a state of the firmware's table */
	DEPTH_HIDDEN,   /* the firmware's table does not tell */
};

/* Whether the CPUs are AMD's or Hygon's, which are the same, by the kernel's numbers for makers. */
static bool is_amd(const struct cpu_idle *idle)
{
	g_autofree char *file =
		g_build_filename(idle->sys_root, "devices", "system", "cpu", "modalias", NULL);
	g_autofree char *text = sysfs_read(file, NULL);

	return text && (strstr(text, ",ven0002") || strstr(text, ",ven0009"));
}

/*
 * The depth of a state as the number that the maker of the hardware gives it. The numbers in names
 * of the firmware's table (ACPI) only count its rows: what it has as C3 may be Intel's C10, as the
 * hint of MWAIT in its description says. What AMD's has as C2, by a port, is AMD's C6.
 */
static enum depth find_depth(const struct cpu_idle *idle, const char *path, const char *name,
			     uint64_t *ret_number)
{
	static const char mwait[] = "ACPI FFH MWAIT 0x";
	/* By the upper four bits of the hint; 0: not known, as 5 is C9 or C6 by the processor. */
	static const uint64_t numbers[16] = {1, 3, 6, 7, 8, 0, 10};
	g_autofree char *file = g_build_filename(path, "desc", NULL);
	g_autofree char *text = sysfs_read(file, NULL);
	const char *digits, *rest;
	size_t length;

	*ret_number = 0;
	if (!text || !g_str_has_prefix(text, "ACPI "))
		return state_number(name, ret_number, &rest) ? DEPTH_NAME : DEPTH_NONE;
	if (strcmp(text, "ACPI HLT") == 0)
		*ret_number = 1;
	else if (g_str_has_prefix(text, "ACPI IOPORT ") && is_amd(idle))
		*ret_number = 6;
	if (g_str_has_prefix(text, mwait)) {
		digits = text + strlen(mwait);
		length = strlen(digits);
		if (length == strspn(digits, "0123456789abcdefABCDEF") && length > 0 && length <= 2)
			*ret_number = numbers[length == 2 ? g_ascii_xdigit_value(*digits) : 0];
	}
	return *ret_number > 0 ? DEPTH_HARDWARE : DEPTH_HIDDEN;
}

/* Whether a state of the firmware's table is the wanted one by the hardware's number. */
static bool is_same_depth(const struct cpu_idle *idle, const char *path, const char *name)
{
	uint64_t number, wanted;
	const char *rest;

	return state_number(idle->state, &wanted, &rest) && !*rest &&
	       find_depth(idle, path, name, &number) == DEPTH_HARDWARE && number == wanted;
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

/* Reads the name and the latency of a state. */
static char *read_state(const char *path, uint64_t *ret_us)
{
	g_autofree char *file = g_build_filename(path, "name", NULL);
	g_autofree char *name = sysfs_read(file, NULL);

	return name && read_file_number(path, "latency", ret_us) ? g_steal_pointer(&name) : NULL;
}

/*
 * Notes that a state of the wanted name is a deeper one by the hardware's number. Names decide,
 * because the kernel shows names.
 */
static void note_deeper(struct cpu_idle *idle, const char *path, const char *name)
{
	uint64_t number, wanted;
	const char *rest;
	g_autofree char *shown = visible_start(name, SHOWN_MAX);

	if (!idle->note && state_number(idle->state, &wanted, &rest) &&
	    find_depth(idle, path, name, &number) == DEPTH_HARDWARE && number > wanted)
		idle->note = g_strdup_printf("%s is of the firmware's table (ACPI), and the "
					     "hardware's C%" PRIu64,
					     shown, number);
}

/*
 * Finds the deepest state that is allowed on a CPU: of those whose names fit best, the one with the
 * least latency. *ret_name is its name, which the caller frees. Collects the names of all for a
 * message.
 */
static bool find_allowed(struct cpu_idle *idle, char *const *paths, uint64_t *ret_us,
			 char **ret_name, GString *names)
{
	enum fit best = FIT_NOT;
	const char *best_path = NULL;

	*ret_name = NULL;
	for (gsize i = 0; paths[i]; i++) {
		uint64_t us;
		g_autofree char *name = read_state(paths[i], &us);
		g_autofree char *shown = name ? visible_start(name, SHOWN_MAX) : NULL;
		enum fit fit;

		if (!name)
			continue;
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", shown);
		fit = find_fit(name, idle->state);
		if (fit == FIT_NOT && is_same_depth(idle, paths[i], name))
			fit = FIT_VARIANT;
		if (fit == FIT_NOT || fit < best || (fit == best && us >= *ret_us))
			continue;
		best = fit;
		best_path = paths[i];
		*ret_us = us;
		g_free(*ret_name);
		*ret_name = g_steal_pointer(&name);
	}
	if (best_path)
		note_deeper(idle, best_path, *ret_name);
	return best != FIT_NOT;
}

/*
 * The same for a CPU that has no such state while others have, as the cores of hybrid machines may:
 * its deepest one whose number is not higher.
 */
static bool find_lower(const struct cpu_idle *idle, char *const *paths, uint64_t *ret_us,
		       char **ret_name)
{
	uint64_t wanted, best = 0;
	const char *rest;

	*ret_name = NULL;
	if (!state_number(idle->state, &wanted, &rest))
		return false;
	for (gsize i = 0; paths[i]; i++) {
		uint64_t us, number;
		g_autofree char *name = read_state(paths[i], &us);
		const enum depth depth =
			name ? find_depth(idle, paths[i], name, &number) : DEPTH_NONE;

		if (depth == DEPTH_NONE || depth == DEPTH_HIDDEN || number > wanted ||
		    (*ret_name && number < best))
			continue;
		best = number;
		*ret_us = us;
		g_free(*ret_name);
		*ret_name = g_steal_pointer(&name);
	}
	return *ret_name != NULL;
}

/*
 * The same for CPUs of which none has such a state: their deepest one, if each of their states has
 * a lower number, so that they cannot sleep as deep as that. *ret_hidden: a state may be deeper.
 */
static bool find_shallower(const struct cpu_idle *idle, char *const *paths, uint64_t *ret_us,
			   char **ret_name, bool *ret_hidden)
{
	uint64_t wanted, best = 0;
	const char *rest;

	*ret_us = 0;
	if (!state_number(idle->state, &wanted, &rest))
		return false;
	for (gsize i = 0; paths[i]; i++) {
		uint64_t us, number, name_number;
		g_autofree char *name = read_state(paths[i], &us);
		const enum depth depth =
			name ? find_depth(idle, paths[i], name, &number) : DEPTH_NONE;

		if (depth == DEPTH_NONE || (depth != DEPTH_HIDDEN && number >= wanted) ||
		    !state_number(name, &name_number, &rest))
			return false;
		*ret_hidden |= depth == DEPTH_HIDDEN;
		*ret_us = MAX(*ret_us, us); /* all are allowed */
		if (*ret_name && name_number < best)
			continue;
		best = name_number;
		g_free(*ret_name);
		*ret_name = g_steal_pointer(&name);
	}
	return *ret_name != NULL;
}

static bool set_unknown_state(const struct cpu_idle *idle, const GString *names, GError **error)
{
	g_autofree char *file = g_build_filename(idle->sys_root, "devices", "system", "cpu",
						 "cpuidle", "current_driver", NULL);
	g_autofree char *driver = sysfs_read(file, NULL);
	g_autofree char *shown = driver ? visible_start(driver, SHOWN_MAX) : NULL;

	return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			  "C-state %s is not offered by the driver %s; its states: %s", idle->state,
			  shown ? shown : "(none)", names->len > 0 ? names->str : "none");
}

/*
 * Whether a state is deeper than the one allowed: by its latency or, since tables of firmware have
 * made-up latencies, by its number.
 */
static bool is_deeper(const char *path, uint64_t us, uint64_t allowed_us, const char *allowed)
{
	uint64_t own_us, number, allowed_number;
	const char *rest;
	g_autofree char *name = read_state(path, &own_us);

	return us > allowed_us ||
	       (name && state_number(name, &number, &rest) &&
		state_number(allowed, &allowed_number, &rest) && number > allowed_number);
}

static void add_states(struct cpu_idle *idle, char *const *paths, uint64_t allowed_us,
		       const char *allowed)
{
	for (gsize i = 0; paths[i]; i++) {
		struct state state = {0};
		uint64_t latency_us;

		if (!read_file_number(paths[i], "latency", &latency_us))
			continue;
		state.path = g_strdup(paths[i]);
		state.banned = is_deeper(paths[i], latency_us, allowed_us, allowed);
		read_file_number(paths[i], "usage", &state.usage);
		g_array_append_val(idle->states, state);
	}
}

/*
 * Adds the states of a CPU, and which are too deep. False if it has none that is allowed. Not
 * before the last pass does a state of another name count.
 */
static bool add_cpu(struct cpu_idle *idle, const char *cpu, bool is_last, GString *names)
{
	g_auto(GStrv) paths = state_paths(cpu);
	g_autofree char *allowed = NULL;
	uint64_t allowed_us = 0;

	bool is_shallower = false;
	bool is_hidden = false;

	if (!find_allowed(idle, paths, &allowed_us, &allowed, names)) {
		if (!is_last)
			return false;
		is_shallower = idle->cpus->len == 0 || idle->is_shallower;
		if (is_shallower ? !find_shallower(idle, paths, &allowed_us, &allowed, &is_hidden)
				 : !find_lower(idle, paths, &allowed_us, &allowed))
			return false;
	}
	add_states(idle, paths, allowed_us, allowed);
	idle->latency_us = idle->cpus->len == 0 ? allowed_us : MIN(idle->latency_us, allowed_us);
	if (g_ascii_strcasecmp(allowed, idle->state) != 0 && !idle->note) {
		g_autofree char *shown = visible_start(allowed, SHOWN_MAX);

		idle->is_hidden = is_hidden;
		idle->note = g_strdup_printf(
			is_hidden ? "%s is the deepest state that the CPUs have; the firmware's "
				    "table (ACPI) does not tell whether it is deeper than %s"
			: is_shallower ? "%s is the deepest state that the CPUs have, and not as "
					 "deep as %s"
				       : "%s stands for %s",
			shown, idle->state);
	}
	idle->is_shallower |= is_shallower;
	g_ptr_array_add(idle->cpus, g_strdup(cpu));
	return true;
}

static bool is_known(const struct cpu_idle *idle, const char *cpu)
{
	return g_ptr_array_find_with_equal_func(idle->cpus, cpu, g_str_equal, NULL);
}

/* Finds the states of all CPUs that are not known yet. */
static bool find_states(struct cpu_idle *idle, GError **error)
{
	g_auto(GStrv) cpus = host_knob_cpus(idle->sys_root);
	g_autoptr(GString) names = g_string_new(NULL);

	/* A CPU without the state comes after those that have it. */
	for (int pass = 0; pass < 2; pass++)
		for (gsize i = 0; cpus[i]; i++) {
			g_string_truncate(names, 0);
			if (is_known(idle, cpus[i]) || add_cpu(idle, cpus[i], pass == 1, names) ||
			    pass == 0)
				continue;
			return set_unknown_state(idle, names, error);
		}
	return cpus[0] ? true : set_unknown_state(idle, names, error);
}

/* Reads the usage counters as the reference for the next check. */
static void read_usage(struct cpu_idle *idle)
{
	for (guint i = 0; i < idle->states->len; i++) {
		struct state *state = &g_array_index(idle->states, struct state, i);

		read_file_number(state->path, "usage", &state->usage);
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

/* Sets effect and reason; takes the reason over. */
static void judge(const struct cpu_idle *idle, struct host_knob *knob, enum host_knob_effect effect,
		  char *reason)
{
	g_autofree char *own = reason;

	host_knob_judge(knob, effect,
			own && idle->note ? g_strdup_printf("%s; %s", idle->note, own)
					  : g_strdup(own ? own : idle->note));
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
		judge(idle, knob, HOST_KNOB_NOT_EFFECTIVE,
		      g_strdup_printf("%s%s%s", before, error ? "; " : "",
				      error ? error->message : ""));
		return;
	}
	host_knob_set_text(&knob->set,
			   g_strdup_printf("cpu_dma_latency %" PRIu64 " us", idle->latency_us));
	judge(idle, knob, HOST_KNOB_UNKNOWN,
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
		disabled += state->banned && read_file_number(state->path, "disable", &value) &&
			    value != 0;
	}
	host_knob_set_text(&knob->read_back,
			   g_strdup_printf("%u of %u states off", disabled, banned));
	if (disabled < banned && knob->effect != HOST_KNOB_NOT_EFFECTIVE)
		judge(idle, knob, HOST_KNOB_NOT_EFFECTIVE,
		      g_strdup_printf("%u states read back as not disabled", banned - disabled));
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
	idle->cpus = g_ptr_array_new_with_free_func(g_free);
	idle->states = g_array_new(FALSE, TRUE, sizeof(struct state));
	idle->latency_fd = -1;
	g_array_set_clear_func(idle->states, state_clear);
	*ret_knob = (struct host_knob){.name = "idle", .requested = g_strdup(state)};
	if (!find_states(idle, &error)) {
		judge(idle, ret_knob, HOST_KNOB_NOT_EFFECTIVE, g_strdup(error->message));
		return idle;
	}
	if (idle->is_hidden) {
		judge(idle, ret_knob, HOST_KNOB_UNKNOWN, NULL);
	} else if (disable_all(idle, &error)) {
		ret_knob->set = g_strdup(idle->banned_any ? "deeper states off" : "none is deeper");
		judge(idle, ret_knob, idle->banned_any ? HOST_KNOB_UNKNOWN : HOST_KNOB_EFFECTIVE,
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

		if (!read_file_number(state->path, "usage", &usage) || usage < state->usage)
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

/* Forgets the states of CPUs that went offline. */
static void forget_offline(struct cpu_idle *idle)
{
	g_auto(GStrv) cpus = host_knob_cpus(idle->sys_root);

	for (guint i = idle->cpus->len; i > 0; i--) {
		g_autofree char *cpu = g_strdup(idle->cpus->pdata[i - 1]);
		g_autofree char *below = g_strconcat(cpu, "/", NULL);

		if (g_strv_contains((const char *const *)cpus, cpu))
			continue;
		g_ptr_array_remove_index(idle->cpus, i - 1);
		for (guint k = idle->states->len; k > 0; k--)
			if (g_str_has_prefix(g_array_index(idle->states, struct state, k - 1).path,
					     below))
				g_array_remove_index(idle->states, k - 1);
	}
}

/* Caps CPUs that came online. */
static void cap_new_cpus(struct cpu_idle *idle, struct host_knob *knob)
{
	guint known;
	g_autoptr(GError) error = NULL;

	forget_offline(idle);
	known = idle->states->len;
	if (find_states(idle, &error) &&
	    (idle->states->len == known || idle->latency_fd >= 0 || disable_all(idle, &error)))
		return;
	judge(idle, knob, HOST_KNOB_NOT_EFFECTIVE, g_strdup(error->message));
}

void cpu_idle_check(struct cpu_idle *idle, struct host_knob *knob)
{
	bool banned_entered = false;
	uint64_t allowed;

	if (!knob->set)
		return;
	cap_new_cpus(idle, knob);
	read_back(idle, knob);
	allowed = count_entries(idle, &banned_entered);
	if (banned_entered)
		fall_back(idle, knob,
			  g_strdup(idle->latency_fd >= 0
					   ? "deeper states are entered though cpu_dma_latency is "
					     "held"
					   : "deeper states are entered though they are disabled"));
	else if (allowed > 0 && knob->effect == HOST_KNOB_UNKNOWN)
		judge(idle, knob, HOST_KNOB_EFFECTIVE, NULL);
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
	g_ptr_array_unref(idle->cpus);
	g_free(idle->note);
	g_free(idle->sys_root);
	g_free(idle->dev_root);
	g_free(idle->state);
	g_free(idle);
}
