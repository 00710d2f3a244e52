/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_room.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/guest_image.h"
#include "common/own_cgroup.h"
#include "common/read_number.h"
#include "local-sched/lab/lab_paths.h"

/*
 * The free memory of the machine, or of our control groups, whichever is less. A lab's VMs are
 * below our group.
 */
static uint64_t memory_left_mib(void)
{
	g_autofree char *text = NULL;
	const char *at;
	uint64_t kib;

	if (!g_file_get_contents("/proc/meminfo", &text, NULL, NULL))
		return 0;
	at = strstr(text, "MemAvailable:");
	if (at)
		at += strlen("MemAvailable:") + strspn(at + strlen("MemAvailable:"), " ");
	if (!read_number_front_unsigned(at, &kib))
		return 0;
	return (uint64_t)fmax(1, fmin((double)kib / 1024,
				      own_cgroup_memory() / (1 << 20))); /* 0: not known */
}

/* Free space for this user where `path` is, or will be. */
static double free_mib(const char *path)
{
	g_autofree char *above = NULL;
	struct statvfs about;

	if (statvfs(path, &about) == 0)
		return (double)about.f_bavail * (double)about.f_frsize / (1 << 20);
	above = g_path_get_dirname(path);
	return strcmp(above, path) == 0 ? 0 : free_mib(above);
}

struct lab_room lab_room_left(void)
{
	return (struct lab_room){
		.memory_mib = memory_left_mib(),
		.disk_mib = (uint64_t)MIN(free_mib(LAB_PATHS_DATA_ROOT), free_mib(".")),
	};
}

static bool may_save(const struct config_cluster *cluster)
{
	return cluster->preemption && cluster->preemption->keep != CONFIG_KEEP_MEMORY;
}

struct lab_room lab_room_needed(const struct config *config, uint64_t image_mib)
{
	struct lab_room room = {
		.memory_mib = config_lab_memory_mib(config),
		.disk_mib = LAB_ROOM_FILES_MIB + image_mib * config->lab->blades_count,
	};

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];
		const uint64_t vms = config_cluster_lab_vms(cluster);

		room.disk_mib += vms * cluster->swap_mib;
		if (vms > 0 && may_save(cluster))
			room.disk_mib += cluster->nodes * cluster->memory_mib;
	}
	return room;
}

uint64_t lab_room_image_mib(const struct config *config)
{
	g_autofree char *image = guest_image_find(config->image);
	g_autoptr(GDir) dir = image ? g_dir_open(image, 0, NULL) : NULL;
	uint64_t bytes = 0;
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(image, name, NULL);
		struct stat about;

		if (stat(path, &about) == 0 && S_ISREG(about.st_mode))
			bytes += (uint64_t)about.st_size;
	}
	return bytes >> 20;
}

char *lab_room_trouble(const struct lab_room *needed, const struct lab_room *left)
{
	if (left->memory_mib > 0 && needed->memory_mib > left->memory_mib)
		return g_strdup_printf(
			"the VMs of this lab need %.1f GiB of memory, and %.1f GiB are available: "
			"end what else runs here, or use a configuration of fewer or smaller nodes",
			(double)needed->memory_mib / 1024, (double)left->memory_mib / 1024);
	if (needed->disk_mib > left->disk_mib)
		return g_strdup_printf(
			"this lab needs %.1f GiB of disk, and %.1f GiB are free in " LAB_PATHS_DATA_ROOT
			" or here: make room, or mount a larger file system there",
			(double)needed->disk_mib / 1024, (double)left->disk_mib / 1024);
	return NULL;
}
