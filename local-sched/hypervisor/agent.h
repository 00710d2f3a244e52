/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The guest agent's JSON (qemu-ga): requests as text, replies as values. Pure. A reply comes from
 * inside a guest and is not trusted: anything but the documented form is AGENT_ERROR_RUBBISH.
 */
#define AGENT_ERROR (agent_error_quark())
GQuark agent_error_quark(void);
enum agent_error {
	AGENT_ERROR_RUBBISH = 1, /* a reply that is not what was asked for */
	AGENT_ERROR_REFUSED,     /* the agent answered with an error */
};

/* A guest process as guest-exec-status tells of it. */
struct agent_status {
	bool exited;
	int status;  /* exit status, or 128 + signal; meaningful if exited */
	char *output; /* standard output, NUL-terminated; NULL: none */
	size_t output_length;
	char *errors; /* standard error, likewise */
	size_t errors_length;
	bool truncated; /* the agent cut one of them */
};
void agent_status_clear(struct agent_status *status);

/* guest-ping. All requests are the caller's to free. */
char *agent_ping_request(void);

/* guest-set-time to `time_ns` since 1970. */
char *agent_set_time_request(int64_t time_ns);

/* guest-sync with an id that the reply must repeat. */
char *agent_sync_request(uint32_t id);

/*
 * guest-exec of `arguments` (NULL-terminated; the first is the program's path) with `environment`
 * (KEY=VALUE, NULL-terminated, or NULL) and `input` (NULL: none) as its standard input; its output is
 * kept by the agent until it is asked for.
 */
char *agent_exec_request(const char *const *arguments, const char *const *environment,
			 GBytes *input);

/* guest-exec-status of a pid that guest-exec returned. */
char *agent_status_request(int64_t pid);

/*
 * guest-file-open of `path` for reading; guest-file-read of at most `bytes` from where the last one
 * ended; guest-file-close. `file` is the handle of agent_parse_file().
 */
char *agent_file_open_request(const char *path);
char *agent_file_read_request(int64_t file, uint32_t bytes);
char *agent_file_close_request(int64_t file);

/* Checks an empty reply (guest-ping). */
bool agent_parse_empty(const char *reply, GError **error);

/* Checks that guest-sync repeats `id`. */
bool agent_parse_sync(const char *reply, uint32_t id, GError **error);

/* The pid in guest-exec's reply. */
bool agent_parse_exec(const char *reply, int64_t *ret_pid, GError **error);

/* The handle in guest-file-open's reply, above 0. */
bool agent_parse_file(const char *reply, int64_t *ret_file, GError **error);

/* What guest-file-read's reply holds; `bytes` is the caller's to free. */
struct agent_piece {
	char *bytes; /* NUL-terminated */
	size_t length;
};
bool agent_parse_piece(const char *reply, struct agent_piece *ret_piece, GError **error);

/* The reply of guest-exec-status; *ret_status is to be cleared by the caller. */
bool agent_parse_status(const char *reply, struct agent_status *ret_status, GError **error);
