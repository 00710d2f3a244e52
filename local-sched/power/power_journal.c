/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"

#define LOG_SUBSYSTEM "power"
#include "common/log.h"
#include "common/read_number.h"

#define MAGIC "virtbed-power 1 "

/* The file is rewritten after this many samples were appended: some 3 MB. */
enum { REWRITE_AFTER = 16384 };

struct power_journal {
	char *path;
	int fd;
	const char *const *hosts;
	uint32_t count;
	struct sample_ring *ring;
	struct energy_counter *counters;
	char **ids;
	uint32_t appended; /* since the last rewrite */
	bool failing;      /* the file is incomplete: rewrite it at the next append */
};

/* The index of a host's name, or -1. */
static int find_host(const struct power_journal *journal, const char *name)
{
	for (uint32_t i = 0; i < journal->count; i++)
		if (strcmp(journal->hosts[i], name) == 0)
			return (int)i;
	return -1;
}

/* Appends "COUNTER HOST". */
static void write_counter(GString *text, const struct energy_counter *counter, const char *host)
{
	g_string_append_printf(text,
			       "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu32
			       " %d %" PRId64 " %" PRId64 " %s\n",
			       counter->energy_uj, counter->gap_uj, counter->covered_ns,
			       counter->gap_ns, counter->remainder, counter->has_last,
			       counter->last_ns, counter->last_mw, host);
}

/*
 * Reads a number and the blank after it. Returns the rest, or NULL where `at` is NULL or there is
 * no such number.
 */
static const char *read_unsigned(const char *at, uint64_t max, uint64_t *ret_value)
{
	at = read_number_front_unsigned(at, ret_value);
	return at && *at == ' ' && *ret_value <= max ? at + 1 : NULL;
}

static const char *read_signed(const char *at, int64_t *ret_value)
{
	at = read_number_front_integer(at, ret_value);
	return at && *at == ' ' ? at + 1 : NULL;
}

static const char *read_flag(const char *at, bool *ret_flag)
{
	uint64_t value;

	at = read_unsigned(at, 1, &value);
	*ret_flag = at && value == 1;
	return at;
}

/* Reads "COUNTER HOST" into the host's counter. Returns the host's index, or -1. */
static int read_counter(struct power_journal *journal, const char *text)
{
	struct energy_counter read = {0};
	uint64_t remainder;
	int host;

	text = read_unsigned(text, INT64_MAX, &read.energy_uj);
	text = read_unsigned(text, UINT64_MAX, &read.gap_uj);
	text = read_signed(text, &read.covered_ns);
	text = read_signed(text, &read.gap_ns);
	text = read_unsigned(text, UINT32_MAX, &remainder);
	text = read_flag(text, &read.has_last);
	text = read_signed(text, &read.last_ns);
	text = read_signed(text, &read.last_mw);
	if (!text)
		return -1;
	read.remainder = (uint32_t)remainder;
	host = find_host(journal, text);
	/* Counters never fall, even if the file was edited. */
	if (host < 0 || read.last_mw < 0 || read.last_ns < 0 ||
	    read.energy_uj < journal->counters[host].energy_uj)
		return -1;
	read.gap_limit_ns = journal->counters[host].gap_limit_ns;
	journal->counters[host] = read;
	return host;
}

/* Reads "ID HOST". */
static void read_id(struct power_journal *journal, const char *text)
{
	const char *space = strchr(text, ' ');
	const int host = space ? find_host(journal, space + 1) : -1;
	g_autofree char *id = space ? g_strndup(text, (gsize)(space - text)) : NULL;

	if (host < 0 || !g_uuid_string_is_valid(id))
		return;
	g_free(journal->ids[host]);
	journal->ids[host] = g_steal_pointer(&id);
}

static void write_sample(GString *text, const struct sample_ring_entry *entry, const char *host)
{
	g_string_append_printf(text, "S %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %d %s\n",
			       entry->seq, entry->t_ns, entry->mw, entry->energy_uj, entry->gap,
			       host);
}

static void push_sample(struct power_journal *journal, const struct sample_ring_entry *entry)
{
	if (entry->seq <= sample_ring_last_seq(journal->ring) || entry->seq > INT64_MAX)
		return;
	sample_ring_skip_to(journal->ring, entry->seq);
	sample_ring_push(journal->ring, entry);
}

static void read_sample(struct power_journal *journal, const char *line)
{
	struct sample_ring_entry entry = {0};
	int host;

	line = read_unsigned(line + strlen("S "), UINT64_MAX, &entry.seq);
	line = read_signed(line, &entry.t_ns);
	line = read_signed(line, &entry.mw);
	line = read_unsigned(line, UINT64_MAX, &entry.energy_uj);
	line = read_flag(line, &entry.gap);
	host = line ? find_host(journal, line) : -1;
	if (host < 0)
		return;
	entry.host = (uint32_t)host;
	push_sample(journal, &entry);
}

