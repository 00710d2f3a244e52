/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/compare.h"

#include <math.h>

#include "common/error_fail.h"
#include "controller/report/accuracy.h"
#include "controller/report/arrivals.h"
#include "controller/report/deviation.h"
#include "controller/report/stretch.h"

#define LEVEL 0.95

/*
 * OPPOSITE needs a higher level than a clear difference, since a single pair decides the verdict.
 */
#define OPPOSITE_LEVEL 0.99

G_DEFINE_QUARK(virtbed_compare, compare_error)

const char *compare_basis_name(enum compare_basis basis)
{
	static const char *const names[] = {"none",  "repeats", "trials", "simulated repeats",
					    "tasks", "verdict"};

	return names[basis];
}

const char *compare_measure_name(enum compare_measure measure)
{
	static const char *const names[] = {"utility", "stretch", "energy_j"};

	return names[measure];
}

const char *const compare_order_names[] = {"too noisy", "same", "opposite", NULL};

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = {"too noisy", "agree", "differ"};

	return names[verdict];
}

double compare_run_value(enum compare_measure measure, const struct summary *summary,
			 const struct store_run *run)
{
	return measure == COMPARE_BY_STRETCH   ? summary_stretch(summary, run)
	       : measure == COMPARE_BY_UTILITY ? run->utility
					       : run->energy_j;
}

double compare_cell_value(enum compare_measure measure, const struct summary_cell *cell)
{
	return measure == COMPARE_BY_STRETCH   ? cell->stretch_mean
	       : measure == COMPARE_BY_UTILITY ? cell->utility_mean
					       : cell->energy_j_mean;
}

static const struct summary *summary_of(const struct compare *compare, guint side)
{
	return compare->sides->side[side].summary;
}

double compare_value(const struct compare *compare, guint side, enum compare_measure measure,
		     const char *policy, double limit)
{
	const struct summary *summary = summary_of(compare, side);
	const struct summary_cell *cell = summary_cell(summary, policy, limit);
	const struct store_run *run =
		side == 1 && compare->same_arrivals
			? arrivals_run(summary_of(compare, 0), summary, policy, limit)
			: NULL;

	if (run)
		return compare_run_value(measure, summary, run);
	return cell ? compare_cell_value(measure, cell) : NAN;
}

/* Differences. */

/*
 * Differences of utility task by task, in order of their numbers; a task that did not arrive has 0.
 */
static GArray *utility_differences(GPtrArray *first, GPtrArray *second)
{
	GArray *differences = g_array_new(FALSE, FALSE, sizeof(double));
	guint i = 0, j = 0;

	while (i < first->len || j < second->len) {
		const struct store_task *a = i < first->len ? first->pdata[i] : NULL;
		const struct store_task *b = j < second->len ? second->pdata[j] : NULL;
		bool take_a = a && (!b || a->task <= b->task);
		bool take_b = b && (!a || b->task <= a->task);
		double difference = (take_a && isfinite(a->utility) ? a->utility : 0) -
				    (take_b && isfinite(b->utility) ? b->utility : 0);

		g_array_append_val(differences, difference);
		i += take_a;
		j += take_b;
	}
	return differences;
}

/*
 * Differences of stretch of the tasks that both runs had, divided by their number: their sum is the
 * difference of the means.
 */
static GArray *stretch_differences(const GArray *first, const GArray *second)
{
	GArray *differences = g_array_new(FALSE, FALSE, sizeof(double));
	guint i = 0, j = 0;

	while (i < first->len && j < second->len) {
		const struct stretch_task *a = &g_array_index(first, struct stretch_task, i);
		const struct stretch_task *b = &g_array_index(second, struct stretch_task, j);
		double difference = a->bounded - b->bounded;

		if (a->task == b->task)
			g_array_append_val(differences, difference);
		i += a->task <= b->task;
		j += b->task <= a->task;
	}
	for (guint k = 0; k < differences->len; k++)
		g_array_index(differences, double, k) /= differences->len;
	return differences;
}

