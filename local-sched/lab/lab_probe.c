/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/own_cgroup.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_metronome.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_record.h"
#include "local-sched/lab/lab_room.h"

/*
 * Measures what a lab can have of this machine. CPU time is counted where it is used, so other load
 * slows the measurement down, but changes the result only as much as it would affect a lab.
 */

/* The part of the probe's time for the CPU time; the rest is for the speed. */
#define CORES_PART 0.35
/* Time before anything counts. */
#define CORES_WARM_S 0.1
/* CPU time in which QEMU starts and translates its guest's code. */
#define WARM_CPU_NS UINT64_C(300000000)
/* The speed is the median of several measurements, each over this CPU time. */
#define SLICE_CPU_NS UINT64_C(100000000)
enum { SLICES_MIN = 5, SLICES_MAX = 1024, POLL_US = 10000 };
/* The most by which a probe exceeds its time where CPU time is short, as a factor. */
#define LATE_MOST 20.0

enum { BLADE = 1, SPINNERS_MAX = 256, GROUP_TIMEOUT_S = 5, DIR_TRIES = 100 };

/*
 * A probe's name is not valid for a lab, so that the groups of killed probes are found by it
 * (lab_cgroup.h).
 */
struct probe {
	struct lab_cgroup *cgroup;
	char *name;
	pid_t spinners[SPINNERS_MAX];
	int spinners_count;
};

static _Noreturn void spin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static bool start_spinner(struct probe *probe, GError **error)
{
	pid_t pid = fork();

	if (pid == 0)
		spin();
	if (pid < 0)
		return lab_error_set(error, LAB_ERROR_START, "cannot start a process: %s",
				     g_strerror(errno));
	probe->spinners[probe->spinners_count++] = pid;
	return lab_cgroup_join(probe->cgroup, probe->name, BLADE, pid, error);
}

static void stop_spinners(struct probe *probe)
{
	for (int i = 0; i < probe->spinners_count; i++) {
		kill(probe->spinners[i], SIGKILL);
		waitpid(probe->spinners[i], NULL, 0);
	}
	probe->spinners_count = 0;
}

static void pause_s(double seconds)
{
	g_usleep((gulong)(seconds * 1e6));
}

/* CPUs that this process may run on, by its affinity. */
static int cpus(void)
{
	return CLAMP((int)g_get_num_processors(), 1, SPINNERS_MAX);
}

/* Three digits are more than the precision. The rounded value is recorded and used. */
static double rounded(double value)
{
	return fmax(round(value * 1000), 1) / 1000;
}

/* CPU time per second that a busy process on every CPU gets, in a group as a blade has it. */
static bool measure_cores(struct probe *probe, double seconds, double *ret_cores, GError **error)
{
	const int count = cpus();
	uint64_t before;
	int64_t from_ns;

	if (!lab_cgroup_create(probe->cgroup, probe->name, BLADE, count, error))
		return false;
	for (int i = 0; i < count; i++)
		if (!start_spinner(probe, error))
			return false;
	pause_s(CORES_WARM_S);
	before = lab_cgroup_own_ns(probe->cgroup, probe->name, BLADE);
	from_ns = clock_now_ns();
	pause_s(seconds);
	*ret_cores = (double)(lab_cgroup_own_ns(probe->cgroup, probe->name, BLADE) - before) *
		     1e-9 / clock_elapsed_s(from_ns, clock_now_ns());
	stop_spinners(probe);
	if (*ret_cores > 0) {
		/*
		 * A quota is granted again every period, and an additional grant may fall into the
		 * measurement.
		 */
		*ret_cores = fmin(rounded(*ret_cores), own_cgroup_cores());
		return true;
	}
	return lab_error_set(error, LAB_ERROR_START,
			     "busy processes got no CPU time; see the quotas of the control groups "
			     "that this process is in");
}

static int compare(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* CPU time of a round, by a gauge that has translated its code; NAN if that takes too long. */
static double round_ns(struct lab_metronome *metronome, double seconds)
{
	const int64_t began_ns = clock_now_ns();
	struct lab_metronome_reading last = {0};
	struct lab_metronome_reading now;
	double slices[SLICES_MAX];
	int count = 0;

	for (;;) {
		const double took_s = clock_elapsed_s(began_ns, clock_now_ns());

		if ((took_s > seconds && count >= SLICES_MIN) || took_s > seconds * LATE_MOST ||
		    count == SLICES_MAX)
			break;
		g_usleep(POLL_US);
		if (!lab_metronome_read(metronome, &now) || now.cpu_ns < WARM_CPU_NS ||
		    now.rounds == 0)
			continue;
		if (last.rounds == 0) {
			last = now;
		} else if (now.cpu_ns - last.cpu_ns >= SLICE_CPU_NS && now.rounds != last.rounds) {
			slices[count++] =
				(double)(now.cpu_ns - last.cpu_ns) / (now.rounds - last.rounds);
			last = now;
		}
	}
	if (count == 0)
		return (double)NAN;
	qsort(slices, (size_t)count, sizeof *slices, compare);
	return slices[count / 2];
}

/* NAN on machines without a gauge. */
static bool measure_speed(struct probe *probe, double seconds, double *ret_speed, GError **error)
{
	struct lab_metronome *metronome;

	*ret_speed = (double)NAN;
	if (!CONFIG_LAB_HAS_METRONOME)
		return true;
	metronome = lab_metronome_start(probe->cgroup, probe->name, 1, error);
	if (!metronome)
		return false;
	*ret_speed = MACHINE_PROBE_ROUND_NS / round_ns(metronome, seconds);
	lab_metronome_stop(metronome);
	if (!isnan(*ret_speed)) {
		*ret_speed = rounded(*ret_speed);
		return true;
	}
	return lab_error_set(
		error, LAB_ERROR_START,
		"an emulated guest did no work within %.0f s; give this process more CPU time",
		seconds * LATE_MOST);
}

/* Another lab that goes down may remove a parent directory meanwhile. */
static bool make_dir(const char *path, GError **error)
{
	for (int i = 0; i < DIR_TRIES; i++)
		if (g_mkdir_with_parents(path, 0700) == 0)
			return true;
	return lab_error_set(error, LAB_ERROR_START, "cannot make the directory \"%s\": %s", path,
			     g_strerror(errno));
}

static bool measure(struct probe *probe, double seconds, struct machine_probe *found,
		    GError **error)
{
	g_autofree char *run = lab_paths_run(probe->name, NULL);
	g_autofree char *data = lab_paths_data(probe->name, NULL);
	const struct lab_room left = lab_room_left();

	if (!make_dir(run, error) || !make_dir(data, error))
		return false;
	found->memory_mib = left.memory_mib;
	found->disk_mib = left.disk_mib;
	found->utc = clock_utc();
	return measure_cores(probe, seconds * CORES_PART, &found->cores, error) &&
	       measure_speed(probe, seconds * (1 - CORES_PART), &found->speed, error);
}

struct machine_probe *lab_probe(double seconds, GError **error)
{
	g_autoptr(machine_probe_t) found = g_new0(struct machine_probe, 1);
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_detect(error);
	g_autofree char *name = g_strdup_printf(".probe-%d", (int)getpid());
	struct probe probe = {.cgroup = cgroup, .name = name};
	bool good;

	if (!cgroup)
		return NULL;
	good = measure(&probe, seconds, found, error);
	stop_spinners(&probe);
	good = lab_cgroup_remove(cgroup, name, GROUP_TIMEOUT_S, good ? error : NULL) && good;
	good = lab_record_remove(name, good ? error : NULL) && good;
	return good ? g_steal_pointer(&found) : NULL;
}
