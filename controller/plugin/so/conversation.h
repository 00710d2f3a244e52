/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/sched/policy.h"

/*
 * The program's side of docs/reference/policy-protocol.md, for a policy with tables: messages in,
 * answers out, no I/O. It takes differences.
 */
struct conversation;

/* `policy` is borrowed. */
struct conversation *conversation_new(const struct policy *policy);

/*
 * What decides in place of a policy with tables; all of it is borrowed. `hello` looks at the message
 * hello: it returns why the system is refused, which the caller frees, or NULL.
 */
struct conversation_outside {
	const char *name; /* from the hello of the program */
	struct policy_outside *decides;
	char *(*hello)(struct policy_outside *decides, const json_t *message);
};
struct conversation *conversation_new_outside(const struct conversation_outside *outside);

/* NULL is allowed. */
void conversation_free(struct conversation *conversation);

/* Before each decision the stack that the policy will use is filled with the byte. */
void conversation_fill_stack(struct conversation *conversation, uint8_t byte);

/*
 * The answer to a message, with its line feed; the caller frees it. NULL: `bye`, or no message of
 * the protocol: the conversation is over.
 */
char *conversation_answer(struct conversation *conversation, const char *line, size_t length);