/* Differences of the measure task by task; NULL with `error`. */
static GArray *task_differences(const struct compare *compare, const struct summary *summary,
				const struct store_run *first, const struct store_run *second,
				GError **error)
{
	if (compare->measure == COMPARE_BY_STRETCH) {
		g_autoptr(GArray) a = stretch_tasks(summary->store, first, error);
		g_autoptr(GArray) b = a ? stretch_tasks(summary->store, second, error) : NULL;

		return b ? stretch_differences(a, b) : NULL;
	}
	g_autoptr(GPtrArray) a = store_tasks(summary->store, first->run, error);
	g_autoptr(GPtrArray) b = a ? store_tasks(summary->store, second->run, error) : NULL;

	return b ? utility_differences(a, b) : NULL;
}

/*
 * The difference over the tasks of one run of each policy. Its value is the difference of the runs'
 * own utilities or stretches, with the interval's width around it.
 */
static bool difference_of_tasks(const struct compare *compare, const struct summary *summary,
				const struct store_run *first, const struct store_run *second,
				struct compare_difference *difference, GError **error)
{
	g_autoptr(GArray) differences = task_differences(compare, summary, first, second, error);
	struct stats_interval interval;

	if (!differences)
		return false;
	interval = stats_block_interval(stats_values(differences), differences->len, LEVEL);
	difference->interval.n = interval.n;
	if (!isfinite(interval.low))
		return true;
	difference->basis = COMPARE_BASIS_TASKS;
	difference->interval = stats_interval_from_se(difference->interval.value, interval.se,
						      interval.df, LEVEL, interval.n);
	return true;
}

/*
 * The difference with the deviation of simulated repeats; the noises of the two policies are
 * independent.
 */
static bool difference_by_noise(const struct compare *compare, struct compare_resampling *noise,
				const char *first, const char *second, double limit,
				struct compare_difference *difference)
{
	double sd_first, sd_second;
	uint32_t of_first, of_second, repeats;

	if (!noise || !noise->sd(noise, compare->measure, first, limit, &sd_first, &of_first) ||
	    !noise->sd(noise, compare->measure, second, limit, &sd_second, &of_second))
		return false;
	repeats = MIN(of_first, of_second);
	if (repeats < 2)
		return false;
	difference->basis = COMPARE_BASIS_SIMULATED;
	difference->interval =
		stats_interval_from_se(difference->interval.value, hypot(sd_first, sd_second),
				       repeats - 1, LEVEL, repeats);
	return true;
}

/* Differences of the measure between the runs of both policies with the same repeat number. */
static GArray *paired_differences(const struct compare *compare, const struct summary *summary,
				  GPtrArray *a, GPtrArray *b)
{
	GArray *differences = g_array_new(FALSE, FALSE, sizeof(double));
	guint i = 0, j = 0;

	while (i < a->len && j < b->len) {
		const struct store_run *first = a->pdata[i];
		const struct store_run *second = b->pdata[j];
		double difference = compare_run_value(compare->measure, summary, first) -
				    compare_run_value(compare->measure, summary, second);

		if (first->repeat == second->repeat && isfinite(difference))
			g_array_append_val(differences, difference);
		i += first->repeat <= second->repeat;
		j += second->repeat <= first->repeat;
	}
	return differences;
}

/*
 * The difference over runs that were made until their verdict. Without an interval there is no
 * basis.
 */
static struct compare_difference difference_of_verdict(const struct anytime_verdict *verdict,
						       const char *first, const char *second,
						       double limit)
{
	struct compare_difference difference = {
		.interval = {.value = NAN, .low = NAN, .high = NAN, .se = NAN, .df = NAN},
	};
	struct verdict_finding finding;

	if (!anytime_verdict_find(verdict, first, second, limit, &finding))
		return difference;
	difference.interval.value = finding.difference;
	difference.interval.n = finding.n;
	if (isfinite(finding.low)) {
		difference.interval.low = finding.low;
		difference.interval.high = finding.high;
		difference.basis = COMPARE_BASIS_VERDICT;
	}
	return difference;
}

/*
 * The difference over the runs of one side: all repeats or trials, or the best basis for a single
 * run.
 */
