/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For other processors: the gauge's guest is a program for x86 (metronome/guest.c). Labs that need
 * it are refused earlier.
 */
#include <gio/gio.h>

#include "local-sched/lab/lab_metronome.h"

#include "common/error_fail.h"

struct lab_metronome *lab_metronome_start(const struct lab_cgroup *cgroup, const char *lab,
					  double cpu_cores, GError **error)
{
	return error_null(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
			  "there is no metronome on this machine for lab \"%s\"", lab);
}

void lab_metronome_stop(struct lab_metronome *metronome)
{
}

bool lab_metronome_read(struct lab_metronome *metronome, struct lab_metronome_reading *ret_reading)
{
	return false;
}
