/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cap_originals.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/platform.h"
#include "common/visible.h"
#include "local-sched/cpu/sysfs.h"

#define LOG_SUBSYSTEM "caps"
#include "common/log.h"

/* Of a path or a value in the file, and of a value in a message. */
enum { LINE_MAX_BYTES = 4096, SHOWN_MAX = 40 };

#define HEADER "virtbed-caps 1 "

enum { TEXT_MAX = 8 << 20 };

/*
 * Boost and the frequencies depend on each other: a maximum above the range is cut while boost is
 * off, and switching boost may set the maxima. So knobs are written again until all stay as they
 * were.
 */
enum { PUT_BACK_PASSES = 3 };

struct knob {
	char *path;
	char *value;   /* the original */
	char *given;   /* read after it was written, or could have been moved; NULL: not known */
	bool noted;    /* it was not written, but another that may move it */
	bool gone;     /* its CPU is offline */
	bool written;  /* to restore it */
	GError *error; /* of the last write that was to restore it */
};

struct cap_originals {
	const struct platform *platform;
	char *path;
	int fd;           /* locked */
	GPtrArray *knobs; /* struct knob, in the order in which they were changed */
};

G_DEFINE_QUARK(virtbed_cap_originals, cap_originals_error)

static void knob_free(gpointer data)
{
	struct knob *knob = data;

	g_free(knob->path);
	g_free(knob->value);
	g_free(knob->given);
	g_clear_error(&knob->error);
	g_free(knob);
}

static void free_originals(struct cap_originals *originals)
{
	if (originals->fd >= 0)
		close(originals->fd); /* releases the lock too */
	g_ptr_array_unref(originals->knobs);
	g_free(originals->path);
	g_free(originals);
}

static bool set_file_error(const struct cap_originals *originals, const char *doing, GError **error)
{
	const int code = errno;

	return error_fail(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_FILE,
			  "cannot %s \"%s\", which keeps the CPU's settings: %s", doing,
			  originals->path, g_strerror(code));
}

/* Only files like these are ever written because of the file's contents. */
static bool is_knob(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") &&
	       (strstr(path, "/cpufreq/") || strstr(path, "/cpuidle/") ||
		strstr(path, "/intel_pstate/"));
}

static struct knob *find(const struct cap_originals *originals, const char *path)
{
	for (guint i = 0; i < originals->knobs->len; i++) {
		struct knob *knob = originals->knobs->pdata[i];

		if (strcmp(knob->path, path) == 0)
			return knob;
	}
	return NULL;
}

/* Adds a knob, or sets what is known of it. */
static struct knob *put(struct cap_originals *originals, const char *path, const char *value,
			bool noted)
{
	struct knob *knob = find(originals, path);
	char *own = g_strdup(value);

	if (!knob) {
		knob = g_new0(struct knob, 1);
		knob->path = g_strdup(path);
		g_ptr_array_add(originals->knobs, knob);
	}
	g_free(knob->value);
	knob->value = own;
	knob->noted = noted;
	return knob;
}

/* Takes one line of the file. A line of another form is skipped. */
static void parse_line(struct cap_originals *originals, char *line)
{
	char *tab = strchr(line, '\t');
	const bool noted = line[0] == '?';
	struct knob *knob = NULL;

	if (tab)
		*tab = '\0';
	if (line[0] == '=' || line[0] == '-')
		knob = find(originals, line + 1);
	if (knob && line[0] == '-') {
		g_ptr_array_remove(originals->knobs, knob);
	} else if (knob && tab) {
		g_free(knob->given);
		knob->given = g_strdup(tab + 1);
	} else if (tab && is_knob(line + noted)) {
		knob = find(originals, line + noted);
		/* What was written stays so, with its first value. */
		if (!knob || (knob->noted && !noted))
			put(originals, line + noted, tab + 1, noted);
	}
}

