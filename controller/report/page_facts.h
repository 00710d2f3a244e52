/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/summary.h"

/*
 * Where a run comes from, as HTML: what was recorded of the machine and the programs, what every
 * local scheduler said it can do, and the configuration as resolved. The caller frees.
 */
char *page_facts_html(const struct summary *summary);