static bool difference_of_runs(const struct compare *compare, const struct compare_side *side,
			       const char *first, const char *second, double limit,
			       struct compare_difference *ret_difference, GError **error)
{
	const struct summary *summary = side->summary;
	if (summary->verdict) {
		*ret_difference = difference_of_verdict(summary->verdict, first, second, limit);
		return true;
	}
	g_autoptr(GPtrArray) a = summary_cell_runs(summary, first, limit);
	g_autoptr(GPtrArray) b = summary_cell_runs(summary, second, limit);
	g_autoptr(GArray) paired = paired_differences(compare, summary, a, b);
	struct compare_difference difference = {
		.interval = stats_t_interval(stats_values(paired), paired->len, LEVEL),
		.basis = summary->measured ? COMPARE_BASIS_REPEATS : COMPARE_BASIS_TRIALS,
	};

	if (paired->len == 0)
		difference.interval.value =
			compare_cell_value(compare->measure, summary_cell(summary, first, limit)) -
			compare_cell_value(compare->measure, summary_cell(summary, second, limit));
	if (paired->len < 2) {
		difference.basis = COMPARE_BASIS_NONE;
		if (!difference_by_noise(compare, side->noise, first, second, limit, &difference) &&
		    paired->len == 1 &&
		    !difference_of_tasks(compare, summary, a->pdata[0], b->pdata[0], &difference,
					 error))
			return false;
	}
	*ret_difference = difference;
	return true;
}

/*
 * The difference of the simulated run with the measured arrivals, with the interval of a
 * measurement.
 */
static struct compare_difference difference_of_same(const struct compare *compare,
						    const char *first, const char *second,
						    double limit)
{
	struct compare_difference difference = {
		.interval =
			{
				.value = compare_value(compare, 1, compare->measure, first, limit) -
					 compare_value(compare, 1, compare->measure, second, limit),
				.low = NAN,
				.high = NAN,
				.n = 1,
				.se = NAN,
				.df = NAN,
			},
	};

	difference_by_noise(compare, compare->sides->side[0].noise, first, second, limit,
			    &difference);
	return difference;
}

static bool fill_pair(const struct compare *compare, struct compare_pair *pair, GError **error)
{
	const struct compare_side *sides = compare->sides->side;

	if (!difference_of_runs(compare, &sides[0], pair->first, pair->second, pair->limit,
				&pair->sides[0], error) ||
	    !difference_of_runs(compare, &sides[1], pair->first, pair->second, pair->limit,
				&pair->trials, error))
		return false;
	pair->sides[1] = compare->same_arrivals ? difference_of_same(compare, pair->first,
								     pair->second, pair->limit)
						: pair->trials;
	return true;
}

/* An interval at the level of opposite pairs; one of a verdict stays as it is. */
static struct stats_interval wide(const struct stats_interval *interval)
{
	return isfinite(interval->se)
		       ? stats_interval_from_se(interval->value, interval->se, interval->df,
						OPPOSITE_LEVEL, interval->n)
		       : *interval;
}

/*
 * Whether the differences have opposite signs and are further from each other than chance allows.
 */
static bool contradict(const struct compare_difference *one, const struct compare_difference *other)
{
	const struct stats_interval *a = &one->interval;
	const struct stats_interval *b = &other->interval;
	const struct stats_interval wide_a = wide(a);
	const struct stats_interval wide_b = wide(b);
	struct stats_interval apart;

	if (!(a->value * b->value < 0))
		return false;
	if (one->basis == COMPARE_BASIS_VERDICT || other->basis == COMPARE_BASIS_VERDICT)
		return wide_a.low > wide_b.high || wide_b.low > wide_a.high;
	apart = stats_difference(a, b, OPPOSITE_LEVEL);
	return stats_interval_sign(&apart) != STATS_SIGN_UNCLEAR;
}

enum compare_order compare_pair_order(const struct compare_pair *pair)
{
	const struct stats_interval *a = &pair->sides[0].interval;
	const struct stats_interval *b = &pair->sides[1].interval;
	enum stats_sign in_a = stats_interval_sign(a);
	enum stats_sign in_b = stats_interval_sign(b);

	if (in_a != STATS_SIGN_UNCLEAR && in_a == in_b)
		return COMPARE_SAME;
	if ((in_a != STATS_SIGN_UNCLEAR || in_b != STATS_SIGN_UNCLEAR) &&
	    contradict(&pair->sides[0], &pair->sides[1]))
		return COMPARE_OPPOSITE;
	return COMPARE_NOISY;
}

