/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vm-images/guest/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm-images/guest/relay.h"

#define NAME_SIZE 1025
#define LINE_SIZE (NAME_SIZE + 64)
#define DEPTH_MAX 16
#define CHUNK 16384

/* Unpacking. */

static bool complain(const char *what, const char *on)
{
	fprintf(stderr, "virtbed-rank: %s '%s': %s\n", what, on, strerror(errno));
	return false;
}

/* The next component of *@path, copied to @ret_name; false: there is none, or it leads astray. */
static bool next_part(const char **path, char *ret_name)
{
	size_t length = strcspn(*path, "/");

	errno = EINVAL;
	if (length == 0 || length > NAME_MAX)
		return false;
	memcpy(ret_name, *path, length);
	ret_name[length] = '\0';
	*path += length + ((*path)[length] == '/');
	return strcmp(ret_name, ".") != 0 && strcmp(ret_name, "..") != 0;
}

/*
 * Opens the directory that holds @path, below @top, and puts the last component into @ret_name;
 * @make: with the directories that are not there.  Symbolic links are not followed.  -1: failed.
 */
static int open_parent(int top, const char *path, bool make, char *ret_name)
{
	int fd = dup(top);

	while (fd >= 0 && next_part(&path, ret_name)) {
		int inner;

		if (*path == '\0')
			return fd;
		if (make)
			mkdirat(fd, ret_name, 0755);
		inner = openat(fd, ret_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = inner;
		if (fd < 0)
			return -1;
	}
	if (fd >= 0)
		close(fd);
	errno = EINVAL;
	return -1;
}

static bool read_all(int fd, char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t got = read(fd, bytes, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = EPIPE;
		if (got <= 0)
			return false;
		bytes += got;
		length -= (size_t)got;
	}
	return true;
}

/* A byte at a time: what follows is not ours to read. */
static bool read_line(int fd, char *line)
{
	for (size_t i = 0; i < LINE_SIZE; i++) {
		if (!read_all(fd, line + i, 1))
			return false;
		if (line[i] == '\n') {
			line[i] = '\0';
			return true;
		}
	}
	errno = EINVAL;
	return false;
}

static bool copy_bytes(int from, int to, size_t length)
{
	char buffer[CHUNK];

	while (length > 0) {
		size_t part = length < sizeof(buffer) ? length : sizeof(buffer);

		if (!read_all(from, buffer, part) || !relay_write(to, buffer, part))
			return false;
		length -= part;
	}
	return true;
}

static bool unpack_file(int fd, int top, const char *line)
{
	char name[NAME_MAX + 1];
	unsigned long size;
	unsigned int mode;
	int start = 0, parent, file;
	bool good;

	errno = EINVAL;
	if (sscanf(line, "file %lu %o %n", &size, &mode, &start) != 2 || start == 0)
		return complain("cannot unpack", line);
	parent = open_parent(top, line + start, true, name);
	if (parent < 0)
		return complain("cannot unpack", line + start);
	file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	close(parent);
	if (file < 0)
		return complain("cannot make", line + start);
	good = copy_bytes(fd, file, size) && fchmod(file, mode & 0777) == 0;
	if (close(file) < 0 || !good)
		return complain("cannot write", line + start);
	return true;
}

bool bundle_unpack(int fd, const char *directory)
{
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char line[LINE_SIZE];
	bool good = top >= 0;

	if (!good)
		return complain("cannot open", directory);
	for (;;) {
		good = read_line(fd, line);
		if (!good)
			complain("cannot read", "the files that were sent");
		if (!good || strcmp(line, "end") == 0)
			break;
		good = unpack_file(fd, top, line);
		if (!good)
			break;
	}
	close(top);
	return good;
}

/* Packing. */

struct packing {
	int fd;
	size_t room;
	int files;
	int skipped;
};

/* There may be any number of those: the first ones do. */
static void skip(struct packing *packing, const char *path, const char *why)
{
	if (packing->skipped++ < BUNDLE_FILES_MAX)
		dprintf(packing->fd, "skip %s: %s\n", path, why);
}

/* A name with a control character would not be read back as it is. */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 127)
			return false;
	return true;
}

/* Should the file shrink meanwhile the rest is made up of zeros: the size was said. */
static void send_bytes(const struct packing *packing, int file, size_t size)
{
	char buffer[CHUNK];

	while (size > 0) {
		size_t part = size < sizeof(buffer) ? size : sizeof(buffer);
		ssize_t got = read(file, buffer, part);

		if (got <= 0) {
			memset(buffer, 0, part);
			got = (ssize_t)part;
		}
		relay_write(packing->fd, buffer, (size_t)got);
		size -= (size_t)got;
	}
}

static void pack_regular(struct packing *packing, int file, const struct stat *stat,
			 const char *path)
{
	size_t size = (size_t)stat->st_size;

	if (size > packing->room || packing->files >= BUNDLE_FILES_MAX) {
		skip(packing, path, "results come to more than 1 MiB or 256 files");
		return;
	}
	packing->room -= size;
	packing->files++;
	dprintf(packing->fd, "file %zu %o %s\n", size, stat->st_mode & 0777, path);
	send_bytes(packing, file, size);
}

static void pack_at(struct packing *packing, int parent, const char *name, const char *path,
		    int depth);

static void pack_directory(struct packing *packing, int fd, const char *path, int depth)
{
	DIR *directory = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *entry;
	char inner[NAME_SIZE];

	if (!directory) {
		skip(packing, path, "directories are too deep");
		close(fd);
		return;
	}
	while ((entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (!is_plain(entry->d_name) || snprintf(inner, sizeof(inner), "%s/%s", path,
							 entry->d_name) >= (int)sizeof(inner))
			skip(packing, path, "a name in it is too long or odd");
		else
			pack_at(packing, fd, entry->d_name, inner, depth + 1);
	}
	closedir(directory);
}

/* O_NONBLOCK: a pipe that lies there may have no writer. */
static void pack_at(struct packing *packing, int parent, const char *name, const char *path,
		    int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat stat;

	if (fd < 0) {
		skip(packing, path, errno == ELOOP ? "a symbolic link" : strerror(errno));
	} else if (fstat(fd, &stat) < 0) {
		skip(packing, path, strerror(errno));
		close(fd);
	} else if (S_ISDIR(stat.st_mode)) {
		pack_directory(packing, fd, path, depth); /* closes it */
	} else if (S_ISREG(stat.st_mode)) {
		pack_regular(packing, fd, &stat, path);
		close(fd);
	} else {
		skip(packing, path, "neither a file nor a directory");
		close(fd);
	}
}

static void pack_path(struct packing *packing, int top, const char *path)
{
	char name[NAME_MAX + 1];
	int parent;

	if (!is_plain(path))
		return;
	parent = open_parent(top, path, false, name);
	if (parent < 0) {
		skip(packing, path, strerror(errno));
		return;
	}
	pack_at(packing, parent, name, path, 0);
	close(parent);
}

void bundle_pack(int fd, const char *directory, char *const *names, int count)
{
	struct packing packing = {.fd = fd, .room = BUNDLE_OUT_MAX};
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; top >= 0 && i < count; i++)
		pack_path(&packing, top, names[i]);
	if (top >= 0)
		close(top);
	relay_write(fd, "end\n", 4);
}
