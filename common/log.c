/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/visible.h"

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* The level in VIRTBED_LOG, read once, since the environment does not change. */
static enum log_level threshold(void)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		const char *wanted = g_getenv("VIRTBED_LOG");
		gsize level = LOG_LEVEL_INFO;
		gsize found = 0;

		while (wanted && found < G_N_ELEMENTS(level_names) &&
		       strcmp(wanted, level_names[found]) != 0)
			found++;
		if (wanted && found < G_N_ELEMENTS(level_names))
			level = found;
		else if (wanted && *wanted)
			fprintf(stderr,
				"VIRTBED_LOG: '%s' is not one of %s, %s, %s, %s: %s is used\n",
				wanted, level_names[LOG_LEVEL_ERROR],
				level_names[LOG_LEVEL_WARNING], level_names[LOG_LEVEL_INFO],
				level_names[LOG_LEVEL_DEBUG], level_names[level]);
		g_once_init_leave(&once, level + 1);
	}
	return (enum log_level)(once - 1);
}

/* Whether `text` is a plain word that needs no quotes. */
static bool is_plain(const char *text)
{
	static const char plain[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-.:/+@";

	return *text && strspn(text, plain) == strlen(text);
}

static void append_field(GString *line, const char *key, const char *value)
{
	if (!value)
		return;
	g_string_append_printf(line, "%s=", key);
	if (is_plain(value)) {
		g_string_append(line, value);
	} else {
		g_autoptr(GString) quoted = g_string_new(value);

		g_string_replace(quoted, "\\", "\\\\", 0);
		g_string_replace(quoted, "\"", "\\\"", 0);
		g_string_append_c(line, '"');
		visible_append(line, quoted->str);
		g_string_append_c(line, '"');
	}
	g_string_append_c(line, ' ');
}

/* "job task=7 started" */
static void append_words(GString *line, const char *subsystem, const struct log_about *about,
			 const char *message)
{
	g_string_append_printf(line, "%s ", subsystem);
	append_field(line, "task", about->task);
	append_field(line, "attempt", about->attempt);
	append_field(line, "local", about->local);
	append_field(line, "node", about->node);
	append_field(line, "host", about->host);
	visible_append(line, message);
}

/* systemd.exec(5): the journal's device and inode, if we were started with it. */
bool log_is_journal(void)
{
	const char *stream = g_getenv("JOURNAL_STREAM");
	g_autofree char *ours = NULL;
	struct stat status;

	if (!stream || fstat(STDERR_FILENO, &status) < 0)
		return false;
	ours = g_strdup_printf("%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
	return g_str_equal(stream, ours);
}

static void add_entry(GPtrArray *entries, const char *key, const char *value)
{
	if (value)
		g_ptr_array_add(entries, g_strconcat(key, "=", value, NULL));
}

/* Returns false if the journal did not accept it. */
static bool send_to_journal(enum log_level level, const char *subsystem,
			    const struct log_about *about, const char *words)
{
	static const char *const priorities[] = {"3", "4", "6", "7"}; /* syslog(3) */
	g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_free);
	struct iovec vectors[10];

	add_entry(entries, "MESSAGE", words);
	add_entry(entries, "PRIORITY", priorities[level]);
	add_entry(entries, "SYSLOG_IDENTIFIER", program_invocation_short_name);
	add_entry(entries, "VIRTBED_SUBSYSTEM", subsystem);
	add_entry(entries, "VIRTBED_TASK", about->task);
	add_entry(entries, "VIRTBED_ATTEMPT", about->attempt);
	add_entry(entries, "VIRTBED_LOCAL", about->local);
	add_entry(entries, "VIRTBED_NODE", about->node);
	add_entry(entries, "VIRTBED_HOST", about->host);
	g_assert(entries->len <= G_N_ELEMENTS(vectors));
	for (guint i = 0; i < entries->len; i++) {
		vectors[i].iov_base = g_ptr_array_index(entries, i);
		vectors[i].iov_len = strlen(vectors[i].iov_base);
	}
	return sd_journal_sendv(vectors, (int)entries->len) == 0;
}

static bool is_number(const char *word)
{
	return *word && strspn(word, G_CSET_DIGITS) == strlen(word);
}

/* Sets `task` and `attempt` from a local scheduler's name of a task, split into `words`. */
static void name_task(struct log_about *about, GStrv words)
{
	const guint count = g_strv_length(words);

	if (count >= 4 && is_number(words[count - 3]) && is_number(words[count - 2]) &&
	    is_number(words[count - 1])) {
		about->task = words[count - 2];
		about->attempt = words[count - 1];
	} else {
		about->task = about->local;
		about->local = NULL;
	}
}

void log_line(enum log_level level, const char *subsystem, struct log_about about,
	      const char *format, ...)
{
	if (level > threshold())
		return;

	g_autofree char *utc = NULL;
	g_autofree char *message = NULL;
	g_autoptr(GString) line = g_string_new(NULL);
	g_auto(GStrv) words = about.local ? g_strsplit(about.local, "-", -1) : NULL;
	va_list arguments;

	if (words)
		name_task(&about, words);
	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	append_words(line, subsystem, &about, message);
	if (log_is_journal() && send_to_journal(level, subsystem, &about, line->str))
		return;
	utc = clock_utc();
	g_string_prepend_c(line, ' ');
	g_string_prepend(line, level_names[level]);
	g_string_prepend_c(line, ' ');
	g_string_prepend(line, utc);
	g_string_append_c(line, '\n');
	/* One write, so that lines of several threads and processes do not mix. */
	if (write(STDERR_FILENO, line->str, line->len) < 0)
		return; /* there is no place to report it */
}

static void take_message(const gchar *domain, GLogLevelFlags flags, const gchar *message,
			 gpointer data)
{
	enum log_level level = LOG_LEVEL_DEBUG;

	if (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))
		level = LOG_LEVEL_ERROR;
	else if (flags & G_LOG_LEVEL_WARNING)
		level = LOG_LEVEL_WARNING;
	else if (flags & G_LOG_LEVEL_MESSAGE)
		level = LOG_LEVEL_INFO;
	log_line(level, domain ?: "virtbed", (struct log_about){0}, "%s", message ?: "");
}

void log_take_glib(void)
{
	g_log_set_default_handler(take_message, NULL);
}
