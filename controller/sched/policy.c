/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/policy.h"

#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_number.h"
#include "controller/sched/immediate.h"
#include "controller/sched/mapping.h"
#include "controller/sched/queueing.h"
#include "controller/sched/sharing.h"

/* What the tables of a policy from outside say; policy_decide() never calls their decide(). */
static const struct policy_planning outside_planning = {.reads_budget = true, .by_energy = true};
static const struct policy_immediate outside_immediate = {
	.section = "none",
	.summary = "a program or a shared object from outside",
};
static const struct policy_sharing outside_sharing = {.moments = POLICY_AT_BOTH};
static const struct policy_queueing outside_queueing = {.evicts = true, .fair = true};

const struct policy_ops policy_outside_ops = {
	.name = "outside",
	.section = "none",
	.summary = "a program or a shared object from outside",
	.planning = &outside_planning,
	.immediate = &outside_immediate,
	.sharing = &outside_sharing,
	.queueing = &outside_queueing,
};

const struct policy_ops *policy_find(const char *name)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(list[i]->name, name) == 0)
			return list[i];
	return NULL;
}

const struct policy_ops *policy_reference(void)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	for (uint32_t i = 0; i < count; i++)
		if (list[i]->reference)
			return list[i];
	return NULL;
}

/* Appends to a message that may be full already. */
__attribute__((format(printf, 3, 4))) static void append(char *message, size_t size,
							 const char *format, ...)
{
	const size_t length = size > 0 ? strnlen(message, size) : 0;
	va_list arguments;

	if (length + 1 >= size)
		return;
	va_start(arguments, format);
	vsnprintf(message + length, size - length, format, arguments);
	va_end(arguments);
}

static int refuse_name(const char *name, char *message, size_t size)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	append(message, size, "unknown policy \"%s\"; known:", name);
	for (uint32_t i = 0; i < count; i++)
		append(message, size, " %s", list[i]->name);
	append(message, size, " exec:COMMAND so:FILE batsim:COMMAND batsim-edc:FILE");
	return -EINVAL;
}

static int set_future(struct policy *policy, enum policy_future future, const char *modifier,
		      char *message, size_t size)
{
	const struct policy_planning *planning = policy->ops->planning;

	if (!planning || (planning->future_fixed && future != planning->future)) {
		append(message, size, "policy \"%s\" does not take \"+%s\"", policy->ops->name,
		       modifier);
		return -EINVAL;
	}
	policy->future = future;
	return 0;
}

static int set_drop(struct policy *policy, const char *text, char *message, size_t size)
{
	double threshold;

	if (!read_number(text, 0, DBL_MAX, &threshold)) {
		append(message, size, "\"+drop:%s\": the threshold must be a number from 0", text);
		return -EINVAL;
	}
	policy->drop_threshold = threshold;
	policy->drop_given = true;
	return 0;
}

static int set_filter(struct policy *policy, const char *text, char *message, size_t size)
{
	if (!policy->ops->planning) {
		append(message, size, "policy \"%s\" does not take \"+filter\"", policy->ops->name);
		return -EINVAL;
	}
	static const struct {
		const char *prefix;
		enum policy_filter filter;
	} kinds[] = {
		{"task:", POLICY_FILTER_TASK},
		{"resource:", POLICY_FILTER_RESOURCE},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t length = strlen(kinds[i].prefix);
		double leniency;

		if (strncmp(text, kinds[i].prefix, length) != 0)
			continue;
		if (!read_number(text + length, DBL_MIN, DBL_MAX, &leniency)) {
			append(message, size,
			       "\"+filter:%s\": the leniency must be a number above 0", text);
			return -EINVAL;
		}
		policy->filter = kinds[i].filter;
		policy->leniency = leniency;
		return 0;
	}
	append(message, size,
	       "\"+filter:%s\": give +filter:task:LENIENCY or +filter:resource:LENIENCY", text);
	return -EINVAL;
}

/*
 * Whether a modifier is "no-wait": it selected Pair's present default when Algorithm 3 was the
 * default.
 */
static bool is_default(const char *modifier)
{
	return strcmp(modifier, "no-wait") == 0;
}

static int set_pairing(struct policy *policy, const char *modifier, char *message, size_t size)
{
	if (!policy->ops->immediate || !policy->ops->immediate->pairs) {
		append(message, size, "policy \"%s\" does not take \"+%s\"", policy->ops->name,
		       modifier);
		return -EINVAL;
	}
	policy->algorithm_3 = !is_default(modifier);
	return 0;
}

static int set_backfilling(struct policy *policy, const char *modifier, char *message, size_t size)
{
	if (!policy->ops->planning || !policy->ops->planning->ordered) {
		append(message, size, "policy \"%s\" does not take \"+%s\"", policy->ops->name,
		       modifier);
		return -EINVAL;
	}
	policy->backfills = true;
	return 0;
}

static int set_pruning(struct policy *policy, const char *modifier, char *message, size_t size)
{
	if (!policy->ops->queueing || policy->ops->queueing->prunes) {
		append(message, size, "policy \"%s\" does not take \"+%s\"", policy->ops->name,
		       modifier);
		return -EINVAL;
	}
	policy->prunes = true;
	return 0;
}