/* The policies that both sides ran under a limit of the first side. */
static GPtrArray *common_policies(const struct compare *compare, double limit)
{
	const struct summary *a = summary_of(compare, 0);
	GPtrArray *policies = g_ptr_array_new();

	for (guint i = 0; i < a->policies->len; i++) {
		char *policy = a->policies->pdata[i];

		if (summary_cell(a, policy, limit) &&
		    summary_cell(summary_of(compare, 1), policy, limit))
			g_ptr_array_add(policies, policy);
	}
	return policies;
}

/* Whether no side was made until a verdict on other pairs. */
static bool is_asked(const struct compare *compare, const char *first, const char *second,
		     double limit)
{
	struct verdict_finding finding;

	for (guint i = 0; i < 2; i++) {
		const struct anytime_verdict *verdict = summary_of(compare, i)->verdict;

		if (verdict && !anytime_verdict_find(verdict, first, second, limit, &finding))
			return false;
	}
	return true;
}

static bool add_pairs(struct compare *compare, double limit, GPtrArray *policies, GError **error)
{
	for (guint i = 0; i < policies->len; i++) {
		for (guint j = i + 1; j < policies->len; j++) {
			struct compare_pair pair = {
				.limit = limit,
				.first = policies->pdata[i],
				.second = policies->pdata[j],
			};

			if (!is_asked(compare, pair.first, pair.second, limit))
				continue;
			if (!fill_pair(compare, &pair, error))
				return false;
			pair.order = compare_pair_order(&pair);
			compare->same += pair.order == COMPARE_SAME;
			compare->opposite += pair.order == COMPARE_OPPOSITE;
			compare->noisy += pair.order == COMPARE_NOISY;
			g_array_append_val(compare->pairs, pair);
		}
	}
	return true;
}

/* Ranks. */

static void add_rank(struct compare *compare, double limit, GPtrArray *policies,
		     struct stats_kendall *all)
{
	struct stats_kendall kendall = {0};
	struct compare_rank rank = {.limit = limit, .policies = policies->len};
	g_autofree double *a = g_new(double, policies->len + 1);
	g_autofree double *b = g_new(double, policies->len + 1);

	for (guint i = 0; i < policies->len; i++) {
		const char *policy = policies->pdata[i];

		a[i] = compare_value(compare, 0, compare->measure, policy, limit);
		b[i] = compare_value(compare, 1, compare->measure, policy, limit);
	}
	stats_kendall_add(&kendall, a, b, policies->len);
	stats_kendall_add(all, a, b, policies->len);
	rank.tau_b = stats_kendall_tau_b(&kendall);
	g_array_append_val(compare->ranks, rank);
}

static bool compare_limits(struct compare *compare, GError **error)
{
	const GArray *limits = summary_of(compare, 0)->limits;
	struct stats_kendall all = {0};
	struct compare_rank rank = {.limit = NAN};

	for (guint i = 0; i < limits->len; i++) {
		double limit = g_array_index(limits, double, i);
		g_autoptr(GPtrArray) policies = common_policies(compare, limit);

		if (policies->len < 2)
			continue;
		if (!add_pairs(compare, limit, policies, error))
			return false;
		add_rank(compare, limit, policies, &all);
		rank.policies = MAX(rank.policies, policies->len);
	}
	rank.tau_b = stats_kendall_tau_b(&all);
	g_array_append_val(compare->ranks, rank);
	return true;
}

/* The comparison. */

/* Notes the cells of a side that the other one does not have. */
static void note_missing(struct compare *compare, guint side)
{
	const struct summary *there = summary_of(compare, side);

	for (guint i = 0; i < there->cells_count; i++) {
		const struct summary_cell *cell = &there->cells[i];

		/* Until a verdict only what is in a pair is run. */
		if (!summary_of(compare, 1 - side)->verdict && cell->runs &&
		    !summary_cell(summary_of(compare, 1 - side), cell->policy, cell->limit))
			summary_add_line(compare->missing, "%s at %g %%: %s only", cell->policy,
					 100 * cell->limit, compare->sides->side[side].label);
	}
}

