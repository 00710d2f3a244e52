/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_prepare.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "common/config/config_files.h"
#include "common/duplicates.h"
#include "common/guest_image.h"
#include "common/http_listener.h"
#include "common/machine_room.h"
#include "common/peer_tls.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_holes.h"
#include "controller/config/config_verdict.h"
#include "controller/experiment/experiment.h"
#include "controller/plugin/plugin.h"
#include "controller/plugin/plugin_reach.h"
#include "controller/run/run_finished.h"
#include "controller/run/run_meters.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_tls.h"
#include "controller/store/store.h"
#include "controller/supervise/run_prepare_service.h"
#include "controller/verdict/verdict_plan.h"

/* Checks. */

/*
 * Whether the programs of policies from outside are there, where the user of the sandbox gets to
 * them; the controller starts them.
 */
static bool find_programs(const char *const *names, const struct config *config, GError **error)
{
	struct policy policy;

	for (; *names; names++)
		if (policy_parse(*names, &policy, NULL, 0) == 0 &&
		    (!plugin_find(&policy, error) || !plugin_reach_check(&policy, config, error)))
			return false;
	return true;
}

static bool check_policies(const struct run_request *request, const struct run_prepared *prepared,
			   GError **error)
{
	const char *const *policies = (const char *const *)prepared->plan->policies;
	g_autoptr(GError) reason = NULL;

	if (experiment_check_policies(prepared->config, policies, &reason) &&
	    find_programs(policies, prepared->config, &reason))
		return true;
	if (request->policies)
		return run_refuse(error, "--policy: %s", reason->message);
	return run_refuse(error, "%s: %s: %s",
			  request->resume ? prepared->dir : request->config_path,
			  request->resume ? "the policies planned" : "experiment.policies",
			  reason->message);
}

static bool check_limits(const struct run_plan *plan, GError **error)
{
	uint32_t repeated;

	if (!plan->limits_count)
		return run_refuse(error, "no limits; give some in experiment.limits or --limit");
	for (uint32_t i = 0; i < plan->limits_count; i++)
		if (!(plan->limits[i] > 0 && plan->limits[i] <= 1))
			return run_refuse(error, "--limit: %g is not a fraction in (0, 1]",
					  plan->limits[i]);
	repeated = duplicate_fraction(plan->limits, plan->limits_count);
	return repeated == plan->limits_count ||
	       run_refuse(error, "the limit %g is given twice; name each once",
			  plan->limits[repeated]);
}

static bool check_config(const struct config *config, const char *path, GError **error)
{
	if (!config->workload || !config->experiment)
		return run_refuse(error, "%s: workload and experiment are needed for a run", path);
	if (config_environment(config) && !config_environment(config)->pruning)
		return run_refuse(error, "%s: an environment can only be simulated", path);
	if (config_environment(config) && !config->types_count)
		return run_refuse(
			error,
			"%s: environment.pruning without types can only be simulated; give the "
			"types that VMs are to run",
			path);
	if (config->lab && config->lab->overcommit)
		return run_refuse(
			error,
			"%s: lab.overcommit: yes is for tests of what works; nothing can be "
			"measured on blades that slow one another down",
			path);
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		g_autofree char *wrong = config_cluster_check_served(config, i);

		if (wrong)
			return run_refuse(error, "%s: %s", path, wrong);
		if (!config->clusters[i].hosts_count && !config->clusters[i].local_scheduler)
			return run_refuse(error,
					  "%s: clusters[%u] ('%s') has no hosts: it can only be "
					  "simulated; add hosts",
					  path, i, config->clusters[i].name);
	}
	return true;
}

/*
 * With the whole budget, a run without meters is ended by time; a lower limit could not be
 * enforced.
 */
static bool check_meters(const struct run_plan *plan, const struct config *config, const char *path,
			 GError **error)
{
	g_autofree char *missing = run_meters_missing(config);

	for (uint32_t i = 0; missing && i < plan->limits_count; i++)
		if (plan->limits[i] < 1)
			return run_refuse(
				error,
				"%s: %s: an energy limit of %g could never be reached; add "
				"meter: to the host, or run with --limit 1 alone",
				path, missing, plan->limits[i]);
	return true;
}

