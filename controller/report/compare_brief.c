/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/compare_brief.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/accuracy.h"
#include "controller/report/plugins.h"
#include "controller/report/provenance.h"

/*
 * The most limits with a line of their own, with one less for each side that has a line about its
 * verdict; the other lines of the ten are taken.
 */
#define LIMITS_SHOWN 4

/* The most policies named per limit: the best, and the last. */
#define POLICIES_SHOWN 5

/* With fewer repeats than these the noise is hardly known. */
#define REPEATS_ENOUGH 5

/* A count with its noun: "1 run", "2 runs". */
static char *count_of(guint count, const char *word)
{
	return g_strdup_printf("%u %s%s", count, word, count == 1 ? "" : "s");
}

/* The experiments. */

/* Counts over all runs of a side. */
struct tally {
	guint runs, policies, limits;
	guint tasks_arrived, tasks_completed;
	guint types, clusters, hosts; /* hosts 0: not recorded */
	guint repeats;
};

static const struct record_field tally_fields[] = {
	{RECORD_FIELD_U32(tally, runs)},          {RECORD_FIELD_U32(tally, policies)},
	{RECORD_FIELD_U32(tally, limits)},        {RECORD_FIELD_U32(tally, repeats)},
	{RECORD_FIELD_U32(tally, tasks_arrived)}, {RECORD_FIELD_U32(tally, tasks_completed)},
	{RECORD_FIELD_U32(tally, types)},         {RECORD_FIELD_U32(tally, clusters)},
	{RECORD_FIELD_U32(tally, hosts)},         {NULL},
};
static const struct record tally_record = {.size = sizeof(struct tally), .fields = tally_fields};

/* The number of types of the tasks. */
static guint count_types(const struct summary *summary)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(summary->runs, i);
		g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, NULL);

		for (guint k = 0; tasks && k < tasks->len; k++) {
			const struct store_task *task = g_ptr_array_index(tasks, k);

			if (task->type)
				g_hash_table_add(seen, g_strdup(task->type));
		}
	}
	return g_hash_table_size(seen);
}

/* The number of blades or other hosts, as the local schedulers reported. */
static guint count_hosts(struct store *store)
{
	g_autoptr(json_t) all = store_get_document(store, "capabilities");
	const char *cluster;
	json_t *one;
	guint count = 0;

	json_object_foreach (all, cluster, one)
		count += (guint)json_object_size(json_object_get(one, "hosts"));
	return count;
}

static guint count_clusters(struct store *store)
{
	g_autofree char *order = store_get_meta(store, "cluster_order");
	g_auto(GStrv) names = order && *order ? g_strsplit(order, ",", -1) : NULL;

	return names ? g_strv_length(names) : 0;
}

/* The counts of a side; a simulated one has only some. */
static struct tally tally_of(const struct summary *summary)
{
	struct tally tally = {
		.runs = summary->runs->len,
		.policies = summary->policies->len,
		.limits = summary->limits->len,
		.repeats = summary->repeats,
	};

	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(summary->runs, i);

		tally.tasks_arrived += run->tasks_arrived;
		tally.tasks_completed += run->tasks_completed;
	}
	if (summary->measured) {
		tally.types = count_types(summary);
		tally.clusters = count_clusters(summary->store);
		tally.hosts = count_hosts(summary->store);
	}
	return tally;
}

/* The counts of policies and limits: "2 policies at 3 limits of energy". */
static char *design_of(const struct tally *tally)
{
	g_autofree char *limits = count_of(tally->limits, "limit");

	return g_strdup_printf("%u polic%s at %s of energy", tally->policies,
			       tally->policies == 1 ? "y" : "ies", limits);
}

static char *measured_line(const char *title, const struct tally *tally)
{
	g_autofree char *runs = count_of(tally->runs, "run");
	g_autofree char *design = design_of(tally);
	g_autofree char *types = count_of(tally->types, "type");
	g_autofree char *clusters = count_of(tally->clusters, "cluster");
	g_autofree char *cells = tally->types && tally->clusters
					 ? g_strdup_printf(", of %s on %s", types, clusters)
					 : g_strdup("");

	return g_strdup_printf("%s: %s of %s; %u of %u tasks completed%s.", title, runs, design,
			       tally->tasks_completed, tally->tasks_arrived, cells);
}

