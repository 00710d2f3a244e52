/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The identity of this build, which `--version`, stores, reports, metrics and local schedulers
 * give: the version with the git commit that was built as build metadata: "0.1.0+d579e2a0c3f1",
 * with ".dirty" where files differed from it. "0.1.0" where the sources were no git checkout.
 * Static.
 */
const char *build_version(void);