/* Checks the files of local schedulers that are started here; others have their own. */
static bool check_files(const struct config *config, const char *path, GError **error)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (!config->clusters[i].local_scheduler &&
		    !config_files_check(config, path, i, error))
			return false;
	return true;
}

/* Checks the certificates for local schedulers on other machines, if there are any. */
static bool check_peers(const struct config *config, const char *path, GError **error)
{
	g_autoptr(GError) reason = NULL;

	for (uint32_t i = 0; i < config->clusters_count; i++) {
		const char *address = config->clusters[i].local_scheduler;

		if (address && g_str_has_prefix(address, "https:"))
			return peer_tls_check(config->tls, &reason) ||
			       run_refuse(error, "%s: tls: %s", path, reason->message);
	}
	return true;
}

/*
 * Every pair that fits needs an estimate, or must be marked as not measured; policies cannot decide
 * otherwise.
 */
static bool check_estimates(const struct config *config, const char *path, bool serve,
			    GError **error)
{
	g_autofree char *lacks = NULL;
	double etc_s;
	double eec_j;

	if (config_environment(config))
		return true; /* it has execution times, or it would not have been read */
	for (uint32_t i = 0; i < config->types_count; i++) {
		for (uint32_t j = 0; j < config->clusters_count; j++) {
			const struct config_type *type = &config->types[i];
			const struct config_cluster *cluster = &config->clusters[j];

			if (!config_type_fits(type, cluster) ||
			    config_is_hole(config, type, cluster) ||
			    config_expectation(config, type, cluster, &etc_s, &eec_j))
				continue;
			return run_refuse(error,
					  "%s: there is no estimate for type '%s' on cluster '%s'; "
					  "measure them first: virtbed profile %s --out FILE, then "
					  "--estimates FILE%s",
					  path, type->name, cluster->name, path,
					  serve ? "" : "; or add --profile");
		}
	}
	lacks = config_lacks(config);
	return !lacks ||
	       run_refuse(error,
			  "%s: %s: give another deadline (experiment.task_deadline_s) and measure "
			  "again, or the type a share of 0",
			  path, lacks);
}

/* The run directory. */

static bool choose_dir(const struct run_request *request, const char *name, char **ret_dir,
		       GError **error)
{
	g_autofree char *chosen = g_strdup(request->out);
	g_autofree char *store = NULL;

	if (!chosen && request->resume)
		chosen = run_paths_latest_dir(name);
	else if (!chosen)
		chosen = run_paths_new_dir(name);
	if (!chosen)
		return run_refuse(
			error, "--resume: there is no run of '%s' under runs/; name it with --out",
			name);
	*ret_dir = g_canonicalize_filename(chosen, NULL);
	store = g_build_filename(*ret_dir, STORE_FILE, NULL);
	if (request->resume || !g_file_test(store, G_FILE_TEST_EXISTS))
		return true;
	return run_refuse(error,
			  "%s holds a run already; add --resume to continue it, or name another "
			  "directory with --out",
			  *ret_dir);
}

static bool make_dirs(const struct run_prepared *prepared, GError **error)
{
	static const char *const parts[] = {"logs", "state"};

	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *path = g_build_filename(prepared->dir, parts[i], NULL);

		if (g_mkdir_with_parents(path, 0755) < 0)
			return error_fail(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
					  "cannot make directory '%s': %s", path,
					  g_strerror(errno));
	}
	return true;
}

/* The plan. */

static double *copy_doubles(const double *values, uint32_t count)
{
	return g_memdup2(values, sizeof(*values) * count);
}

static char **copy_names(char *const *names, uint32_t count)
{
	char **copy = g_new0(char *, count + 1);

	for (uint32_t i = 0; i < count; i++)
		copy[i] = g_strdup(names[i]);
	return copy;
}

