/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contents of a claim, and its standing for another process. */
#include "local-sched/hypervisor/claim.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/lab_state.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "local-sched/hypervisor/virt_error.h"

/* The first line of a file, or "". */
static char *line_of(const char *path)
{
	char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return g_strdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The boot id, or "": not known. */
static char *boot_here(const struct platform *platform)
{
	char *id = platform_boot_id(platform);

	if (g_str_equal(id, "unknown"))
		id[0] = '\0';
	return id;
}

static char *pids_here(void)
{
	char *link = g_file_read_link("/proc/self/ns/pid", NULL);

	return link ? link : g_strdup("");
}

struct claim *claim_new(const struct platform *platform, const char *keeper)
{
	struct claim *claim = g_new0(struct claim, 1);
	g_autoptr(GDateTime) now =
		g_date_time_new_from_unix_local(platform_utc_us(platform) / G_USEC_PER_SEC);

	claim->keeper = g_strdup(keeper);
	claim->machine = g_strdup(g_get_host_name());
	claim->machine_id = line_of("/etc/machine-id");
	claim->boot_id = boot_here(platform);
	claim->pids = pids_here();
	claim->pid = getpid();
	claim->start_ticks = (int64_t)lab_state_start_ticks(getpid());
	claim->since = g_date_time_format(now, "%F %T");
	return claim;
}

void claim_free(struct claim *claim)
{
	if (!claim)
		return;
	g_free(claim->keeper);
	g_free(claim->machine);
	g_free(claim->machine_id);
	g_free(claim->boot_id);
	g_free(claim->pids);
	g_free(claim->since);
	g_free(claim);
}

void claim_result_free(struct claim_result *result)
{
	if (!result)
		return;
	g_free(result->seen);
	g_free(result->who);
	g_free(result);
}

char *claim_text(const struct claim *claim)
{
	g_autoptr(json_t) document =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:I}", "keeper", claim->keeper,
			  "machine", claim->machine, "machine_id", claim->machine_id, "boot_id",
			  claim->boot_id, "pids", claim->pids, "pid", (json_int_t)claim->pid,
			  "start_ticks", (json_int_t)claim->start_ticks, "since", claim->since,
			  "beat", (json_int_t)claim->beat);
	char *compact = json_dumps(document, JSON_COMPACT);
	char *text = g_strdup(compact);

	free(compact); /* jansson's, by malloc() */
	return text;
}

struct claim *claim_parse(const char *text, GError **error)
{
	g_autoptr(json_t) document = json_parse(text, strlen(text), "claim", NULL);
	g_autoptr(claim_t) claim = g_new0(struct claim, 1);
	const char *keeper, *machine, *machine_id, *boot_id, *pids, *since;
	json_int_t pid, start_ticks, beat;

	if (!document ||
	    json_unpack(document, "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:I}", "keeper",
			&keeper, "machine", &machine, "machine_id", &machine_id, "boot_id",
			&boot_id, "pids", &pids, "pid", &pid, "start_ticks", &start_ticks, "since",
			&since, "beat", &beat) < 0) {
		return error_null(error, VIRT_ERROR, VIRT_ERROR_FOREIGN,
				  "no local scheduler wrote it");
	}
	*claim = (struct claim){
		.keeper = g_strdup(keeper),
		.machine = g_strdup(machine),
		.machine_id = g_strdup(machine_id),
		.boot_id = g_strdup(boot_id),
		.pids = g_strdup(pids),
		.pid = pid,
		.start_ticks = start_ticks,
		.since = g_strdup(since),
		.beat = beat,
	};
	return g_steal_pointer(&claim);
}

bool claim_volume_number(const char *volume, const char *name, uint64_t *ret_number)
{
	const char *rest = g_str_has_prefix(volume, name) ? volume + strlen(name) : "?";

	*ret_number = 0;
	return !*rest || (rest[0] == '.' && rest[1] != '0' &&
			  read_number_unsigned(rest + 1, 1, UINT32_MAX, ret_number));
}

char *claim_who(const struct claim *claim)
{
	return g_strdup_printf("pid %" G_GINT64_FORMAT " on machine '%s', since %s", claim->pid,
			       claim->machine, claim->since);
}

/*
 * Whether pids of both processes are comparable: equal pid namespaces of the same boot of the same
 * machine.
 */
static bool same_processes(const struct claim *found, const struct claim *own)
{
	return *own->boot_id && *own->pids && g_str_equal(found->boot_id, own->boot_id) &&
	       g_str_equal(found->pids, own->pids);
}

/*
 * Whether `found` is from this machine before its last boot, and has the state directory of `own`.
 * Cloned machines may share a machine id.
 */
static bool was_before_boot(const struct claim *found, const struct claim *own)
{
	return *own->machine_id && *own->boot_id && g_str_equal(found->keeper, own->keeper) &&
	       g_str_equal(found->machine_id, own->machine_id) &&
	       g_str_equal(found->machine, own->machine) &&
	       !g_str_equal(found->boot_id, own->boot_id);
}

/*
 * The standing of a process of this machine. /proc may hide other users' processes (hidepid): a
 * process without a readable start time may be the claim's holder, or a later process with its pid.
 */
static enum claim_standing standing_of(int64_t pid, int64_t start_ticks)
{
	const struct lab_state_process process = {(pid_t)pid, (uint64_t)start_ticks};

	if (pid <= 0 || pid > G_MAXINT)
		return CLAIM_ENDED;
	if (lab_state_process_alive(process))
		return CLAIM_LIVES;
	if (lab_state_start_ticks(process.pid) == 0 &&
	    (kill(process.pid, 0) == 0 || errno != ESRCH))
		return CLAIM_DOUBTFUL;
	return CLAIM_ENDED;
}

enum claim_standing claim_judge(const struct claim *found, const struct claim *own)
{
	if (was_before_boot(found, own))
		return CLAIM_ENDED;
	if (!same_processes(found, own))
		return CLAIM_DOUBTFUL;
	if (found->pid == own->pid && found->start_ticks == own->start_ticks)
		return CLAIM_OWN;
	return standing_of(found->pid, found->start_ticks);
}

/* Observation. */

bool claim_watch_see(struct claim_watch *watch, const char *text, int64_t now_ns)
{
	const bool changed = watch->text && !g_str_equal(watch->text, text);

	if (!watch->text || changed) {
		claim_watch_clear(watch);
		watch->text = g_strdup(text);
	}
	if (!watch->since_ns)
		watch->since_ns = now_ns;
	return changed;
}

void claim_watch_interrupt(struct claim_watch *watch)
{
	watch->since_ns = 0;
}

const char *claim_watch_lapsed(const struct claim_watch *watch, int64_t now_ns)
{
	return watch->since_ns && clock_elapsed_s(watch->since_ns, now_ns) >= CLAIM_LAPSE_S
		       ? watch->text
		       : NULL;
}

void claim_watch_clear(struct claim_watch *watch)
{
	g_free(watch->text);
	*watch = (struct claim_watch){0};
}
