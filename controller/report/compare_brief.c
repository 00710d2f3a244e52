/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/compare_brief.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/accuracy.h"
#include "controller/report/provenance.h"

/* The most limits with a line of their own; the other lines of the ten are taken. */
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

static char *measured_line(const struct summary *measured, const struct tally *tally)
{
	g_autofree char *runs = count_of(tally->runs, "run");
	g_autofree char *design = design_of(tally);
	g_autofree char *types = count_of(tally->types, "type");
	g_autofree char *clusters = count_of(tally->clusters, "cluster");
	g_autofree char *cells = tally->types && tally->clusters
					 ? g_strdup_printf(", of %s on %s", types, clusters)
					 : g_strdup("");

	return g_strdup_printf("Measured: %s of %s; %u of %u tasks completed%s.", runs, design,
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

static char *simulated_line(const struct summary *simulated, const struct compare *compare,
			    const struct tally *tally)
{
	g_autofree char *runs = count_of(tally->runs, "run");
	g_autofree char *design = design_of(tally);
	g_autofree char *trials = count_of(simulated->repeats, "workload");

	return g_strdup_printf("Simulated: %s of %s, %s of the same kind%s.", runs, design, trials,
			       !compare ? ""
			       : compare->same_arrivals
				       ? "; judged on the very arrivals that were measured"
				       : "; judged on their mean");
}

/* Rankings. */

/* A policy at a limit. */
struct rank {
	const char *policy;
	double value; /* the measured value of the measure */
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
	GArray *ranking = g_array_new(FALSE, FALSE, sizeof(struct rank));

	for (guint i = 0; i < compare->measured->policies->len; i++) {
		const char *policy = g_ptr_array_index(compare->measured->policies, i);
		const struct summary_cell *cell = summary_cell(compare->measured, policy, limit);

		if (cell && summary_cell(compare->simulated, policy, limit)) {
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

/* Whether the measured difference of two policies is clear. */
static bool is_clear(const struct compare *compare, double limit, const char *one,
		     const char *other)
{
	const struct compare_pair *pair = pair_of(compare, limit, one, other);

	return pair && stats_interval_sign(&pair->measured.interval) != STATS_SIGN_UNCLEAR;
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
	g_string_append_printf(text, ". Simulated alike: %u of %u pairs", outcome.same,
			       outcome.pairs);
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

	for (guint i = 0; i < compare->measured->limits->len; i++) {
		const double limit = g_array_index(compare->measured->limits, double, i);

		if (outcome_of(compare, limit).pairs)
			g_array_append_val(limits, limit);
	}
	return limits;
}

static void add_limits(GPtrArray *lines, const struct compare *compare)
{
	g_autoptr(GArray) limits = limits_of(compare);
	const guint shown = limits->len <= LIMITS_SHOWN ? limits->len : LIMITS_SHOWN - 1;

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

	while (compare->opposite && pair->order != COMPARE_OPPOSITE)
		pair++;
	switch (compare->verdict) {
	case COMPARE_AGREE:
		return g_strdup_printf(
			"Verdict: agree. The simulation ranks the policies as the measurement does "
			"in the %u pair%s that both can tell apart, and turns none round.",
			compare->same, compare->same == 1 ? "" : "s");
	case COMPARE_DIFFER:
		return g_strdup_printf(
			"Verdict: differ. The simulation turns %s round, by more than chance: %s "
			"and %s at %g %%%s.",
			compare->opposite == 1 ? "a pair" : "pairs", pair->first, pair->second,
			100 * pair->limit, compare->opposite == 1 ? "" : ", and others");
	case COMPARE_TOO_NOISY:
		break;
	}
	return g_strdup("Verdict: too noisy. No pair is decided: these runs show neither that the "
			"simulation ranks as the measurement does, nor that it does not.");
}

/* The basis in words: "95 % intervals from repeats". */
static char *basis_words(enum compare_basis basis)
{
	return basis == COMPARE_BASIS_NONE
		       ? g_strdup("no interval, as single runs tell of no noise")
		       : g_strdup_printf("95 %% intervals from %s", compare_basis_name(basis));
}

static char *sure_line(const struct compare *compare)
{
	const struct compare_pair *one = &g_array_index(compare->pairs, struct compare_pair, 0);
	const guint decided = compare->same + compare->opposite;
	g_autofree char *measured = basis_words(one->measured.basis);
	g_autofree char *simulated = basis_words(one->simulated.basis);

	return g_strdup_printf(
		"How sure: %u of %u pairs are decided (measured: %s; simulated: %s). > stands "
		"where the measurement tells two apart, ~ where it does not.",
		decided, compare->pairs->len, measured, simulated);
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
	};
	g_autofree char *mean_s = store_get_meta(measured->store, "meter_mean_s");
	g_autofree char *mean = provenance_words_of_mean(mean_s);

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
static void add_doubts(GPtrArray *list, const struct summary *measured,
		       const struct compare *compare)
{
	const struct accuracy *all = compare ? &g_array_index(compare->accuracies, struct accuracy,
							      compare->accuracies->len - 1)
					     : NULL;
	g_autofree char *missing = compare ? count_of(compare->missing->len, "combination") : NULL;
	g_autofree char *left_out = count_of(measured->left_out, "run");

	if (measured->repeats < 2)
		g_ptr_array_add(list, g_strdup("one run of each, which cannot tell its own noise"));
	else if (measured->repeats < REPEATS_ENOUGH)
		summary_add_line(list, "few repeats (%u)", measured->repeats);
	if (all && isfinite(all->median_error))
		summary_add_line(list, "execution times off their estimates by %.1f %% (median)",
				 100 * all->median_error);
	if (measured->gap_s > 0)
		summary_add_line(list, "%.0f s without samples of a meter", measured->gap_s);
	if (measured->left_out)
		summary_add_line(list, "%s that did not end well, left out", left_out);
	if (compare && compare->missing->len)
		summary_add_line(list, "%s of policy and limit on one side alone", missing);
}

static GPtrArray *limitations(const struct summary *measured, const struct compare *compare)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	add_unreal(list, measured);
	add_troubles(list, measured);
	add_doubts(list, measured, compare);
	return list;
}

static char *limitations_line(const struct summary *measured, const struct compare *compare)
{
	g_autoptr(GPtrArray) list = limitations(measured, compare);
	g_autofree char *text = NULL;

	if (list->len == 0)
		return g_strdup("What limits it: nothing that is on record.");
	g_ptr_array_add(list, NULL);
	text = g_strjoinv("; ", (char **)list->pdata);
	return g_strdup_printf("What limits it: %s.", text);
}

/* The lines. */

GPtrArray *compare_brief_lines(const struct summary *measured, const struct summary *simulated,
			       const struct compare *compare)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	const struct tally m = tally_of(measured);
	const struct tally s = tally_of(simulated);

	g_ptr_array_add(lines, measured_line(measured, &m));
	g_ptr_array_add(lines, bed_line(measured, &m));
	g_ptr_array_add(lines, simulated_line(simulated, compare, &s));
	if (compare) {
		add_limits(lines, compare);
		g_ptr_array_add(lines, verdict_line(compare));
		g_ptr_array_add(lines, sure_line(compare));
	} else {
		g_ptr_array_add(
			lines,
			g_strdup("Verdict: none. There is no limit at which both ran the same two "
				 "policies."));
	}
	g_ptr_array_add(lines, limitations_line(measured, compare));
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

json_t *compare_brief_json(const struct summary *measured, const struct summary *simulated,
			   const struct compare *compare)
{
	g_autoptr(GPtrArray) lines = compare_brief_lines(measured, simulated, compare);
	g_autoptr(GPtrArray) list = limitations(measured, compare);
	g_autoptr(GArray) limits = compare ? limits_of(compare) : NULL;
	json_t *rankings = json_array();

	for (guint i = 0; limits && i < limits->len; i++)
		json_array_append_new(rankings,
				      ranking_json(compare, g_array_index(limits, double, i)));
	return json_pack("{s:s?, s:s?, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "verdict",
			 compare ? compare_verdict_name(compare->verdict) : NULL, "ranked_by",
			 compare ? compare_measure_name(compare->measure) : NULL, "pairs",
			 compare ? (int)compare->pairs->len : 0, "pairs_decided",
			 compare ? (int)(compare->same + compare->opposite) : 0, "measured",
			 tally_json(measured), "simulated", tally_json(simulated), "rankings",
			 rankings, "limited_by", summary_texts_json(list), "lines",
			 summary_texts_json(lines));
}