/* The line about the hosts of the measurement. */
static char *bed_line(const struct summary *measured, const struct tally *tally)
{
	static const struct {
		const char *virt_type, *words;
	} beds[] = {
		{"kvm", "virtual machines under KVM"},
		{"qemu", "virtual machines on emulated CPUs (QEMU without KVM)"},
		{"simulated", "simulated clusters: no virtual machine ran"},
		{"mixed", "virtual machines that did not all run alike"},
	};
	g_autofree char *virt_type = store_get_meta(measured->store, "virt_type");
	g_autofree char *profile = store_get_meta(measured->store, "estimates");
	g_autofree char *hosts = count_of(tally->hosts, "blade");
	const char *words = "what, is not on record";

	for (gsize i = 0; i < G_N_ELEMENTS(beds); i++)
		if (g_strcmp0(virt_type, beds[i].virt_type) == 0)
			words = beds[i].words;
	return g_strdup_printf(
		"It ran on %s%s%s%s.", words, tally->hosts ? ", " : "", tally->hosts ? hosts : "",
		g_strcmp0(profile, "measured") == 0
			? "; execution times and energy were measured there beforehand"
			: "");
}

/* `judged`: what of it is judged, or "". */
static char *simulated_line(const char *title, const char *judged, const struct tally *tally)
{
	g_autofree char *runs = count_of(tally->runs, "run");
	g_autofree char *design = design_of(tally);
	g_autofree char *trials = count_of(tally->repeats, "workload");

	return g_strdup_printf("%s: %s of %s, %s of the same kind%s.", title, runs, design, trials,
			       judged);
}

/* What was measured, on what, and what was simulated. */
static void add_mixed(GPtrArray *lines, const struct compare_sides *sides,
		      const struct compare *compare)
{
	const struct summary *measured = sides->side[0].summary;
	const struct tally m = tally_of(measured);
	const struct tally s = tally_of(sides->side[1].summary);
	const char *judged = !compare                 ? ""
			     : compare->same_arrivals ? "; judged on the very arrivals that "
							"were measured"
						      : "; judged on their mean";

	g_ptr_array_add(lines, measured_line("Measured", &m));
	g_ptr_array_add(lines, bed_line(measured, &m));
	g_ptr_array_add(lines, simulated_line("Simulated", judged, &s));
}

/* A line for a side of two of a kind. */
static void add_alike(GPtrArray *lines, const struct compare_side *side)
{
	const struct tally tally = tally_of(side->summary);
	g_autofree char *title =
		g_strdup_printf("%s, %s", side->label,
				side->summary->measured ? "measured" : "simulated");
	g_autofree char *bed = NULL;
	g_autofree char *line = NULL;

	if (!side->summary->measured) {
		g_ptr_array_add(lines, simulated_line(title, "", &tally));
		return;
	}
	bed = bed_line(side->summary, &tally);
	line = measured_line(title, &tally);
	summary_add_line(lines, "%s %s", line, bed);
}

/* Rankings. */

/* A policy at a limit. */
struct rank {
	const char *policy;
	double value; /* the mean of the measure on the first side */
};

static int by_value(const void *left, const void *right, void *data)
{
	const struct rank *a = left, *b = right;
	const struct compare *compare = data;
	const int order = (a->value < b->value) - (a->value > b->value);

	return compare->measure == COMPARE_BY_STRETCH ? -order : order;
}

/* The policies that both sides ran, the best first. */
static GArray *ranking_of(const struct compare *compare, double limit)
{
	const struct summary *first = compare->sides->side[0].summary;
	GArray *ranking = g_array_new(FALSE, FALSE, sizeof(struct rank));

	for (guint i = 0; i < first->policies->len; i++) {
		const char *policy = g_ptr_array_index(first->policies, i);
		const struct summary_cell *cell = summary_cell(first, policy, limit);

		if (cell && summary_cell(compare->sides->side[1].summary, policy, limit)) {
			const struct rank rank = {policy,
						  compare_cell_value(compare->measure, cell)};

			g_array_append_val(ranking, rank);
		}
	}
	g_array_sort_with_data(ranking, by_value, (void *)compare);
	return ranking;
}

static const struct compare_pair *pair_of(const struct compare *compare, double limit,
					  const char *one, const char *other)
{
	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (summary_same_limit(pair->limit, limit) &&
		    ((g_str_equal(pair->first, one) && g_str_equal(pair->second, other)) ||
		     (g_str_equal(pair->first, other) && g_str_equal(pair->second, one))))
			return pair;
	}
	return NULL;
}

