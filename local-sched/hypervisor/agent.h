/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The JSON of the guest agent (qemu-ga): requests as text, replies as values. Pure. A reply comes
 * from inside a guest and is not trusted: a reply that is not of the documented form is
 * AGENT_ERROR_RUBBISH.
 */
#define AGENT_ERROR (agent_error_quark())
GQuark agent_error_quark(void);
enum agent_error {
	AGENT_ERROR_RUBBISH = 1, /* the reply is not of the form that its request has */
	AGENT_ERROR_REFUSED,     /* the agent answered with an error */
};

/* The state of a guest process, from guest-exec-status. */
struct agent_status {
	bool exited;
	int status;   /* exit status, or 128 + signal; meaningful if exited */
	char *output; /* standard output, NUL-terminated; NULL: none */
	size_t output_length;
	char *errors; /* standard error, NUL-terminated; NULL: none */
	size_t errors_length;
	bool truncated; /* the agent cut the output or the errors */
};
void agent_status_clear(struct agent_status *status);

/* A guest-ping request. The caller frees this and all requests below. */
char *agent_ping_request(void);

/* A guest-set-time request that sets the guest's clock to `time_ns` since 1970. */
char *agent_set_time_request(int64_t time_ns);

/* A guest-sync request with an id, which the reply must repeat. */
char *agent_sync_request(uint32_t id);

/*
 * A guest-exec request that executes `arguments` (NULL-terminated; the first is the program's path)
 * with `environment` (KEY=VALUE, NULL-terminated, or NULL) and with `input` (NULL: none) as its
 * standard input. The agent keeps the output until guest-exec-status fetches it.
 */
char *agent_exec_request(const char *const *arguments, const char *const *environment,
			 GBytes *input);

/* A guest-exec-status request for a pid that guest-exec returned. */
char *agent_status_request(int64_t pid);

/*
 * Requests to open `path` for reading (guest-file-open), to read at most `bytes` from where the
 * last read ended (guest-file-read), and to close the file (guest-file-close). `file` is the handle
 * of agent_parse_file().
 */
char *agent_file_open_request(const char *path);
char *agent_file_read_request(int64_t file, uint32_t bytes);
char *agent_file_close_request(int64_t file);

/* Checks that a reply is empty (guest-ping). */
bool agent_parse_empty(const char *reply, GError **error);

/* Checks that the reply to guest-sync repeats `id`. */
bool agent_parse_sync(const char *reply, uint32_t id, GError **error);

/* Reads the pid from the reply to guest-exec. */
bool agent_parse_exec(const char *reply, int64_t *ret_pid, GError **error);

/* Reads the handle, above 0, from the reply to guest-file-open. */
bool agent_parse_file(const char *reply, int64_t *ret_file, GError **error);

/* Reads the bytes from the reply to guest-file-read; the caller frees `bytes`. */
struct agent_piece {
	char *bytes; /* NUL-terminated */
	size_t length;
};
bool agent_parse_piece(const char *reply, struct agent_piece *ret_piece, GError **error);

/* Reads the reply to guest-exec-status; the caller clears *ret_status. */
bool agent_parse_status(const char *reply, struct agent_status *ret_status, GError **error);