/* Holds the execution times of the measured sides against their estimates. */
static bool measure_accuracies(struct compare *compare, GError **error)
{
	for (guint i = 0; i < 2; i++) {
		const struct summary *summary = summary_of(compare, i);

		if (summary->measured)
			compare->accuracies[i] = accuracy_measure(summary, error);
		if (summary->measured && !compare->accuracies[i])
			return false;
	}
	return true;
}

/*
 * By stretch where all runs of both sides are on shared hosts and have stretches, else by utility.
 */
static enum compare_measure measure_of(const struct compare *compare)
{
	const struct summary *a = summary_of(compare, 0);
	const struct summary *b = summary_of(compare, 1);

	if (!a->shared || !b->shared)
		return COMPARE_BY_UTILITY;
	for (guint i = 0; i < a->cells_count; i++) {
		const struct summary_cell *cell = &a->cells[i];

		if (cell->runs && summary_cell(b, cell->policy, cell->limit) &&
		    (!isfinite(cell->stretch_mean) ||
		     !isfinite(compare_value(compare, 1, COMPARE_BY_STRETCH, cell->policy,
					     cell->limit))))
			return COMPARE_BY_UTILITY;
	}
	return COMPARE_BY_STRETCH;
}

/* What a side ran: "DIR has easy, max-upe at 100 %; easy at 60 %". The caller frees. */
static char *design_of(const struct summary *summary)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%s has ", summary->dir);
	for (guint i = 0; i < summary->cells_count; i++) {
		const struct summary_cell *cell = &summary->cells[i];
		guint next = i + 1;

		if (!cell->runs)
			continue;
		g_string_append(text, cell->policy);
		while (next < summary->cells_count && !summary->cells[next].runs)
			next++;
		if (next < summary->cells_count && summary->cells[next].limit == cell->limit)
			g_string_append(text, ", ");
		else
			g_string_append_printf(text, " at %g %%%s", 100 * cell->limit,
					       next < summary->cells_count ? "; " : "");
	}
	return g_string_free(text, FALSE);
}

static struct compare *fail_nothing(const struct compare *compare, GError **error)
{
	g_autofree char *a = design_of(summary_of(compare, 0));
	g_autofree char *b = design_of(summary_of(compare, 1));

	return error_null(error, COMPARE_ERROR, COMPARE_ERROR_NOTHING,
			  "%s and %s have no limit at which both ran the same two policies: %s. "
			  "%s",
			  summary_of(compare, 0)->dir, summary_of(compare, 1)->dir, a, b);
}

struct compare *compare_new(const struct compare_sides *sides, bool trials, GError **error)
{
	g_autoptr(compare_t) compare = g_new0(struct compare, 1);

	compare->sides = sides;
	compare->pairs = g_array_new(FALSE, FALSE, sizeof(struct compare_pair));
	compare->ranks = g_array_new(FALSE, FALSE, sizeof(struct compare_rank));
	compare->missing = g_ptr_array_new_with_free_func(g_free);
	compare->equal_arrivals = arrivals_are_same(summary_of(compare, 0), summary_of(compare, 1));
	compare->same_arrivals =
		sides->mixed && sides->side[0].noise && !trials && compare->equal_arrivals;
	compare->measure = measure_of(compare);
	if (!compare_limits(compare, error) || !measure_accuracies(compare, error))
		return NULL;
	compare->deviations = deviation_measure(sides, error);
	if (!compare->deviations)
		return NULL;
	if (compare->pairs->len == 0)
		return fail_nothing(compare, error);
	note_missing(compare, 0);
	note_missing(compare, 1);
	compare->verdict = compare->opposite ? COMPARE_DIFFER
			   : compare->same   ? COMPARE_AGREE
					     : COMPARE_TOO_NOISY;
	return g_steal_pointer(&compare);
}

void compare_free(struct compare *compare)
{
	if (!compare)
		return;
	g_clear_pointer(&compare->pairs, g_array_unref);
	g_clear_pointer(&compare->ranks, g_array_unref);
	for (guint i = 0; i < 2; i++)
		g_clear_pointer(&compare->accuracies[i], g_array_unref);
	g_clear_pointer(&compare->deviations, g_array_unref);
	g_clear_pointer(&compare->missing, g_ptr_array_unref);
	g_free(compare->because);
	g_free(compare);
}
