/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/summary.h"

/*
 * The provenance of a run as HTML: the recorded facts about the machine and the programs, the
 * capabilities of every local scheduler, and the configuration as resolved. The caller frees.
 */
char *page_facts_html(const struct summary *summary);
