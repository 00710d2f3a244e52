/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power_journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/platform.h"

#define LOG_SUBSYSTEM "power"
#include "common/log.h"
#include "common/read_number.h"

#define MAGIC "virtbed-power 1 "

/* While the disk is full, rewriting is tried as often as takes at most this part of the time. */
#define RETRY_SHARE 0.01

/* A file gets at least so many samples, some 3 MB. */
enum { FILE_SAMPLES_MIN = 16384 };

struct power_journal {
	const struct platform *platform;
	char *path;
	char *old_path;
	const char *const *hosts;
	uint32_t count;
	struct sample_ring *ring;
	struct energy_counter *counters;
	char **ids;
	uint32_t appended; /* samples in the file */
	bool failing;      /* the file is incomplete: it is to be rewritten */
	int64_t again_ns;  /* not before this time */
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

static void read_line(struct power_journal *journal, const char *line)
{
	uint64_t next_seq;

	if (g_str_has_prefix(line, "C "))
		read_counter(journal, line + 2);
	else if (g_str_has_prefix(line, "I "))
		read_id(journal, line + 2);
	else if (g_str_has_prefix(line, "A "))
		read_appended(journal, line);
	else if (g_str_has_prefix(line, "S "))
		read_sample(journal, line);
	else if (g_str_has_prefix(line, "N ") &&
		 read_number_unsigned(line + strlen("N "), 0, INT64_MAX, &next_seq))
		sample_ring_skip_to(journal->ring, next_seq);
}

/*
 * Reads the lines after the first of a journal that was written on this boot of the machine, or on
 * another. A last line without a newline was cut by a failed write.
 */
static void read_lines(struct power_journal *journal, char *text, bool same_boot)
{
	char *end;

	for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(journal, line);
	}
	if (same_boot)
		return;
	/* A hole of a number empties the ring. */
	sample_ring_skip_to(journal->ring, sample_ring_last_seq(journal->ring) + 2);
	for (uint32_t i = 0; i < journal->count; i++)
		energy_counter_forget_last(&journal->counters[i]);
}

static bool read_file(struct power_journal *journal, const char *path, const char *boot_id,
		      GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = NULL;
	char *end;

	text = platform_read(journal->platform, path, SIZE_MAX, NULL, &reason);
	if (!text) {
		if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	end = strchr(text, '\n');
	if (!end || !g_str_has_prefix(text, MAGIC)) {
		log_warning("\"%s\" is no power journal", path);
		return true;
	}
	*end = '\0';
	read_lines(journal, end + 1, strcmp(text + strlen(MAGIC), boot_id) == 0);
	return true;
}

/* Appends the first line of a file, and each counter with its id. */
static void write_head(const struct power_journal *journal, GString *text)
{
	g_autofree char *boot_id = platform_boot_id(journal->platform);

	g_string_append_printf(text, MAGIC "%s\n", boot_id);
	for (uint32_t i = 0; i < journal->count; i++) {
		g_string_append(text, "C ");
		write_counter(text, &journal->counters[i], journal->hosts[i]);
		g_string_append_printf(text, "I %s %s\n", journal->ids[i], journal->hosts[i]);
	}
}

/* Writes the file as a whole, alone: counters, the samples of the ring, the next number. */
static bool rewrite(struct power_journal *journal, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const struct sample_ring_entry *entry = NULL;

	write_head(journal, text);
	while ((entry = sample_ring_after(journal->ring, entry ? entry->seq : 0)))
		write_sample(text, entry, journal->hosts[entry->host]);
	g_string_append_printf(text, "N %" PRIu64 "\n", sample_ring_last_seq(journal->ring) + 1);
	if (!platform_write(journal->platform, journal->path, text->str, text->len, false, error))
		return false;
	platform_remove(journal->platform, journal->old_path);
	journal->appended = 0;
	return true;
}

/* Renames the file, which has as many samples as the ring, and begins a new one. */
static bool begin_file(struct power_journal *journal)
{
	g_autoptr(GString) text = g_string_new(NULL);

	write_head(journal, text);
	if (!platform_rename(journal->platform, journal->path, journal->old_path))
		return false;
	journal->appended = 0;
	return platform_write(journal->platform, journal->path, text->str, text->len, false, NULL);
}

struct power_journal *power_journal_open(const struct platform *platform, const char *path,
					 const char *const *hosts, uint32_t count,
					 struct sample_ring *ring, struct energy_counter *counters,
					 char **ids, GError **error)
{
	g_autoptr(power_journal_t) journal = g_new0(struct power_journal, 1);
	g_autofree char *boot_id = platform_boot_id(platform);

	journal->platform = platform;
	journal->path = g_strdup(path);
	journal->old_path = g_strconcat(path, ".old", NULL);
	journal->hosts = hosts;
	journal->count = count;
	journal->ring = ring;
	journal->counters = counters;
	journal->ids = ids;
	if (!read_file(journal, journal->old_path, boot_id, error) ||
	    !read_file(journal, path, boot_id, error) || !rewrite(journal, error))
		return NULL;
	return g_steal_pointer(&journal);
}

void power_journal_close(struct power_journal *journal)
{
	if (!journal)
		return;
	g_free(journal->path);
	g_free(journal->old_path);
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
	return platform_append(journal->platform, journal->path, text->str, text->len);
}

/* Writes the file as a whole after an append failed, unless that is too early again. */
static void try_rewrite(struct power_journal *journal)
{
	const int64_t from_ns = platform_now_ns(journal->platform);
	g_autoptr(GError) error = NULL;

	if (journal->failing && from_ns < journal->again_ns)
		return;
	if (rewrite(journal, &error)) {
		journal->failing = false;
		return;
	}
	if (!journal->failing)
		log_error("cannot keep the power samples, a restart will miss some: %s",
			  error->message);
	journal->failing = true;
	journal->again_ns =
		platform_now_ns(journal->platform) +
		(int64_t)((double)(platform_now_ns(journal->platform) - from_ns) / RETRY_SHARE);
}

void power_journal_append(struct power_journal *journal)
{
	const uint32_t most = MAX(FILE_SAMPLES_MIN, sample_ring_capacity(journal->ring));

	if (!journal->failing && (journal->appended < most || begin_file(journal)) &&
	    append_last(journal))
		journal->appended++;
	else
		try_rewrite(journal);
}