/* Whether the difference of two policies on the first side is clear. */
static bool is_clear(const struct compare *compare, double limit, const char *one,
		     const char *other)
{
	const struct compare_pair *pair = pair_of(compare, limit, one, other);

	return pair && stats_interval_sign(&pair->sides[0].interval) != STATS_SIGN_UNCLEAR;
}

/* The number of pairs of a limit by outcome. */
struct outcome {
	guint pairs, same, opposite;
};

static struct outcome outcome_of(const struct compare *compare, double limit)
{
	struct outcome outcome = {0};

	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (!summary_same_limit(pair->limit, limit))
			continue;
		outcome.pairs++;
		outcome.same += pair->order == COMPARE_SAME;
		outcome.opposite += pair->order == COMPARE_OPPOSITE;
	}
	return outcome;
}

static void append_ranking(GString *text, const struct compare *compare, double limit,
			   const GArray *ranking)
{
	const bool all = ranking->len <= POLICIES_SHOWN;

	for (guint i = 0; i < ranking->len; i++) {
		const struct rank *rank = &g_array_index(ranking, struct rank, i);
		const struct rank *before = i ? &g_array_index(ranking, struct rank, i - 1) : NULL;

		if (!all && i == POLICIES_SHOWN - 1)
			g_string_append_printf(text, ", ... %u more ...",
					       ranking->len - POLICIES_SHOWN);
		if (!all && i >= POLICIES_SHOWN - 1 && i + 1 < ranking->len)
			continue;
		if (!all && i + 1 == ranking->len)
			g_string_append(text, ", last");
		else if (before && !pair_of(compare, limit, before->policy, rank->policy))
			g_string_append_c(text, ',');
		else if (before)
			g_string_append(text, is_clear(compare, limit, before->policy, rank->policy)
						      ? " >"
						      : " ~");
		g_string_append_printf(text, "%s%s %.*f", i ? " " : "", rank->policy,
				       compare->measure == COMPARE_BY_STRETCH ? 2 : 1, rank->value);
	}
}

static char *limit_line(const struct compare *compare, double limit)
{
	g_autoptr(GArray) ranking = ranking_of(compare, limit);
	const struct outcome outcome = outcome_of(compare, limit);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "At %g %% of the energy, by %s: ", 100 * limit,
			       compare->measure == COMPARE_BY_STRETCH ? "stretch, the least first"
								      : "utility");
	append_ranking(text, compare, limit, ranking);
	if (compare->sides->mixed)
		g_string_append(text, ". Simulated alike");
	else
		g_string_append_printf(text, ". Alike in %s", compare->sides->side[1].label);
	g_string_append_printf(text, ": %u of %u pairs", outcome.same, outcome.pairs);
	if (outcome.opposite)
		g_string_append_printf(text, ", the other way round: %u", outcome.opposite);
	if (outcome.pairs > outcome.same + outcome.opposite)
		g_string_append_printf(text, ", too noisy to tell: %u",
				       outcome.pairs - outcome.same - outcome.opposite);
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

/* The limits at which both sides have two policies; double. */
static GArray *limits_of(const struct compare *compare)
{
	GArray *limits = g_array_new(FALSE, FALSE, sizeof(double));

	const GArray *all = compare->sides->side[0].summary->limits;

	for (guint i = 0; i < all->len; i++) {
		const double limit = g_array_index(all, double, i);

		if (outcome_of(compare, limit).pairs)
			g_array_append_val(limits, limit);
	}
	return limits;
}

static void add_limits(GPtrArray *lines, const struct compare *compare)
{
	g_autoptr(GArray) limits = limits_of(compare);
	const struct compare_side *sides = compare->sides->side;
	const guint most = LIMITS_SHOWN - !!sides[0].summary->verdict - !!sides[1].summary->verdict;
	const guint shown = limits->len <= most ? limits->len : most - 1;

	for (guint i = 0; i < shown; i++)
		g_ptr_array_add(lines, limit_line(compare, g_array_index(limits, double, i)));
	if (shown < limits->len)
		summary_add_line(lines, "And %u lower limits, which the whole comparison has.",
				 limits->len - shown);
}

/* The verdict. */