/* The subjects of modifiers, as bits: two modifiers of one subject exclude each other. */
enum {
	ABOUT_FUTURE = 1 << 0,
	ABOUT_DROP = 1 << 1,
	ABOUT_FILTER = 1 << 2,
	ABOUT_FILTER_ONCE = 1 << 3,
	ABOUT_RESERVED = 1 << 4,
	ABOUT_PAIRS = 1 << 5,
	ABOUT_BACKFILLING = 1 << 6,
	ABOUT_PRUNING = 1 << 7,
};

static unsigned int about(const char *modifier)
{
	if (strncmp(modifier, "drop:", 5) == 0)
		return ABOUT_DROP;
	if (strncmp(modifier, "filter:", 7) == 0)
		return ABOUT_FILTER;
	if (strcmp(modifier, "reserve-now") == 0)
		return ABOUT_RESERVED;
	if (strcmp(modifier, "algorithm-3") == 0 || is_default(modifier))
		return ABOUT_PAIRS;
	if (strcmp(modifier, "easy") == 0)
		return ABOUT_BACKFILLING;
	if (strcmp(modifier, "prune") == 0)
		return ABOUT_PRUNING;
	return strcmp(modifier, "filter-once") == 0 ? ABOUT_FILTER_ONCE : ABOUT_FUTURE;
}

static int set_modifier(struct policy *policy, const char *modifier, char *message, size_t size)
{
	if (strcmp(modifier, "placeholders") == 0)
		return set_future(policy, POLICY_FUTURE_PLACEHOLDERS, modifier, message, size);
	if (strcmp(modifier, "reservations") == 0)
		return set_future(policy, POLICY_FUTURE_RESERVATIONS, modifier, message, size);
	if (strncmp(modifier, "drop:", 5) == 0)
		return set_drop(policy, modifier + 5, message, size);
	if (strncmp(modifier, "filter:", 7) == 0)
		return set_filter(policy, modifier + 7, message, size);
	if (strcmp(modifier, "filter-once") == 0) {
		policy->filter_once = true;
		return 0;
	}
	if (strcmp(modifier, "reserve-now") == 0) {
		policy->reserve_now = true;
		return 0;
	}
	if (strcmp(modifier, "algorithm-3") == 0 || is_default(modifier))
		return set_pairing(policy, modifier, message, size);
	if (strcmp(modifier, "easy") == 0)
		return set_backfilling(policy, modifier, message, size);
	if (strcmp(modifier, "prune") == 0)
		return set_pruning(policy, modifier, message, size);
	append(message, size,
	       "unknown modifier \"+%s\"; known: +placeholders +reservations +drop:UTILITY "
	       "+filter:task:LENIENCY +filter:resource:LENIENCY +filter-once +reserve-now "
	       "+algorithm-3 +easy +prune",
	       modifier);
	return -EINVAL;
}

/* Whether a name is that of a policy from outside; *ret_rest is what follows the prefix. */
static bool is_outside(const char *text, const char **ret_rest)
{
	static const char *const prefixes[] = {"exec:", "so:", "batsim:", "batsim-edc:"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const size_t length = strlen(prefixes[i]);

		if (strncmp(text, prefixes[i], length) != 0)
			continue;
		*ret_rest = text + length;
		return true;
	}
	return false;
}

static int parse_outside(const char *text, const char *rest, struct policy *ret_policy,
			 char *message, size_t size)
{
	struct policy policy = {.ops = &policy_outside_ops};

	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f) {
			append(message, size,
			       "policy \"%.*s...\": a control character is in the name; leave it out",
			       (int)(at - text), text);
			return -EINVAL;
		}
	if (rest[strspn(rest, " ")] == '\0') {
		append(message, size,
		       "policy \"%s\" names nothing; give exec:COMMAND [ARGUMENT...], so:FILE, "
		       "batsim:COMMAND [ARGUMENT...] or batsim-edc:FILE",
		       text);
		return -EINVAL;
	}
	strcpy(policy.name, text);
	*ret_policy = policy;
	return 0;
}