/* The repeats of the full design of a verdict. */
static uint32_t verdict_repeats(const struct config *config)
{
	const struct config_verdict *verdict = config_verdict(config);

	return verdict ? verdict->repeats : CONFIG_VERDICT_REPEATS;
}

static struct run_plan *new_plan(const struct run_request *request, const struct config *config)
{
	const struct config_experiment *experiment = config->experiment;
	struct run_plan *plan = g_new0(struct run_plan, 1);

	plan->experiment = run_plan_experiment_id(config);
	plan->listen = g_strdup(request->listen);
	plan->profile = request->profile || config_wants_pet(config);
	plan->run = request->run;
	plan->profile_repeats = request->profile_repeats ?: experiment->profile_repeats;
	plan->repeats = request->repeats         ? request->repeats
			: request->until_verdict ? verdict_repeats(config)
						 : experiment->repeats;
	plan->until_verdict = request->until_verdict;
	plan->most_h = request->most_h;
	plan->estimates = g_strdup(plan->profile ? "measured" : request->estimates ?: "given");
	plan->policies = request->policies
				 ? g_strdupv(request->policies)
				 : copy_names(experiment->policies, experiment->policies_count);
	plan->limits_count = request->limits_count ?: experiment->limits_count;
	plan->limits = request->limits_count
			       ? copy_doubles(request->limits, request->limits_count)
			       : copy_doubles(experiment->limits, experiment->limits_count);
	return plan;
}

/* Whether a run is one of these policies under a limit of the plan, and was not lost. */
static bool is_planned(const struct run_plan *plan, char *const *policies,
		       const struct store_run *row)
{
	if (!g_strv_contains((const char *const *)policies, row->policy) ||
	    g_strcmp0(row->ended_by, "aborted") == 0)
		return false;
	for (uint32_t i = 0; i < plan->limits_count; i++)
		if (fabs(plan->limits[i] - row->limit) < 1e-9)
			return true;
	return false;
}

/* What was run cannot be taken back: reports and comparisons are over all repeats on record. */
static bool check_repeats(const struct run_plan *plan, const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, STORE_FILE, NULL);
	g_auto(GStrv) policies = run_policy_names(plan->policies);
	const struct store_run *last = NULL;
	g_autoptr(store_t) store = NULL;
	g_autoptr(GPtrArray) runs = NULL;

	if (access(path, F_OK) < 0)
		return true;
	store = store_open(dir, false, error);
	runs = store ? store_runs(store, error) : NULL;
	for (guint i = 0; runs && i < runs->len; i++) {
		const struct store_run *row = runs->pdata[i];

		if (is_planned(plan, policies, row) && (!last || row->repeat > last->repeat))
			last = row;
	}
	if (!last || last->repeat <= plan->repeats)
		return runs != NULL;
	return run_refuse(error,
			  "--repeat %u: %s has repeat %u of %s at %g %% already, which reports "
			  "include; give at least %u, or another --out",
			  plan->repeats, dir, last->repeat, last->policy, 100 * last->limit,
			  last->repeat);
}

/* A resumed plan keeps what was planned; the request can add to it. */
static struct run_plan *resumed_plan(const struct run_request *request, const char *dir,
				     GError **error)
{
	g_autoptr(run_plan_t) plan = run_plan_load(dir, error);

	if (!plan)
		return NULL;
	if (request->policies) {
		g_strfreev(plan->policies);
		plan->policies = g_strdupv(request->policies);
	} else if (!run_plan_rename(plan, dir, error)) {
		return NULL;
	}
	if (request->limits_count) {
		g_free(plan->limits);
		plan->limits = copy_doubles(request->limits, request->limits_count);
		plan->limits_count = request->limits_count;
	}
	plan->repeats = request->repeats ?: plan->repeats;
	if (request->repeats && !check_repeats(plan, dir, error))
		return NULL;
	if (request->until_verdict && !plan->until_verdict) {
		run_refuse(error,
			   "%s: its runs were not chosen until a verdict from the first one on, so "
			   "that no verdict of that kind can rest on them; start another run, with "
			   "another --out",
			   dir);
		return NULL;
	}
	plan->most_h = request->until_verdict ? request->most_h : plan->most_h;
	plan->run = request->run;
	plan->profile = plan->profile || request->profile;
	g_clear_pointer(&plan->schedulers, g_strfreev);
	g_clear_pointer(&plan->api, g_free);
	g_clear_pointer(&plan->listen, g_free);
	plan->listen = g_strdup(request->listen);
	return g_steal_pointer(&plan);
}

