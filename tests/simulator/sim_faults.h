/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/simulator/sim_world.h"

/* Carries out the fault of an action of the plan. */
void sim_faults_act(struct sim_world *world, const struct sim_action *action);

/* A part begins a life, in which the plan's one fault may come (sim_plan_one()). */
void sim_faults_begin_life(struct sim_part *part);

/* Ends all faults that last. */
void sim_faults_heal(struct sim_world *world);
