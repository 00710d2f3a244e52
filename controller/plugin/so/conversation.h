/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

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

/* NULL is allowed. */
void conversation_free(struct conversation *conversation);

/* Before each decision the stack that the policy will use is filled with the byte. */
void conversation_fill_stack(struct conversation *conversation, uint8_t byte);

/*
 * The answer to a message, with its line feed; the caller frees it. NULL: `bye`, or no message of
 * the protocol: the conversation is over.
 */
char *conversation_answer(struct conversation *conversation, const char *line, size_t length);
