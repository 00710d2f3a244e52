/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "lab"

#include "local-sched/lab/lab_metronome.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/subprocess.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/metronome/guest.h"

enum { GROUP = 0, MEMORY_BYTES = GUEST_MEMORY_MIB << 20 };

#define GUEST_FILE "metronome.elf"
#define MEMORY_FILE "metronome.ram"
#define LOG_FILE "metronome.log"

/* The guest, as the linker put it into this program (metronome/meson.build). */
#define GUEST(end) _binary_local_sched_lab_metronome_metronome_guest_elf_##end
extern const char GUEST(start)[];
extern const char GUEST(end)[];

struct lab_metronome {
	const struct lab_cgroup *cgroup;
	char *lab;
	char *memory_path;
	const uint8_t *memory; /* NULL: not there yet */
	GPid pid;
	guint watch;
	bool ended;
};

static void on_end(GPid pid, int status, gpointer data)
{
	struct lab_metronome *metronome = data;

	metronome->ended = true;
	log_error("the metronome ended with status 0x%x, see " LOG_FILE
		  "; quotas stay as configured from now on",
		  status);
}

static GPid start_qemu(const char *guest, const char *memory, const char *log, GError **error)
{
	g_autofree char *backend =
		g_strdup_printf("memory-backend-file,id=ram,size=%dM,share=on,mem-path=%s",
				GUEST_MEMORY_MIB, memory);
	g_autofree char *size = g_strdup_printf("%d", GUEST_MEMORY_MIB);
	const char *const argv[] = {"qemu-system-x86_64",
				    "-nodefaults",
				    "-no-user-config",
				    "-display",
				    "none",
				    "-object",
				    backend,
				    "-machine",
				    "pc,accel=tcg,memory-backend=ram",
				    "-m",
				    size,
				    "-kernel",
				    guest,
				    NULL};

	return subprocess_spawn(argv, NULL, log, error);
}

struct lab_metronome *lab_metronome_start(const struct lab_cgroup *cgroup, const char *lab,
					  double cpu_cores, GError **error)
{
	g_autofree char *guest = lab_paths_run(lab, GUEST_FILE);
	g_autofree char *memory = lab_paths_run(lab, MEMORY_FILE);
	g_autofree char *log = lab_paths_data(lab, LOG_FILE);
	struct lab_metronome *metronome;
	GPid pid;

	if (!lab_cgroup_create(cgroup, lab, GROUP, cpu_cores, error) ||
	    !g_file_set_contents(guest, GUEST(start), GUEST(end) - GUEST(start), error))
		return NULL;
	pid = start_qemu(guest, memory, log, error);
	if (pid < 0)
		return NULL;
	if (!lab_cgroup_join(cgroup, lab, GROUP, pid, error)) {
		subprocess_stop(pid, 0);
		return NULL;
	}
	metronome = g_new0(struct lab_metronome, 1);
	metronome->cgroup = cgroup;
	metronome->lab = g_strdup(lab);
	metronome->memory_path = g_steal_pointer(&memory);
	metronome->pid = pid;
	metronome->watch = g_child_watch_add(pid, on_end, metronome);
	return metronome;
}

void lab_metronome_stop(struct lab_metronome *metronome)
{
	if (!metronome)
		return;
	if (!metronome->ended) {
		g_source_remove(metronome->watch);
		subprocess_stop(metronome->pid, 0);
	}
	if (metronome->memory)
		munmap((void *)(uintptr_t)metronome->memory, MEMORY_BYTES);
	g_free(metronome->memory_path);
	g_free(metronome->lab);
	g_free(metronome);
}

/* QEMU creates the file, and sets its length later. */
static bool map(struct lab_metronome *metronome)
{
	int fd = open(metronome->memory_path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	void *memory = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &about) == 0 && about.st_size == MEMORY_BYTES)
		memory = mmap(NULL, MEMORY_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	metronome->memory = memory == MAP_FAILED ? NULL : memory;
	return metronome->memory != NULL;
}

bool lab_metronome_read(struct lab_metronome *metronome, struct lab_metronome_reading *ret_reading)
{
	const volatile uint32_t *rounds;

	if (metronome->ended || (!metronome->memory && !map(metronome)))
		return false;
	rounds = (const volatile uint32_t *)(const void *)(metronome->memory + GUEST_ROUNDS_AT);
	*ret_reading = (struct lab_metronome_reading){
		.rounds = GUINT32_FROM_LE(*rounds),
		.cpu_ns = lab_cgroup_own_ns(metronome->cgroup, metronome->lab, GROUP),
	};
	return true;
}
