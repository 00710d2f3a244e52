/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * The holes, a line each: "'TYPE' on 'CLUSTER'", with `reasons` followed by ": REASON". NULL: there
 * are none. None is a hole where nothing was measured at all. The caller frees.
 */
char *config_holes(const struct config *config, bool reasons);

/*
 * What an experiment lacks of the measurements that it needs, one line, or NULL where it has them:
 * a type with a share needs an estimate on one cluster at least; tasks with deadlines need all
 * execution times. The caller frees.
 */
char *config_lacks(const struct config *config);
