/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * Tasks as lists have them, in JSON. Everybody who watches asks for a thousand tasks every second or two, of which few
 * have changed: a task's text is kept until the task is another. There is room for some thousands, where a task's place
 * follows from its number, and for 32 MiB.
 */
struct task_texts;

struct task_texts *task_texts_new(const struct run_session *session);
void task_texts_free(struct task_texts *texts);

/*
 * The text of a task of the run under way, which is one that has arrived; `hidden`: as those see it who may not know
 * what its owner wrote. Borrowed until the next call.
 */
const char *task_texts_get(struct task_texts *texts, uint32_t index, bool hidden);