static void set_addresses(struct run_prepared *prepared)
{
	const struct config *config = prepared->config;
	struct run_plan *plan = prepared->plan;

	if (!plan->api)
		plan->api = g_strdup_printf("unix:%s/controller.sock", prepared->socket_dir);
	plan->schedulers = g_new0(char *, config->clusters_count + 1);
	for (uint32_t i = 0; i < config->clusters_count; i++)
		plan->schedulers[i] =
			config->clusters[i].local_scheduler
				? g_strdup(config->clusters[i].local_scheduler)
				: g_strdup_printf("unix:%s/ls-%u.sock", prepared->socket_dir, i);
}

/* Estimates that the run measures anyway are not silently replaced by those of a file. */
static bool check_sources(const struct run_request *request, const struct config *config,
			  GError **error)
{
	if (request->profile)
		return run_refuse(error,
				  "--estimates and --profile exclude each other: a run uses those "
				  "of the file, or measures its own");
	return !config_wants_pet(config) ||
	       run_refuse(
		       error,
		       "--estimates: %s has no execution times (PET), so the run measures them, and "
		       "its estimates; to use measured ones, name them: `pet: FILE` in "
		       "environment.pruning",
		       request->config_path);
}

/* Runs of one directory have one workload. */
static bool check_tasks(const struct config *config, const struct config *before, const char *dir,
			GError **error)
{
	g_autofree char *tasks = config_workload_digest(config->workload);
	g_autofree char *former =
		before->workload ? config_workload_digest(before->workload) : NULL;

	g_autofree char *users = config_workload_users_digest(config);
	g_autofree char *former_users = config_workload_users_digest(before);

	if (g_strcmp0(tasks, former) != 0)
		return run_refuse(
			error,
			"--resume: the runs in %s have other tasks than workload.arrivals or "
			"workload.list gives; name another directory with --out",
			dir);
	return g_strcmp0(users, former_users) == 0 ||
	       run_refuse(error,
			  "--resume: the runs in %s have other users than workload.users and "
			  "what belongs to it give; name another directory with --out",
			  dir);
}

/* A resumed run keeps the estimates that it began with. */
static bool load_config(const struct run_request *request, struct run_prepared *prepared,
			GError **error)
{
	prepared->config = config_controller_load(request->config_path, error);
	if (!prepared->config || !check_config(prepared->config, request->config_path, error))
		return false;
	if (request->serve)
		return run_prepare_service(request, prepared, error);
	if (!choose_dir(request, prepared->config->name, &prepared->dir, error))
		return false;
	if (request->resume) {
		g_autofree char *path = g_build_filename(prepared->dir, "config.yaml", NULL);
		g_autoptr(config_t) before = config_controller_load(path, error);

		if (!before || !check_tasks(prepared->config, before, prepared->dir, error))
			return false;
		if (!before->estimates_count && !before->unmeasured_count)
			return true;
		return config_load_estimates(prepared->config, path, error);
	}
	return !request->estimates ||
	       (check_sources(request, prepared->config, error) &&
		config_load_estimates(prepared->config, request->estimates, error));
}

static void default_image(struct config *config)
{
	g_autofree char *image = guest_image_find(config->image);

	g_free(config->image);
	config->image = image ? g_canonicalize_filename(image, NULL) : NULL;
}

/*
 * Checks the address before any process is started, by listening there for a moment. `what` names
 * the option or key.
 */
