/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The resources of a machine for a lab of emulated blades, as measured (`virtbed lab probe`) or
 * given (--probe FILE):
 *
 *  {"cores": 1.97, "speed": 0.96, "memory_mib": 21000, "disk_mib": 80000,
 *   "utc": "2024-05-01T12:00:00Z"}
 *
 * `cores` and `speed` are required. A configuration is fitted to them (lab_fit.h).
 */
struct machine_probe {
	double cores; /* CPU time per second that a lab gets on it, (0, 4096] */
	/*
	 * Speed of emulated work per CPU time: 1 as on the machine of MACHINE_PROBE_ROUND_NS, (0,
	 * 1000]; NAN: not known, null in the document.
	 */
	double speed;
	uint64_t memory_mib; /* available; 0: not known */
	uint64_t disk_mib;   /* free where labs keep their files; 0: not known */
	char *utc;           /* time of the probe; NULL: not given */
};
typedef struct machine_probe machine_probe_t; /* for g_autoptr() */

/*
 * The unit of speed: the CPU time, in nanoseconds, that a round of the metronome's guest
 * (local-sched/lab/metronome/guest.c) takes QEMU on a machine of speed 1 while it may use a whole
 * CPU. It is a definition. It was measured with QEMU 7.2 on an AMD EPYC, in a guest of two CPUs:
 * the medians of 20 probes were 24,600 to 27,200, most of them 25,000 to 25,600.
 */
#define MACHINE_PROBE_ROUND_NS 25000.0

/* A file with a probe's document, in a run's directory and in a lab's. */
#define MACHINE_PROBE_FILE "probe.json"

#define MACHINE_PROBE_ERROR (machine_probe_error_quark())
GQuark machine_probe_error_quark(void);
enum machine_probe_error {
	MACHINE_PROBE_ERROR_READ = 1, /* the file could not be read */
	MACHINE_PROBE_ERROR_DOCUMENT, /* it is not a probe's document */
};

/*
 * Reads `length` bytes of a document; `what` names it in errors. NULL with `error`. The caller
 * frees.
 */
struct machine_probe *machine_probe_parse(const char *text, gsize length, const char *what,
					  GError **error);
/* As machine_probe_parse(), from a file. */
struct machine_probe *machine_probe_load(const char *path, GError **error);

/* The document; the caller frees. */
char *machine_probe_text(const struct machine_probe *probe);
/* Writes the document to a file. */
bool machine_probe_save(const struct machine_probe *probe, const char *path, GError **error);

/* For people: "1.97 cores for the lab, speed 0.96, ...". The caller frees. */
char *machine_probe_describe(const struct machine_probe *probe);

/* NULL is allowed. */
void machine_probe_free(struct machine_probe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(machine_probe_t, machine_probe_free)