static char *verdict_line(const struct compare *compare)
{
	const struct compare_pair *pair = (const void *)compare->pairs->data;
	const char *a = compare->sides->side[0].words;
	const char *b = compare->sides->side[1].words;
	g_autofree char *advice = compare_advice(compare);
	g_autofree char *subject = g_strdup(b);

	*subject = compare->sides->mixed ? g_ascii_toupper(*subject) : *subject;
	while (compare->opposite && pair->order != COMPARE_OPPOSITE)
		pair++;
	switch (compare->verdict) {
	case COMPARE_AGREE:
		return g_strdup_printf(
			"Verdict: agree. %s ranks the policies as %s does "
			"in the %u pair%s that both can tell apart, and turns none round.",
			subject, a, compare->same, compare->same == 1 ? "" : "s");
	case COMPARE_DIFFER:
		return g_strdup_printf(
			"Verdict: differ. %s turns %s round, by more than chance: %s "
			"and %s at %g %%%s%s%s.",
			subject, compare->opposite == 1 ? "a pair" : "pairs", pair->first,
			pair->second, 100 * pair->limit,
			compare->opposite == 1 ? "" : ", and others", compare->because ? "; " : "",
			compare->because ?: "");
	case COMPARE_TOO_NOISY:
		break;
	}
	return g_strdup_printf("Verdict: too noisy. No pair is decided: these runs show neither "
			       "that %s ranks as %s does, nor that it does not%s%s.",
			       b, a, advice ? "; " : "", advice ?: "");
}

/* The basis in words: "95 % intervals from repeats". */
static char *basis_words(enum compare_basis basis)
{
	return basis == COMPARE_BASIS_NONE
		       ? g_strdup("no interval, as single runs tell of no noise")
	       : basis == COMPARE_BASIS_VERDICT
		       ? g_strdup("intervals that hold whenever the runs stop")
		       : g_strdup_printf("95 %% intervals from %s", compare_basis_name(basis));
}

/* The basis of the first pair that has one. */
static enum compare_basis basis_of(const struct compare *compare, guint side)
{
	enum compare_basis basis = COMPARE_BASIS_NONE;

	for (guint i = 0; i < compare->pairs->len && basis == COMPARE_BASIS_NONE; i++)
		basis = g_array_index(compare->pairs, struct compare_pair, i).sides[side].basis;
	return basis;
}

/* What the runs until a verdict took, and what the rest would; controls that differ. */
static void add_verdicts(GPtrArray *lines, const struct compare *compare)
{
	for (int i = 0; i < 2; i++) {
		const struct compare_side *side = &compare->sides->side[i];
		g_autofree char *cost = side->summary->verdict
						? anytime_verdict_cost(side->summary->verdict)
						: NULL;

		if (cost)
			summary_add_line(lines, "Until the verdict, %s: %s.%s", side->label, cost,
					 anytime_verdict_control_differs(side->summary->verdict)
						 ? " A CONTROL DIFFERS: trust none of it until it "
						   "is known why."
						 : "");
	}
}

static char *sure_line(const struct compare *compare)
{
	const guint decided = compare->same + compare->opposite;
	const struct compare_side *sides = compare->sides->side;
	g_autofree char *a = basis_words(basis_of(compare, 0));
	g_autofree char *b = basis_words(basis_of(compare, 1));

	return g_strdup_printf("How sure: %u of %u pairs are decided (%s: %s; %s: %s). > stands "
			       "where %s tells two apart, ~ where it does not.",
			       decided, compare->pairs->len, sides[0].label, a, sides[1].label, b,
			       sides[0].words);
}

/* The limitations. */

static bool has_meta(const struct summary *summary, const char *key, const char *value)
{
	g_autofree char *text = store_get_meta(summary->store, key);

	return g_strcmp0(text, value) == 0;
}

