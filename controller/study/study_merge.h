/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/study/study_store.h"

/*
 * Puts parts of a study together: shards of it, or the same trials under other policies. A whole lacks nothing: of each
 * trial up to the most that any part was asked for (of parts of former versions, the configured number) it has a result
 * for every point, policy and limit.
 */

/*
 * Puts what is in the directories `parts` (NULL-terminated, at least one) beside what is in `dir`, which is made where
 * it is missing. Where trials are missing, *ret_missing (the caller frees) says in one line which, and of which parts;
 * that is an error unless `partial`. Returns the open whole, or NULL with `error` (STUDY_ERROR): a part of another study,
 * two parts with the same results, or trials that are missing. Nothing is changed then.
 */
struct study_store *study_merge(const char *dir, char *const *parts, bool partial, char **ret_missing,
				GError **error);
