/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/plan_rules_task.h"

/* The rules of the models, one file for each. False: the plan breaks one, with a sentence. */
bool rules_check_nodes(struct rules *rules);
bool rules_check_sharing(struct rules *rules);
bool rules_check_queues(struct rules *rules);