/* Adds what is not real hardware. */
static void add_unreal(GPtrArray *list, const struct summary *measured)
{
	static const struct {
		const char *key, *value, *words;
	} facts[] = {
		{"virt_type", "qemu", "emulated CPUs"},
		{"virt_type", "simulated", "no virtual machine ran"},
		{"virt_type", "mixed", "CPUs in part emulated or simulated"},
		{"cpu_cap", "quota", "CPU quotas in place of P-states"},
		{"cpu_cap", "mixed", "CPU quotas in place of some P-states"},
		{"caps_effective", "no", "caps that did nothing on a host"},
		{"meter", "rapl", "watts of CPU packages alone"},
		{"meter", "amm", "watts that are allotted to a bay"},
	};
	g_autofree char *mean_s = store_get_meta(measured->store, "meter_mean_s");
	g_autofree char *unknown = store_get_meta(measured->store, "meter_mean_unknown");
	g_autofree char *mean = provenance_words_of_mean(mean_s, unknown);

	for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
		if (has_meta(measured, facts[i].key, facts[i].value))
			g_ptr_array_add(list, g_strdup(facts[i].words));
	if (has_meta(measured, "modelled_watts", "true"))
		g_ptr_array_add(list, g_strdup(has_meta(measured, "meter", "simulated")
						       ? "simulated watts"
						       : "modelled watts"));
	if (mean)
		g_ptr_array_add(list, g_steal_pointer(&mean));
}

/* The number of lines of a fact. */
static guint count_lines(const struct summary *summary, const char *key)
{
	g_autofree char *text = store_get_meta(summary->store, key);
	g_auto(GStrv) lines = text && *text ? g_strsplit(g_strchomp(text), "\n", -1) : NULL;

	return lines ? g_strv_length(lines) : 0;
}

/* Adds what could not be measured, and what was measured while the machine's speed changed. */
static void add_troubles(GPtrArray *list, const struct summary *measured)
{
	const guint holes = count_lines(measured, "unmeasured");
	const guint changes = count_lines(measured, "speed_changes");
	g_autofree char *pairs = count_of(holes, "pair");
	g_autofree char *runs = count_of(measured->runs->len, "run");

	if (holes)
		summary_add_line(list, "%s of type and cluster could not be measured", pairs);
	if (changes)
		summary_add_line(list, "the machine changed its speed in %u of %s", changes, runs);
}

/* Adds doubts about noise and too few repeats or pairs. */
static void add_doubts(GPtrArray *list, const struct summary *measured, const GArray *accuracies)
{
	const struct accuracy *all =
		accuracies ? &g_array_index(accuracies, struct accuracy, accuracies->len - 1)
			   : NULL;
	g_autofree char *left_out = count_of(measured->left_out, "run");

	/* The intervals of a verdict tell of few repeats. */
	if (measured->repeats < 2 && !measured->verdict)
		g_ptr_array_add(list, g_strdup("one run of each, which cannot tell its own noise"));
	else if (measured->repeats < REPEATS_ENOUGH && !measured->verdict)
		summary_add_line(list, "few repeats (%u)", measured->repeats);
	if (all && isfinite(all->median_error))
		summary_add_line(list, "execution times off their estimates by %.1f %% (median)",
				 100 * all->median_error);
	if (measured->gap_s > 0)
		summary_add_line(list, "%.0f s without samples of a meter", measured->gap_s);
	if (measured->left_out)
		summary_add_line(list, "%s that did not end well, left out", left_out);
}

/* The limitations of a side. */
static GPtrArray *limitations_of(const struct summary *summary, const GArray *accuracies)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	if (summary->measured) {
		add_unreal(list, summary);
		add_troubles(list, summary);
		plugins_add_lines(summary, list);
	}
	add_doubts(list, summary, accuracies);
	return list;
}

/* Adds those of two sides of a kind, with the side's label where it is of one side only. */
static void add_both(GPtrArray *list, const struct compare_sides *sides,
		     GPtrArray *const limitations[2])
{
	for (int i = 0; i < 2; i++) {
		for (guint k = 0; k < limitations[i]->len; k++) {
			const char *one = g_ptr_array_index(limitations[i], k);
			const bool common =
				g_ptr_array_find_with_equal_func(limitations[1 - i], one,
								 g_str_equal, NULL);

			if (!common)
				summary_add_line(list, "%s: %s", sides->side[i].label, one);
			else if (i == 0)
				g_ptr_array_add(list, g_strdup(one));
		}
	}
}

