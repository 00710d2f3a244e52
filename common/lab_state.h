/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config/config.h"

/*
 * What a lab of emulated blades tells the rest of the system. A running lab has a directory
 * LAB_STATE_ROOT/NAME with a file lab.json:
 *
 *   {"name": "one-machine", "state": "up", "boot_id": "...", "pid": 4711, "start_ticks": 1234567,
 *    "blades": [{"name": "b1", "uri": "qemu+unix:///system?socket=...",
 *                "peer_uri": "qemu+tcp://10.77.0.1/system", "bridge": "br0",
 *                "bmc": {"kind": "ipmi", "address": "127.0.0.1", "port": 20623,
 *                        "user": "ADMIN", "password_file": "...", "cipher_suite": 3,
 *                        "privilege": "ADMINISTRATOR", "sensor": "Pwr Consumption"}}]}
 *
 * A blade whose BMC speaks Redfish has instead
 *
 *    "bmc": {"kind": "redfish", "address": "127.0.0.1", "port": 20624, "user": "ADMIN",
 *            "password_file": "...", "ca_file": "..."}
 *
 * `pid` and `start_ticks` name the lab's supervisor, whose death ends the lab; they are null until
 * it exists. The state is "starting" until every blade has answered, then "up". A blade gives what
 * a real one would give and no more: where its hypervisor is, its bridge, and its meter.
 */
#define LAB_STATE_ROOT "/run/virtbed/lab"

#define LAB_STATE_ERROR (lab_state_error_quark())
GQuark lab_state_error_quark(void);
enum lab_state_error {
	LAB_STATE_ERROR_DOWN = 1, /* there is no such lab, or it is not up: `virtbed lab up` */
	LAB_STATE_ERROR_BLADE,    /* a host names a blade that the lab does not have */
	LAB_STATE_ERROR_BROKEN,   /* lab.json is malformed */
};

/* A supervisor as lab.json names it. pid 0: not started yet. */
struct lab_state_process {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: differs for a reused pid */
};

/* The words of "state". */
enum lab_state_phase {
	LAB_STATE_NONE = 0, /* no lab.json, or an unreadable one */
	LAB_STATE_STARTING,
	LAB_STATE_UP,
};
extern const char *const lab_state_phase_names[];

/* What lab.json says about the lab itself. */
struct lab_state {
	enum lab_state_phase phase;
	struct lab_state_process supervisor; /* of this boot of the machine; pid 0: none */
};

/* Reads lab.json. */
struct lab_state lab_state_load(const char *lab);

/*
 * The counters of a steady lab's metronome (local-sched/lab/lab_metronome.h) as the lab last wrote
 * them.
 */
struct lab_state_metronome {
	uint32_t rounds; /* wraps around */
	uint64_t cpu_ns;
};

/*
 * A file in the lab's directory while its metronome runs: "ROUNDS CPU_NS", decimal; rewritten every
 * second.
 */
#define LAB_STATE_METRONOME_FILE "metronome"

/* Whether the lab is up; a killed lab is not, whatever files it left. */
bool lab_state_is_up(const char *lab);

/* Reads the metronome's counters; false if there are none. */
bool lab_state_read_metronome(const char *lab, struct lab_state_metronome *ret_metronome);

/* Whether `name` may name a lab: 1 to 40 of [A-Za-z0-9_-], the first not a dash. */
bool lab_state_name_ok(const char *name);

/* The file lab.json of lab `name`; the caller frees it. */
char *lab_state_file(const char *name);

/*
 * The start time of `pid`, in clock ticks since boot; 0 if there is no such process. A process that
 * has ended and was not reaped still has it.
 */
uint64_t lab_state_start_ticks(pid_t pid);

/*
 * Whether the process still runs: its pid exists, has the same start time, and has not ended. A
 * process whose first thread has ended counts as ended, though its other threads may take a moment
 * more.
 */
bool lab_state_process_alive(struct lab_state_process process);

/*
 * Fills in `uri`, `bridge` and `meter` of every host of `config` that names a blade, from the lab
 * `lab_name` (NULL: the lab named like the configuration). Hosts without a blade stay as they are;
 * a configuration that names no blade needs no lab. A meter's sampling interval that the
 * configuration gives is kept. Returns true, or false with `error` set and `config` unchanged.
 */
bool lab_state_resolve(struct config *config, const char *lab_name, GError **error);

/* As lab_state_resolve(), from the file `path`, without checking that the lab runs. For tests. */
bool lab_state_resolve_file(struct config *config, const char *path, GError **error);
