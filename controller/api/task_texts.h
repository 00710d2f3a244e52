/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * The cache of tasks as JSON of lists. Every watching client asks for a thousand tasks each second
 * or two, of which few change: a task's text is kept until the task changes. There is room for 8192
 * tasks, whose place follows from their number, and for 32 MiB.
 */
struct task_texts;

struct task_texts *task_texts_new(const struct run_session *session);
void task_texts_free(struct task_texts *texts);

/*
 * The text of a task of the present run that has arrived; `hidden`: without its owner's texts, for
 * clients that may not see them. Borrowed until the next call.
 */
const char *task_texts_get(struct task_texts *texts, uint32_t index, bool hidden);