/* A simulation beside a measurement adds none of its own. */
static GPtrArray *limitations(const struct compare_sides *sides, const struct compare *compare)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *missing = compare ? count_of(compare->missing->len, "combination") : NULL;
	GPtrArray *of[2];

	for (int i = 0; i < 2; i++)
		of[i] = limitations_of(sides->side[i].summary,
				       compare ? compare->accuracies[i] : NULL);
	if (!sides->mixed && !sides->side[0].summary->measured)
		g_ptr_array_add(list, g_strdup("nothing was measured"));
	if (sides->mixed)
		g_ptr_array_extend(list, of[0], (GCopyFunc)(void *)g_strdup, NULL);
	else
		add_both(list, sides, of);
	if (compare && !sides->mixed && !compare->equal_arrivals)
		g_ptr_array_add(list, g_strdup("the two had other arrivals"));
	if (compare && compare->missing->len)
		summary_add_line(list, "%s of policy and limit on one side alone", missing);
	for (int i = 0; i < 2; i++)
		g_ptr_array_unref(of[i]);
	return list;
}

static char *limitations_line(const struct compare_sides *sides, const struct compare *compare)
{
	g_autoptr(GPtrArray) list = limitations(sides, compare);
	g_autofree char *text = NULL;

	if (list->len == 0)
		return g_strdup("What limits it: nothing that is on record.");
	g_ptr_array_add(list, NULL);
	text = g_strjoinv("; ", (char **)list->pdata);
	return g_strdup_printf("What limits it: %s.", text);
}

/* The lines. */

GPtrArray *compare_brief_lines(const struct compare_sides *sides, const struct compare *compare)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

	if (sides->mixed)
		add_mixed(lines, sides, compare);
	for (int i = 0; !sides->mixed && i < 2; i++)
		add_alike(lines, &sides->side[i]);
	if (compare) {
		add_limits(lines, compare);
		g_ptr_array_add(lines, verdict_line(compare));
		g_ptr_array_add(lines, sure_line(compare));
		add_verdicts(lines, compare);
	} else {
		g_ptr_array_add(
			lines,
			g_strdup("Verdict: none. There is no limit at which both ran the same two "
				 "policies."));
	}
	g_ptr_array_add(lines, limitations_line(sides, compare));
	return lines;
}

static json_t *tally_json(const struct summary *summary)
{
	const struct tally tally = tally_of(summary);
	g_autofree char *virt_type = store_get_meta(summary->store, "virt_type");
	json_t *object = record_to_json(&tally_record, &tally);

	json_object_set_new(object, "virt_type", json_string_or_null(virt_type));
	return object;
}

static json_t *ranking_json(const struct compare *compare, double limit)
{
	g_autoptr(GArray) ranking = ranking_of(compare, limit);
	const struct outcome outcome = outcome_of(compare, limit);
	json_t *list = json_array();

	for (guint i = 0; i < ranking->len; i++) {
		const struct rank *rank = &g_array_index(ranking, struct rank, i);
		const struct rank *next =
			i + 1 < ranking->len ? &g_array_index(ranking, struct rank, i + 1) : NULL;

		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:b}", "policy", rank->policy,
						compare_measure_name(compare->measure),
						json_number_or_null(rank->value), "clear_of_next",
						next && is_clear(compare, limit, rank->policy,
								 next->policy)));
	}
	return json_pack("{s:f, s:o, s:i, s:i, s:i}", "limit", limit, "order", list, "pairs",
			 (int)outcome.pairs, "pairs_same", (int)outcome.same, "pairs_opposite",
			 (int)outcome.opposite);
}

json_t *compare_brief_json(const struct compare_sides *sides, const struct compare *compare)
{
	const struct compare_side *side = sides->side;
	g_autoptr(GPtrArray) lines = compare_brief_lines(sides, compare);
	g_autoptr(GPtrArray) list = limitations(sides, compare);
	g_autoptr(GArray) limits = compare ? limits_of(compare) : NULL;
	json_t *rankings = json_array();

	for (guint i = 0; limits && i < limits->len; i++)
		json_array_append_new(rankings,
				      ranking_json(compare, g_array_index(limits, double, i)));
	return json_pack("{s:s?, s:s?, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "verdict",
			 compare ? compare_verdict_name(compare->verdict) : NULL, "ranked_by",
			 compare ? compare_measure_name(compare->measure) : NULL, "pairs",
			 compare ? (int)compare->pairs->len : 0, "pairs_decided",
			 compare ? (int)(compare->same + compare->opposite) : 0, side[0].key,
			 tally_json(side[0].summary), side[1].key, tally_json(side[1].summary),
			 "rankings", rankings, "limited_by", summary_texts_json(list), "lines",
			 summary_texts_json(lines));
}
