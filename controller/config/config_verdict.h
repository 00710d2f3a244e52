/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/* What `virtbed run --until-verdict` decides: fixed before anything is measured. */

/* Two policies at some limits. */
struct config_verdict_pair {
	char **policies; /* two different ones of experiment.policies */
	uint32_t policies_count;
	double *limits; /* of experiment.limits; none: all of them */
	uint32_t limits_count;
};

struct config_verdict {
	struct config_verdict_pair *pairs; /* none: all pairs of policies at all limits */
	uint32_t pairs_count;
	struct config_verdict_pair *controls; /* equal by design */
	uint32_t controls_count;
	double alpha;        /* of all pairs together; default 0.05 */
	double equal_within; /* a fraction of what the two earn; default 0.05 */
	uint32_t repeats;    /* of a policy at a limit, at most; default 20 */
};

/* The most repeats of the design, where there is no section. */
#define CONFIG_VERDICT_REPEATS 20

/* The rows of the structures above. */
extern const struct config_section config_verdict_section;

/* The place of the section in config_served. */
#define CONFIG_VERDICT 2

/* The section of `config`, borrowed; NULL: there is none. */
static inline const struct config_verdict *config_verdict(const struct config *config)
{
	return config->served_sections[CONFIG_VERDICT];
}

/* Whether the section makes sense: NULL, or "KEY.PATH: ..." (the caller frees). */
char *config_verdict_check(const struct config *config);
