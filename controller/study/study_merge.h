/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/study/study_store.h"

/*
 * Merges parts of a study: its shards, or the same trials under other policies. A complete study
 * has a result for every point, policy and limit of each trial up to the highest number that a part
 * was started with (for parts of former versions, the configured number).
 */

/*
 * Merges the results in the directories `parts` (NULL-terminated, at least one) into `dir`, which
 * is made if missing. If trials are missing, *ret_missing (the caller frees) names them and their
 * parts in a line; that is an error unless `partial`. Returns the open store of the whole, or NULL
 * with `error` (STUDY_ERROR): a part of another study, two parts with the same results, or missing
 * trials. Then nothing is changed.
 */
struct study_store *study_merge(const char *dir, char *const *parts, bool partial,
				char **ret_missing, GError **error);
