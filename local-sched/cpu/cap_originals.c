/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cap_originals.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "local-sched/cpu/sysfs.h"

#define LOG_SUBSYSTEM "caps"
#include "common/log.h"

#define HEADER "virtbed-caps 1 "

enum { TEXT_MAX = 1 << 20 };

struct knob {
	char *path;
	char *value; /* the original */
};

struct cap_originals {
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

static void add(struct cap_originals *originals, const char *path, const char *value)
{
	struct knob *knob = g_new0(struct knob, 1);

	knob->path = g_strdup(path);
	knob->value = g_strdup(value);
	g_ptr_array_add(originals->knobs, knob);
}

/* Reads the file, unless it is from an earlier boot. A truncated line is skipped. */
static void parse(struct cap_originals *originals, const char *text)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *header = g_strconcat(HEADER, boot_id, NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const guint count = g_strv_length(lines);

	if (count == 0 || strcmp(lines[0], header) != 0)
		return;
	/* Text after the last newline is a truncated line. */
	for (guint i = 1; i + 1 < count; i++) {
		char *tab = strchr(lines[i], '\t');

		if (!tab)
			continue;
		*tab = '\0';
		if (is_knob(lines[i]))
			add(originals, lines[i], tab + 1);
	}
}

static bool read_file(struct cap_originals *originals, GError **error)
{
	g_autofree char *text = g_malloc0(TEXT_MAX + 1);
	const ssize_t length = pread(originals->fd, text, TEXT_MAX, 0);

	if (length < 0)
		return set_file_error(originals, "read", error);
	parse(originals, text);
	return true;
}

/* Restores the known originals, the last first. Returns how many refused. */
static guint put_back(const struct cap_originals *originals)
{
	guint failures = 0;

	for (guint i = originals->knobs->len; i > 0; i--) {
		const struct knob *knob = originals->knobs->pdata[i - 1];
		g_autoptr(GError) error = NULL;

		if (sysfs_write(knob->path, knob->value, &error))
			continue;
		failures++;
		log_error("\"%s\" is not as it was, \"%s\": %s", knob->path, knob->value,
			  error->message);
	}
	return failures;
}

/* Replaces the file's contents by its first line. */
static bool write_header(struct cap_originals *originals, GError **error)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *line = g_strconcat(HEADER, boot_id, "\n", NULL);
	const ssize_t length = (ssize_t)strlen(line);

	g_ptr_array_set_size(originals->knobs, 0);
	if (ftruncate(originals->fd, 0) < 0 ||
	    pwrite(originals->fd, line, (size_t)length, 0) != length || fsync(originals->fd) < 0)
		return set_file_error(originals, "write", error);
	return true;
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

static struct cap_originals *create(const char *path)
{
	struct cap_originals *originals = g_new0(struct cap_originals, 1);

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

struct cap_originals *cap_originals_open(const char *path, GError **error)
{
	struct cap_originals *originals = create(path);

	if (open_file(originals, error)) {
		if (originals->knobs->len > 0)
			log_warning("a local scheduler that died left %u CPU settings; they are "
				    "put back",
				    originals->knobs->len);
		put_back(originals);
		if (write_header(originals, error))
			return originals;
	}
	free_originals(originals);
	return NULL;
}

static bool is_stored(const struct cap_originals *originals, const char *path)
{
	for (guint i = 0; i < originals->knobs->len; i++)
		if (strcmp(((struct knob *)originals->knobs->pdata[i])->path, path) == 0)
			return true;
	return false;
}

/* Stores an original on disk, and then in memory. */
static bool store(struct cap_originals *originals, const char *path, const char *value,
		  GError **error)
{
	g_autofree char *line = g_strdup_printf("%s\t%s\n", path, value);
	const off_t end = lseek(originals->fd, 0, SEEK_END);
	const ssize_t length = (ssize_t)strlen(line);

	if (end < 0 || pwrite(originals->fd, line, (size_t)length, end) != length ||
	    fsync(originals->fd) < 0)
		return set_file_error(originals, "write", error);
	add(originals, path, value);
	return true;
}

bool cap_originals_turn(struct cap_originals *originals, const char *knob, const char *value,
			GError **error)
{
	g_autofree char *before = sysfs_read(knob, error);

	if (!before)
		return false;
	if (!is_knob(knob) || strpbrk(before, "\t\n"))
		return error_fail(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_FILE,
				  "\"%s\" is no knob of one line", knob);
	if (!is_stored(originals, knob) && !store(originals, knob, before, error))
		return false;
	return sysfs_write(knob, value, error);
}

guint cap_originals_close(struct cap_originals *originals)
{
	guint failures;

	if (!originals)
		return 0;
	failures = put_back(originals);
	if (failures == 0)
		/* before the lock is released: no other process has the file now */
		g_unlink(originals->path);
	free_originals(originals);
	return failures;
}

bool cap_originals_recover(const char *path, guint *ret_count, GError **error)
{
	struct cap_originals *originals = create(path);
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
	*ret_count = originals->knobs->len;
	if (cap_originals_close(originals) == 0)
		return true;
	return error_fail(error, CAP_ORIGINALS_ERROR, CAP_ORIGINALS_ERROR_FILE,
			  "some CPU settings could not be put back as \"%s\" has them", path);
}
