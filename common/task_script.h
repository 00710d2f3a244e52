/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What a person has run in a guest instead of a benchmark: a program, a script mostly, with the files
 * that go in with it and the names of those that come out. As it is submitted, kept and sent:
 *
 *     {"program": "job.sh", "arguments": ["7"], "results": ["out.txt"],
 *      "files": [{"name": "job.sh", "mode": 493, "data": "<base64>", "sha256": "..."}]}
 *
 * and as a stream of bytes for the guest (vm-images/guest/bundle.h). Pure.
 */
struct task_script {
	char *program;      /* one of the files */
	char **arguments;   /* NULL-terminated */
	char **results;     /* names of files or directories, NULL-terminated */
	GPtrArray *files;   /* of struct task_file, owned */
};
typedef struct task_script task_script_t;

struct task_file {
	char *name;    /* file_name_ok() */
	int mode;      /* permissions */
	GBytes *bytes;
};

#define TASK_SCRIPT_ERROR (task_script_error_quark())
GQuark task_script_error_quark(void);
enum task_script_error { TASK_SCRIPT_ERROR_INPUT = 1 };

enum {
	/* Of all files: in base64 they share a request of 1 MiB (common/http_server.h). */
	TASK_SCRIPT_BYTES_MAX = 704 << 10,
	TASK_SCRIPT_FILES_MAX = 256,
	TASK_SCRIPT_RESULTS_MAX = 16,    /* vm-images/guest/virtbed-rank.c, as the next one */
	TASK_SCRIPT_ARGUMENTS_MAX = 64,
	TASK_SCRIPT_ARGUMENT_MAX = 4096, /* bytes */
	/* Of what comes out of all guests: in base64 a third of what common/http_client.c takes. */
	TASK_SCRIPT_JOINED_MAX = 16 << 20,
};

/*
 * Reads a script; an unknown key, a name that leads astray, a checksum that is not that of the data,
 * or too much of anything is refused. NULL with `error` (TASK_SCRIPT_ERROR).
 */
struct task_script *task_script_parse(const json_t *object, GError **error);
/* NULL is allowed. */
void task_script_free(struct task_script *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_script_t, task_script_free)

/* The same as a document with data and checksums; a new reference. */
json_t *task_script_to_json(const struct task_script *script);

/* The same without data: equal scripts give equal texts. The caller frees. */
char *task_script_summary(const struct task_script *script);

/* The files as a stream for the guest; the caller owns it. */
GBytes *task_script_bundle(const struct task_script *script);

/*
 * What came out of `count` guests of a task, in the order of its nodes, as one such stream, or NULL: nothing.
 * One guest's is as it was (another reference); of several, files of the second guest are below node-1/, and so
 * on, and TASK_SCRIPT_JOINED_MAX bounds their sum: what is too much is skipped, in the order of nodes.
 */
GBytes *task_script_join(GBytes *const *streams, uint32_t count);

/*
 * The files that came out of a guest, which is not to be trusted, as {"files": [{"name", "mode", "bytes",
 * "sha256", "data"}], "skipped": ["NAME: why"]}; a new reference. What makes no sense is left out, and
 * "skipped" says so.
 */
json_t *task_script_results(GBytes *stream);