/* Reads the file, unless it is from an earlier boot. A truncated line is skipped. */
static void parse(struct cap_originals *originals, const char *text)
{
	g_autofree char *boot_id = platform_boot_id(originals->platform);
	g_autofree char *header = g_strconcat(HEADER, boot_id, NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const guint count = g_strv_length(lines);

	if (count == 0 || strcmp(lines[0], header) != 0)
		return;
	/* Text after the last newline is a truncated line. */
	for (guint i = 1; i + 1 < count; i++)
		parse_line(originals, lines[i]);
}

static bool read_file(struct cap_originals *originals, GError **error)
{
	g_autofree char *text = g_malloc0(TEXT_MAX + 1);
	const ssize_t length = pread(originals->fd, text, TEXT_MAX, 0);
	const char *last;

	if (length < 0)
		return set_file_error(originals, "read", error);
	/* Appended lines must not continue a truncated one. */
	last = strrchr(text, '\n');
	if (ftruncate(originals->fd, last ? last + 1 - text : 0) < 0)
		return set_file_error(originals, "write", error);
	parse(originals, text);
	return true;
}

/* Appends a line to the file. An original has to be on disk before its knob is written. */
static bool append(struct cap_originals *originals, const char *line, bool sync, GError **error)
{
	const off_t end = lseek(originals->fd, 0, SEEK_END);
	const ssize_t length = (ssize_t)strlen(line);

	if (end >= 0 && pwrite(originals->fd, line, (size_t)length, end) == length &&
	    (!sync || fsync(originals->fd) == 0))
		return true;
	set_file_error(originals, "write", error);
	if (end >= 0 && ftruncate(originals->fd, end) < 0)
		log_error("cannot shorten \"%s\": %s", originals->path, g_strerror(errno));
	return false;
}

/*
 * Forgets a knob that has its original value. A line that cannot be written does no harm: the next
 * process finds the knob as it should be.
 */
static void forget(struct cap_originals *originals, struct knob *knob)
{
	g_autofree char *line = g_strdup_printf("-%s\n", knob->path);

	append(originals, line, false, NULL);
	g_ptr_array_remove(originals->knobs, knob);
}

/*
 * Whether a knob is that of a policy (".../cpufreq/policy3/...") whose first CPU is offline. Where
 * all of its CPUs are, the policy's files are there and refuse to be read.
 */
static bool is_of_offline_cpu(const char *path)
{
	static const char policy[] = "/cpufreq/policy";
	const char *at = strstr(path, policy);
	const char *number = at ? at + strlen(policy) : "";
	const int digits = (int)strspn(number, "0123456789");
	g_autofree char *file = NULL;
	g_autofree char *online = NULL;

	if (digits == 0)
		return false;
	file = g_strdup_printf("%.*s/cpu%.*s/online", (int)(at - path), path, digits, number);
	online = sysfs_read(file, NULL);
	return g_strcmp0(online, "0") == 0;
}

/* Whether the knob has its original value. */
static bool is_back(struct knob *knob)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *now = sysfs_read(knob->path, &error);

	knob->gone = g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ||
		     (error && is_of_offline_cpu(knob->path));
	return g_strcmp0(now, knob->value) == 0;
}

/* Warns of a knob that another program has changed. */
static void warn_changed(const struct knob *knob)
{
	g_autofree char *now = sysfs_read(knob->path, NULL);
	g_autofree char *seen = now ? visible_start(now, SHOWN_MAX) : NULL;

	if (!now || !knob->given || strcmp(now, knob->given) == 0 || strcmp(now, knob->value) == 0)
		return;
	log_warning(
		"another program has set \"%s\" to \"%s\" since it was given \"%s\"; it gets what "
		"it had before, \"%s\"",
		knob->path, seen, knob->given, knob->value);
}

static void write_back(struct knob *knob)
{
	g_clear_error(&knob->error);
	if (is_back(knob))
		return;
	sysfs_write(knob->path, knob->value, &knob->error);
	knob->written = true;
}

static void warn_left(const struct knob *knob)
{
	if (knob->gone)
		log_warning("\"%s\" cannot be set while its CPU is offline; it had \"%s\"",
			    knob->path, knob->value);
	else
		log_error("\"%s\" is not as it was, \"%s\": %s", knob->path, knob->value,
			  knob->error ? knob->error->message : "it reads back another value");
}

/*
 * A knob that was never written, and that another program has set since, keeps that program's
 * value, also where what is put back moves it.
 */