static bool check_listen(const char *what, const char *address, const struct config *config,
			 GError **error)
{
	g_autoptr(http_listener_t) listener = NULL;
	g_autoptr(GError) reason = NULL;
	struct http_tls tls;

	if (!address)
		return true;
	listener = http_listener_new(&platform_machine, address, run_tls(address, config, &tls),
				     NULL, NULL, &reason);
	return listener || run_refuse(error, "%s: %s", what, reason->message);
}

/* Whether an address may be usable for the user that serves, or when missing files exist. */
static bool is_for_later(const GError *reason, const struct http_tls *tls)
{
	const char *const files[] = {tls ? tls->key : NULL, tls ? tls->certificate : NULL,
				     tls ? tls->client_ca : NULL};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] && access(files[i], R_OK) < 0 && errno == EACCES)
			return true;
	return g_error_matches(reason, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED) ||
	       g_error_matches(reason, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
}

/*
 * Judges the certificates for local schedulers on other machines, whose files may be readable by
 * another user only.
 */
static enum run_prepare_verdict judge_peers(const struct config *config, const char *path,
					    GError **ret_why)
{
	const struct config_tls *tls = config->tls;
	const struct http_tls files = {.certificate = tls ? tls->certificate : NULL,
				       .key = tls ? tls->key : NULL,
				       .client_ca = tls ? tls->ca : NULL};

	if (check_peers(config, path, ret_why))
		return RUN_PREPARE_TAKEN;
	if (!is_for_later(NULL, &files))
		return RUN_PREPARE_REFUSED;
	g_prefix_error(ret_why, "check it as the user that runs it: ");
	return RUN_PREPARE_LACKS;
}

/*
 * Judges service.listen: the service that listens there may be this one, and another user may
 * serve.
 */