static void read_appended(struct power_journal *journal, const char *line)
{
	struct sample_ring_entry entry = {0};
	int host;

	line = read_unsigned(line + strlen("A "), UINT64_MAX, &entry.seq);
	line = read_flag(line, &entry.gap);
	host = line ? read_counter(journal, line) : -1;
	if (host < 0)
		return;
	entry.host = (uint32_t)host;
	entry.t_ns = journal->counters[host].last_ns;
	entry.mw = journal->counters[host].last_mw;
	entry.energy_uj = journal->counters[host].energy_uj;
	push_sample(journal, &entry);
}

/* Reads the lines of a journal that was written on this boot of the machine, or on another. */
static void read_lines(struct power_journal *journal, char **lines, bool same_boot)
{
	uint64_t next_seq;

	for (gsize i = 1; lines[i]; i++) {
		/* A last line without a newline was cut by a failed write. */
		if (!lines[i + 1])
			break;
		if (g_str_has_prefix(lines[i], "C "))
			read_counter(journal, lines[i] + 2);
		else if (g_str_has_prefix(lines[i], "I "))
			read_id(journal, lines[i] + 2);
		else if (g_str_has_prefix(lines[i], "A "))
			read_appended(journal, lines[i]);
		else if (g_str_has_prefix(lines[i], "S "))
			read_sample(journal, lines[i]);
		else if (g_str_has_prefix(lines[i], "N ") &&
			 read_number_unsigned(lines[i] + strlen("N "), 0, INT64_MAX, &next_seq))
			sample_ring_skip_to(journal->ring, next_seq);
	}
	if (same_boot)
		return;
	/* A hole of a number empties the ring. */
	sample_ring_skip_to(journal->ring, sample_ring_last_seq(journal->ring) + 2);
	for (uint32_t i = 0; i < journal->count; i++)
		energy_counter_forget_last(&journal->counters[i]);
}

static bool read_file(struct power_journal *journal, const char *boot_id, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(journal->path, &text, NULL, &reason)) {
		if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	lines = g_strsplit(text, "\n", -1);
	if (!lines[0] || !g_str_has_prefix(lines[0], MAGIC)) {
		log_warning("\"%s\" is no power journal; starting the counters at 0",
			    journal->path);
		return true;
	}
	read_lines(journal, lines, strcmp(lines[0] + strlen(MAGIC), boot_id) == 0);
	return true;
}

/* Rewrites the file: counters, the samples of the ring, the next number. */
static bool rewrite(struct power_journal *journal, GError **error)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autoptr(GString) text = g_string_new(MAGIC);
	const struct sample_ring_entry *entry = NULL;

	g_string_append_printf(text, "%s\n", boot_id);
	for (uint32_t i = 0; i < journal->count; i++) {
		g_string_append(text, "C ");
		write_counter(text, &journal->counters[i], journal->hosts[i]);
		g_string_append_printf(text, "I %s %s\n", journal->ids[i], journal->hosts[i]);
	}
	while ((entry = sample_ring_after(journal->ring, entry ? entry->seq : 0)))
		write_sample(text, entry, journal->hosts[entry->host]);
	g_string_append_printf(text, "N %" PRIu64 "\n", sample_ring_last_seq(journal->ring) + 1);
	if (!g_file_set_contents_full(journal->path, text->str, (gssize)text->len,
				      G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
		return false;
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = open(journal->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (journal->fd < 0)
		return error_fail(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
				  "cannot open \"%s\": %s", journal->path, g_strerror(errno));
	journal->appended = 0;
	return true;
}

struct power_journal *power_journal_open(const char *path, const char *const *hosts, uint32_t count,
					 struct sample_ring *ring, struct energy_counter *counters,
					 char **ids, GError **error)
{
	g_autoptr(power_journal_t) journal = g_new0(struct power_journal, 1);
	g_autofree char *boot_id = clock_boot_id();

	journal->path = g_strdup(path);
	journal->fd = -1;
	journal->hosts = hosts;
	journal->count = count;
	journal->ring = ring;
	journal->counters = counters;
	journal->ids = ids;
	if (!read_file(journal, boot_id, error) || !rewrite(journal, error))
		return NULL;
	return g_steal_pointer(&journal);
}

void power_journal_close(struct power_journal *journal)
{
	if (!journal)
		return;
	if (journal->fd >= 0)
		close(journal->fd);
	g_free(journal->path);
	g_free(journal);
}

/* Appends the last entry and its counter in one write. */
static bool append_last(const struct power_journal *journal)
{
	const struct sample_ring_entry *entry =
		sample_ring_after(journal->ring, sample_ring_last_seq(journal->ring) - 1);
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "A %" PRIu64 " %d ", entry->seq, entry->gap);
	write_counter(text, &journal->counters[entry->host], journal->hosts[entry->host]);
	return write(journal->fd, text->str, text->len) == (ssize_t)text->len;
}

void power_journal_append(struct power_journal *journal)
{
	g_autoptr(GError) error = NULL;

	if (!journal->failing && journal->appended < REWRITE_AFTER && append_last(journal)) {
		journal->appended++;
		return;
	}
	if (rewrite(journal, &error)) {
		journal->failing = false;
		return;
	}
	if (!journal->failing)
		log_error("cannot keep the power samples, a restart will miss some: %s",
			  error->message);
	journal->failing = true;
}
