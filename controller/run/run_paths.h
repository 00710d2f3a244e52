/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Where things are: our other programs, run directories and sockets.
 */

/*
 * The path of one of our programs: in $VIRTBED_LIBEXEC if that is set, else beside this executable,
 * in ../libexec/virtbed, or where a build directory has it. Returns NULL with `error` set; the caller
 * frees.
 */
char *run_paths_program(const char *name, GError **error);

/* A new run directory for configuration `name`: runs/NAME-UTC under the working directory. */
char *run_paths_new_dir(const char *name);

/* The youngest run directory of configuration `name` under runs/, or NULL. */
char *run_paths_latest_dir(const char *name);

/*
 * The configuration that the daemons of run directory `dir` are given: config.yaml. Of a service that is what its state
 * was made with, which a start that is refused must not replace: it is given wanted.yaml, and the controller writes
 * config.yaml once it has taken that.
 */
char *run_paths_config(const char *dir, bool serve);

/*
 * Where a service keeps its state: the service manager's $STATE_DIRECTORY, /var/lib/virtbed for root, else
 * virtbed in the user's state.
 */
char *run_paths_service_state(void);

/*
 * Where runs of root keep locks and sockets, and labs their state. It is root's alone, or can be
 * searched by others where a service is for a group: what is in it must be private by its own mode.
 */
#define RUN_PATHS_OUR_DIR "/run/virtbed"

/*
 * Where a service of this user, or of this machine, may listen, the likeliest first ("unix:PATH", NULL-terminated):
 * controller.sock in the service manager's $RUNTIME_DIRECTORY; of a user other than root virtbed/controller.sock
 * in $XDG_RUNTIME_DIR or, where that is not set or no directory of the user, in the user's /run/user/UID, and
 * controller.sock in the user's run_paths_service_state(); /run/virtbed/controller.sock, which is root's; and
 * /run/virtbed/service/controller.sock, which is that of the systemd units. The caller frees (g_strfreev()).
 */
char **run_paths_service_addresses(void);

/* Where a service listens unless told otherwise: the first of run_paths_service_addresses(). */
char *run_paths_service_address(void);

/*
 * A directory for sockets of run directory `dir`: itself when that is short enough for a socket's
 * path (107 bytes, unix(7)), else a new one under /run/virtbed or the temporary directory, which
 * the caller removes when *ret_own is set. Returns NULL with `error` set.
 */
char *run_paths_socket_dir(const char *dir, bool *ret_own, GError **error);