static void leave_to_others(struct knob *knob)
{
	g_autofree char *now = knob->noted && knob->given ? sysfs_read(knob->path, NULL) : NULL;

	if (!now || strcmp(now, knob->given) == 0)
		return;
	g_free(knob->value);
	knob->value = g_steal_pointer(&now);
}

/*
 * Restores the known originals, in several passes. Those that are back are forgotten. Returns how
 * many were written and are back.
 */
static guint put_back(struct cap_originals *originals)
{
	guint restored = 0;

	for (guint i = 0; i < originals->knobs->len; i++)
		leave_to_others(originals->knobs->pdata[i]);
	for (guint i = 0; i < originals->knobs->len; i++)
		warn_changed(originals->knobs->pdata[i]);
	for (int pass = 0; pass < PUT_BACK_PASSES; pass++)
		for (guint i = 0; i < originals->knobs->len; i++)
			write_back(originals->knobs->pdata[i]);
	for (guint i = originals->knobs->len; i > 0; i--) {
		struct knob *knob = originals->knobs->pdata[i - 1];

		if (!is_back(knob)) {
			warn_left(knob);
			continue;
		}
		restored += knob->written;
		forget(originals, knob);
	}
	return restored;
}

/* The knobs that are left and exist. */
static guint refused(const struct cap_originals *originals)
{
	guint count = 0;

	for (guint i = 0; i < originals->knobs->len; i++)
		count += !((struct knob *)originals->knobs->pdata[i])->gone;
	return count;
}

/* Replaces the contents of the file, in which no knob is left, by its first line. */
static bool write_header(struct cap_originals *originals, GError **error)
{
	g_autofree char *boot_id = platform_boot_id(originals->platform);
	g_autofree char *line = g_strconcat(HEADER, boot_id, "\n", NULL);

	if (ftruncate(originals->fd, 0) < 0)
		return set_file_error(originals, "write", error);
	return append(originals, line, true, error);
}

/*
 * Opens and locks the file. The file that was locked may just have been removed by its holder. The
 * lock is then void, and another try finds the new file.
 */
static int open_locked(const char *path, int flags, bool *ret_held)
{
	for (;;) {
		struct stat by_fd;
		struct stat by_path;
		const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

		*ret_held = false;
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			*ret_held = true;
			close(fd);
			return -1;
		}
		if (fstat(fd, &by_fd) == 0 && stat(path, &by_path) == 0 &&
		    by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev)
			return fd;
		close(fd);
	}
}

static struct cap_originals *create(const struct platform *platform, const char *path)
{
	struct cap_originals *originals = g_new0(struct cap_originals, 1);

	originals->platform = platform;
	originals->path = g_strdup(path);
	originals->fd = -1;
	originals->knobs = g_ptr_array_new_with_free_func(knob_free);
	return originals;
}

static bool open_file(struct cap_originals *originals, GError **error)
{
	g_autofree char *directory = g_path_get_dirname(originals->path);
	bool held;

	if (g_mkdir_with_parents(directory, 0700) < 0)
		return set_file_error(originals, "make the directory of", error);
	originals->fd = open_locked(originals->path, O_CREAT, &held);
	if (held) {
		g_set_error(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_HELD,
			    "another local scheduler has set this machine's CPU frequencies or "
			    "C-states (\"%s\" is locked); stop it, or give its cluster the "
			    "same machine to itself",
			    originals->path);
		return false;
	}
	if (originals->fd < 0)
		return set_file_error(originals, "open", error);
	return read_file(originals, error);
}

struct cap_originals *cap_originals_open(const struct platform *platform, const char *path,
					 GError **error)
{
	struct cap_originals *originals = create(platform, path);

	if (open_file(originals, error)) {
		if (originals->knobs->len > 0)
			log_warning("a local scheduler that ended left %u CPU settings; they are "
				    "put back",
				    originals->knobs->len);
		put_back(originals);
		/* A knob that is left stays, with its line, in the file. */
		if (originals->knobs->len > 0 || write_header(originals, error))
			return originals;
	}
	free_originals(originals);
	return NULL;
}