int policy_parse(const char *text, struct policy *ret_policy, char *message, size_t size)
{
	struct policy policy = {0};
	char buffer[POLICY_NAME_MAX];
	char *rest = buffer;
	unsigned int given = 0;

	if (size > 0)
		message[0] = '\0';
	if (strlen(text) >= sizeof(buffer)) {
		append(message, size, "policy name longer than %d characters", POLICY_NAME_MAX - 1);
		return -EINVAL;
	}
	strcpy(buffer, text);

	const char *outside;

	if (is_outside(text, &outside))
		return parse_outside(text, outside, ret_policy, message, size);

	const char *name = strsep(&rest, "+");

	policy.ops = policy_find(name);
	if (!policy.ops)
		return refuse_name(name, message, size);
	if (policy.ops->planning)
		policy.future = policy.ops->planning->future;
	append(policy.name, sizeof(policy.name), "%s", name);
	while (rest) {
		const char *modifier = strsep(&rest, "+");

		if (!policy.ops->planning && !policy.ops->immediate &&
		    !(policy.ops->queueing && strcmp(modifier, "prune") == 0)) {
			append(message, size, "policy \"%s\" takes no modifiers%s", name,
			       policy.ops->queueing && !policy.ops->queueing->prunes
				       ? " but \"+prune\""
				       : "");
			return -EINVAL;
		}

		const int result = set_modifier(&policy, modifier, message, size);

		if (result < 0)
			return result;
		if (given & about(modifier)) {
			append(message, size,
			       "\"%s\": \"+%s\" does not go with a modifier before it", text,
			       modifier);
			return -EINVAL;
		}
		given |= about(modifier);
		if (!is_default(modifier))
			append(policy.name, sizeof(policy.name), "+%s", modifier);
	}
	if (policy.filter_once && policy.filter == POLICY_FILTER_NONE) {
		append(message, size, "\"%s\": +filter-once without a +filter", text);
		return -EINVAL;
	}
	if (policy.reserve_now && policy.future != POLICY_FUTURE_RESERVATIONS) {
		append(message, size, "\"%s\": +reserve-now without reservations", text);
		return -EINVAL;
	}
	*ret_policy = policy;
	return 0;
}

void policy_normalize_name(char *name)
{
	struct policy policy;

	if (policy_parse(name, &policy, NULL, 0) == 0)
		strcpy(name, policy.name);
}

/* Whether a policy that gives tasks nodes of their own plans no starts in the system. */
static bool is_immediate(const struct policy_ops *ops, const struct sched_system *system)
{
	return ops->immediate && (system->immediate || !ops->planning);
}

bool policy_resumes(const struct policy *policy, const struct sched_system *system)
{
	return system->shared || (!system->queueing && is_immediate(policy->ops, system));
}

static int decide_planning(const struct policy *policy, const struct sched_snapshot *snapshot,
			   struct policy_context *context, struct sched_plan *ret_plan)
{
	struct mapping mapping;
	int result = mapping_begin(&mapping, policy, snapshot, context);

	if (result == 0 && mapping.tasks_count > 0)
		result = policy->ops->planning->decide(&mapping);
	if (result == 0)
		mapping_end(&mapping, ret_plan);
	return result;
}

static int decide_immediate(const struct policy *policy, const struct sched_snapshot *snapshot,
			    struct policy_context *context, struct sched_plan *ret_plan)
{
	struct immediate immediate;
	int result = immediate_begin(&immediate, policy, snapshot, context);

	if (result == 0 && immediate.classes_count > 0 && snapshot->now_s < snapshot->end_s)
		result = policy->ops->immediate->decide(&immediate);
	return result < 0 ? result : immediate_end(&immediate, ret_plan);
}

static int decide_sharing(const struct policy *policy, const struct sched_snapshot *snapshot,
			  struct policy_context *context, struct sched_plan *ret_plan)
{
	struct sharing sharing;
	int result = sharing_begin(&sharing, policy, snapshot, context);

	if (result == 0)
		result = policy->ops->sharing->decide(&sharing);
	return result < 0 ? result : sharing_end(&sharing, ret_plan);
}

static int decide_queueing(const struct policy *policy, const struct sched_snapshot *snapshot,
			   struct policy_context *context, struct sched_plan *ret_plan)
{
	struct queueing queueing;
	int result = queueing_begin(&queueing, policy, snapshot, context);

	if (result == 0)
		result = policy->ops->queueing->decide(&queueing);
	if (result == 0)
		queueing_end(&queueing, ret_plan);
	queueing_finish(&queueing);
	return result;
}

const char *policy_misfit(const struct policy *policy, const struct sched_system *system)
{
	const struct policy_ops *ops = policy->ops;

	if (system->queueing)
		return ops->queueing ? NULL
				     : "it gives nodes to tasks, and the clusters here take tasks "
				       "from queues";
	if (system->shared ? ops->sharing != NULL : ops->planning || ops->immediate)
		return NULL;
	if (ops->queueing)
		return "it queues tasks on clusters, and the clusters here have no queues";
	return system->shared
		       ? "it gives nodes to one task at a time, and the hosts here are shared in "
			 "time"
		       : "it shares hosts in time, and the nodes here take one task at a time";
}

int policy_decide(const struct policy *policy, const struct sched_snapshot *snapshot,
		  struct policy_context *context, struct sched_plan *ret_plan)
{
	arena_reset(context->arena);
	if (policy_is_outside(policy))
		return context->outside->decide(context->outside, policy, snapshot, context,
						ret_plan);
	if (snapshot->system->queueing)
		return decide_queueing(policy, snapshot, context, ret_plan);
	if (snapshot->system->shared)
		return decide_sharing(policy, snapshot, context, ret_plan);
	if (is_immediate(policy->ops, snapshot->system))
		return decide_immediate(policy, snapshot, context, ret_plan);
	return decide_planning(policy, snapshot, context, ret_plan);
}
