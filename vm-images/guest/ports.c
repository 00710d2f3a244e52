/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vm-images/guest/ports.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASS "/sys/class/virtio-ports"
#define LINKS "/dev/virtio-ports"
#define NAME_SIZE 128

/* Name of the port behind @device, e.g. "vport1p2"; false if it has none yet. */
static bool read_name(const char *device, char *ret_name)
{
	char path[PORT_PATH_SIZE];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), CLASS "/%.200s/name", device);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, ret_name, NAME_SIZE - 1);
	close(fd);
	if (length <= 0)
		return false;
	ret_name[length] = '\0';
	ret_name[strcspn(ret_name, "\n")] = '\0';
	return ret_name[0] != '\0' && !strchr(ret_name, '/');
}

static DIR *open_class(void)
{
	return opendir(CLASS);
}

bool port_find(const char *name, char *ret_path, size_t size)
{
	DIR *directory = open_class();
	struct dirent *entry;
	char found[NAME_SIZE];
	bool good = false;

	if (!directory)
		return false;
	while (!good && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || !read_name(entry->d_name, found))
			continue;
		if (strcmp(found, name) == 0) {
			snprintf(ret_path, size, "/dev/%.200s", entry->d_name);
			good = true;
		}
	}
	closedir(directory);
	return good;
}

static void link_port(const char *device, const char *name)
{
	char target[PORT_PATH_SIZE], path[PORT_PATH_SIZE], present[PORT_PATH_SIZE];
	ssize_t length;

	snprintf(target, sizeof(target), "../%.200s", device);
	snprintf(path, sizeof(path), LINKS "/%s", name);
	length = readlink(path, present, sizeof(present) - 1);
	if (length >= 0) {
		present[length] = '\0';
		if (strcmp(present, target) == 0)
			return;
		unlink(path);
	}
	if (symlink(target, path) < 0)
		perror(path);
}

void port_link_all(void)
{
	DIR *directory = open_class();
	struct dirent *entry;
	char name[NAME_SIZE];

	if (!directory)
		return;
	mkdir(LINKS, 0755);
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.' && read_name(entry->d_name, name))
			link_port(entry->d_name, name);
	closedir(directory);
}