static enum run_prepare_verdict judge_listen(const struct config *config, const char *path,
					     GError **ret_why)
{
	const struct config_service service = config_service_of(config);
	g_autofree char *trouble = run_prepare_service_group_trouble(config);
	g_autoptr(http_listener_t) listener = NULL;
	g_autoptr(GError) reason = NULL;
	const struct http_tls *speaks;
	struct http_tls tls;

	if (trouble) {
		run_refuse(ret_why, "%s: %s", path, trouble);
		return RUN_PREPARE_LACKS;
	}
	if (!service.listen)
		return RUN_PREPARE_TAKEN;
	speaks = run_tls(service.listen, config, &tls);
	listener =
		http_listener_new(&platform_machine, service.listen, speaks, NULL, NULL, &reason);
	if (listener || g_error_matches(reason, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
		return RUN_PREPARE_TAKEN;
	if (is_for_later(reason, speaks)) {
		run_refuse(ret_why, "%s: service.listen: %s; check it as the user that serves",
			   path, reason->message);
		return RUN_PREPARE_LACKS;
	}
	run_refuse(ret_why, "%s: service.listen: %s", path, reason->message);
	return RUN_PREPARE_REFUSED;
}

/* The pairs that are on record in the run directory; NULL: none, or with `error`. */
static struct verdict_plan *recorded_verdict(const char *dir, GError **error)
{
	g_autofree char *path = dir ? g_build_filename(dir, STORE_FILE, NULL) : NULL;
	g_autoptr(store_t) store = NULL;

	if (!path || !g_file_test(path, G_FILE_TEST_EXISTS))
		return NULL;
	store = store_open(dir, false, error);
	return store ? verdict_plan_load(store, error) : NULL;
}

/* Whether the pairs that are to be decided are run, and are those on record. */
static bool check_verdict(const struct run_prepared *prepared, const char *path, GError **error)
{
	const struct run_plan *plan = prepared->plan;
	g_auto(GStrv) names = run_policy_names(plan->policies);
	const struct verdict_policies policies = {
		.written = (const char *const *)plan->policies,
		.names = (const char *const *)names,
		.count = g_strv_length(plan->policies),
		.limits = plan->limits,
		.limits_count = plan->limits_count,
	};
	g_autoptr(verdict_plan_t) wanted = NULL;
	g_autoptr(verdict_plan_t) recorded = NULL;
	g_autoptr(GError) reason = NULL;

	for (uint32_t i = 0; i < prepared->config->clusters_count; i++)
		if (prepared->config->clusters[i].shared)
			return run_refuse(
				error,
				"%s: --until-verdict judges utility, and policies on "
				"shared hosts are ranked by stretch; run it with --repeat",
				path);
	if (plan->repeats < 2)
		return run_refuse(error,
				  "--until-verdict: one repeat decides nothing; give --repeat "
				  "2 or more");
	wanted = verdict_plan_new(config_verdict(prepared->config), &policies, plan->repeats,
				  &reason);
	recorded = wanted ? recorded_verdict(prepared->dir, &reason) : NULL;
	return (!reason && (!recorded || verdict_plan_same(recorded, wanted, &reason))) ||
	       run_refuse(error, "%s: %s", path, reason->message);
}

/*
 * Before a profile no limits are needed, but policies are checked, since an experiment can follow.
 */
static bool check_plan(const struct run_request *request, const struct run_prepared *prepared,
		       GError **error)
{
	const struct run_plan *plan = prepared->plan;
	const char *path = request->config_path;

	if (plan->serve)
		return check_listen(g_strcmp0(plan->listen, request->listen) == 0
					    ? "--listen"
					    : "service.listen",
				    plan->listen, prepared->config, error) &&
		       check_estimates(prepared->config, path, true, error);
	if (request->profile_repeats && !plan->profile)
		return run_refuse(
			error,
			"--profile-repeat: nothing is profiled; add --profile, or leave it out");
	if (!check_policies(request, prepared, error) ||
	    !check_listen("--listen", plan->listen, prepared->config, error))
		return false;
	if (!plan->run)
		return true;
	return check_limits(plan, error) && check_meters(plan, prepared->config, path, error) &&
	       (!plan->until_verdict || check_verdict(prepared, path, error)) &&
	       (plan->profile || check_estimates(prepared->config, path, false, error));
}

/* Local schedulers that run already have an image of their own, and simulated ones need none. */
static bool check_image(const struct config *config, const char *path, GError **error)
{
	g_autofree char *trouble = guest_image_trouble(config->image);
	uint32_t own = 0;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		own += !config->clusters[i].local_scheduler && !config->clusters[i].simulated;
	return !own || !trouble ||
	       run_refuse(error, "%s: guest image: %s; %s", path, trouble, GUEST_IMAGE_CURE);
}

/* Verdicts. */

/* Checks the experiment of the configuration, or the part of it that a profile needs. */
static bool check_experiment(const struct config *config, const char *path, bool run,
			     GError **error)
{
	const struct run_request request = {.config_path = path, .run = run};
	g_autoptr(run_plan_t) plan = new_plan(&request, config);
	const struct run_prepared prepared = {.config = (struct config *)config, .plan = plan};

	return check_policies(&request, &prepared, error) &&
	       (!run || (check_limits(plan, error) && check_meters(plan, config, path, error)));
}

bool run_prepare_is_estimated(const struct config *config, const char *path, GError **error)
{
	return check_estimates(config, path, true, error);
}

enum run_prepare_verdict run_prepare_judge(const struct config *config, const char *path,
					   enum run_prepare_use use, GError **ret_why)
{
	const bool serve = use == RUN_PREPARE_SERVE;
	g_autofree char *image = guest_image_find(config->image);
	struct config with_image = *config;
	enum run_prepare_verdict listens;

	with_image.image = image;
	if (!check_config(config, path, ret_why) || !machine_room_check(config, path, ret_why) ||
	    (serve && !run_prepare_service_check(config, path, ret_why)) ||
	    (!serve && !check_experiment(config, path, use == RUN_PREPARE_RUN, ret_why)))
		return RUN_PREPARE_REFUSED;
	listens = judge_peers(config, path, ret_why);
	if (listens == RUN_PREPARE_TAKEN && serve)
		listens = judge_listen(config, path, ret_why);
	if (listens != RUN_PREPARE_TAKEN)
		return listens;
	if ((use != RUN_PREPARE_PROFILE && !config_wants_pet(config) &&
	     !check_estimates(config, path, serve, ret_why)) ||
	    !check_files(config, path, ret_why) || !check_image(&with_image, path, ret_why))
		return RUN_PREPARE_LACKS;
	return RUN_PREPARE_TAKEN;
}

static char *owns_lab_path(const struct run_prepared *prepared)
{
	return g_build_filename(prepared->dir, "state", "owns-lab", NULL);
}

bool run_prepared_owns_lab(const struct run_prepared *prepared)
{
	g_autofree char *path = owns_lab_path(prepared);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

void run_prepared_set_owns_lab(const struct run_prepared *prepared, bool owns)
{
	g_autofree char *path = owns_lab_path(prepared);

	if (owns)
		g_file_set_contents(path, "", 0, NULL);
	else
		g_unlink(path);
}

static struct run_plan *make_plan(const struct run_request *request,
				  const struct run_prepared *prepared, GError **error)
{
	if (request->serve)
		return run_prepare_service_plan(request, prepared, error);
	return request->resume ? resumed_plan(request, prepared->dir, error)
			       : new_plan(request, prepared->config);
}

bool run_prepare(const struct run_request *request, bool (*stopped)(void *data), void *data,
		 struct run_prepared *prepared, GError **error)
{
	if (!load_config(request, prepared, error))
		return false;
	prepared->plan = make_plan(request, prepared, error);
	if (!prepared->plan ||
	    !run_fit_check_request(request, prepared->dir, prepared->config, error))
		return false;
	/* A lab that a killed run left up has to be taken down. */
	prepared->finished = request->resume && !run_prepared_owns_lab(prepared) &&
			     run_is_finished(prepared->plan, prepared->dir);
	if (prepared->finished)
		return true;
	if (!run_fit_check_room(request, prepared->dir, prepared->config, error) ||
	    !check_files(prepared->config, request->config_path, error) ||
	    !check_peers(prepared->config, request->config_path, error))
		return false;
	default_image(prepared->config);
	if (!check_plan(request, prepared, error) ||
	    !check_image(prepared->config, request->config_path, error) ||
	    !run_lock_take(&prepared->lock, prepared->config->name, stopped, data, error) ||
	    (request->serve && !run_prepare_service_dir(prepared->dir, error)) ||
	    !make_dirs(prepared, error) ||
	    !run_fit(request, prepared->dir, prepared->config, &prepared->fitted, error))
		return false;
	/* The plan was made before the configuration was fitted. */
	if (!request->resume && !request->serve && !request->profile_repeats)
		prepared->plan->profile_repeats = prepared->config->experiment->profile_repeats;
	prepared->socket_dir =
		run_paths_socket_dir(prepared->dir, &prepared->own_socket_dir, error);
	if (!prepared->socket_dir)
		return false;
	if (request->serve &&
	    (!(prepared->plan->api =
		       run_prepare_service_address(request, prepared->config, error)) ||
	     !check_listen("--listen", prepared->plan->api, prepared->config, error)))
		return false;
	set_addresses(prepared);
	return true;
}

bool run_prepare_write(struct run_prepared *prepared, GError **error)
{
	g_autofree char *path = run_paths_config(prepared->dir, prepared->plan->serve);

	prepared->written = config_save(prepared->config, path, error) &&
			    run_plan_save(prepared->plan, prepared->dir, error);
	return prepared->written;
}

void run_prepared_clear(struct run_prepared *prepared)
{
	if (prepared->own_socket_dir)
		g_rmdir(prepared->socket_dir);
	run_lock_drop(&prepared->lock);
	config_free(prepared->config);
	run_plan_free(prepared->plan);
	g_free(prepared->dir);
	g_free(prepared->socket_dir);
	*prepared = (struct run_prepared){.lock = RUN_LOCK_INIT};
}