/* Stores an original on disk, and then in memory. NULL with `error`. */
static struct knob *store(struct cap_originals *originals, const char *path, const char *value,
			  bool noted, GError **error)
{
	g_autofree char *line = g_strdup_printf("%s%s\t%s\n", noted ? "?" : "", path, value);

	return append(originals, line, true, error) ? put(originals, path, value, noted) : NULL;
}

/* A text that a line of the file can hold. */
static bool fits_line(const char *text)
{
	return !strpbrk(text, "\t\n") && strlen(text) <= LINE_MAX_BYTES;
}

/* Notes what the knob has after it was written. */
static void confirm(struct cap_originals *originals, struct knob *knob)
{
	g_autofree char *now = sysfs_read(knob->path, NULL);
	g_autofree char *line = NULL;

	if (!now || !fits_line(now) || g_strcmp0(now, knob->given) == 0)
		return;
	line = g_strdup_printf("=%s\t%s\n", knob->path, now);
	append(originals, line, false, NULL);
	g_free(knob->given);
	knob->given = g_steal_pointer(&now);
}

void cap_originals_confirm(struct cap_originals *originals, const char *knob)
{
	struct knob *known = find(originals, knob);

	if (known)
		confirm(originals, known);
}

/* Reads a knob whose value the file can hold. */
static char *read_knob(const char *knob, GError **error)
{
	g_autofree char *value = sysfs_read(knob, error);

	if (!value)
		return NULL;
	if (is_knob(knob) && fits_line(knob) && fits_line(value))
		return g_steal_pointer(&value);
	return error_null(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_FILE,
			  "\"%s\" is no knob of one line", knob);
}

bool cap_originals_note(struct cap_originals *originals, const char *knob, GError **error)
{
	g_autofree char *value = read_knob(knob, error);

	return value && (find(originals, knob) || store(originals, knob, value, true, error));
}

bool cap_originals_turn(struct cap_originals *originals, const char *knob, const char *value,
			GError **error)
{
	g_autofree char *before = read_knob(knob, error);
	struct knob *known = find(originals, knob);
	const off_t end = lseek(originals->fd, 0, SEEK_END);
	const bool is_new = !known;
	const bool was_noted = known && known->noted;

	if (!before)
		return false;
	if (strcmp(before, value) == 0)
		return true;
	if (is_new || (was_noted && known->given && strcmp(known->given, before) != 0))
		known = store(originals, knob, before, false, error);
	else if (was_noted)
		known = store(originals, knob, known->value, false, error);
	if (!known)
		return false;
	if (sysfs_write(knob, value, error)) {
		confirm(originals, known);
		return true;
	}
	if (!is_back(known))
		return false;
	/* Its line is the last one, and goes; a line that stays does no harm. */
	if (was_noted && end >= 0 && ftruncate(originals->fd, end) == 0)
		known->noted = true;
	else if (is_new && end >= 0 && ftruncate(originals->fd, end) == 0)
		g_ptr_array_remove(originals->knobs, known);
	else
		forget(originals, known);
	return false;
}

/* Restores all knobs and frees. Returns how many refused; *ret_count is how many were restored. */
static guint finish(struct cap_originals *originals, guint *ret_count)
{
	guint failures;

	*ret_count = put_back(originals);
	failures = refused(originals);
	if (originals->knobs->len == 0)
		/* before the lock is released: no other process has the file now */
		g_unlink(originals->path);
	free_originals(originals);
	return failures;
}

guint cap_originals_close(struct cap_originals *originals)
{
	guint count;

	return originals ? finish(originals, &count) : 0;
}

bool cap_originals_recover(const struct platform *platform, const char *path, guint *ret_count,
			   GError **error)
{
	struct cap_originals *originals = create(platform, path);
	bool held = false;
	bool good = true;

	*ret_count = 0;
	originals->fd = open_locked(path, 0, &held);
	if (originals->fd < 0) {
		if (!held && errno != ENOENT)
			good = set_file_error(originals, "open", error);
		free_originals(originals);
		return good;
	}
	if (!read_file(originals, error)) {
		free_originals(originals);
		return false;
	}
	if (finish(originals, ret_count) == 0)
		return true;
	return error_fail(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_FILE,
			  "some CPU settings could not be put back as \"%s\" has them", path);
}
