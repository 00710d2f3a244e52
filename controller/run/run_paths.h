/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Paths of run directories and sockets. */

/* A new run directory for configuration `name`: runs/NAME-UTC under the working directory. */
char *run_paths_new_dir(const char *name);

/* The youngest run directory of configuration `name` under runs/, or NULL. */
char *run_paths_latest_dir(const char *name);

/*
 * The configuration that the daemons of run directory `dir` read: config.yaml. In a service's
 * directory config.yaml is what its state was made with, and a refused start must not replace it:
 * its daemons read wanted.yaml, and the controller writes config.yaml once it has accepted that.
 */
char *run_paths_config(const char *dir, bool serve);

/*
 * The log file of the program `daemon` of run directory `dir`, which the caller frees; NULL: the
 * journal, as for our own messages.
 */
char *run_paths_log(const char *dir, const char *daemon);

/*
 * The state directory of a service: the service manager's $STATE_DIRECTORY, /var/lib/virtbed for
 * root, else virtbed in the user's state directory.
 */
char *run_paths_service_state(void);

/*
 * In a run directory, beside MACHINE_PROBE_FILE: a line for each thing that was shrunk, or could
 * not be.
 */
#define RUN_FIT_FILE "fitted.txt"

/*
 * The directory for locks and sockets of root's runs, and for the state of labs. Only root can
 * enter it; if a service is for a group, others may search it, so files in it must be private by
 * their own mode.
 */
#define RUN_PATHS_OUR_DIR "/run/virtbed"

/*
 * The addresses at which a service of this user, or of this machine, may listen, the likeliest
 * first ("unix:PATH", NULL-terminated): controller.sock in the service manager's
 * $RUNTIME_DIRECTORY; for a user other than root virtbed/controller.sock in $XDG_RUNTIME_DIR or, if
 * that is not set or does not belong to the user, in the user's /run/user/UID, and controller.sock
 * in the user's run_paths_service_state(); /run/virtbed/controller.sock, which is root's; and
 * /run/virtbed/service/controller.sock, which is that of the systemd units. The caller frees
 * (g_strfreev()).
 */
char **run_paths_service_addresses(void);

/* The default address of a service: the first of run_paths_service_addresses(). */
char *run_paths_service_address(void);

/*
 * A directory for sockets of run directory `dir`: `dir` itself if it is short enough for a socket's
 * path (107 bytes, unix(7)), else a new one under /run/virtbed or the temporary directory, which
 * the caller removes if *ret_own is set. Returns NULL with `error`.
 */
char *run_paths_socket_dir(const char *dir, bool *ret_own, GError **error);
