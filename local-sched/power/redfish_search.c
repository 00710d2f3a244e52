/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/redfish_search.h"

#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"

#define CHASSIS_PATH "/redfish/v1/Chassis"
#define SYSTEMS_PATH "/redfish/v1/Systems"

/* A BMC of which an answer took longer is slow. */
#define SLOW_S 0.5

/* How often it asks, after the first requests. */
#define REQUESTS_PER_S 4.0

enum {
	REQUESTS_FIRST = 12,
	CHASSIS_MAX = 256,
	SYSTEMS_MAX = 32,
	PAGES_MAX = 32,
	TAG_AHEAD = -1, /* of the request for the Power of the only chassis */
};

enum {
	STATUS_BAD_REQUEST = 400,
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
	STATUS_NOT_FOUND = 404,
	STATUS_NOT_ALLOWED = 405,
	STATUS_GONE = 410,
	STATUS_NOT_IMPLEMENTED = 501,
};

enum phase {
	PHASE_LIST = 0, /* the list of chassis, page by page */
	PHASE_CHASSIS,  /* each chassis */
	PHASE_NAMES,    /* the list of chassis, for a message */
	PHASE_SYSTEMS,  /* the list of computer systems */
	PHASE_SYSTEM,   /* each of them */
};

struct redfish_search {
	const struct platform *platform;
	struct redfish_service *service;
	const char *named;
	bool told; /* where it is, by the list */
	redfish_search_f done;
	void *data;
	enum phase phase;
	GPtrArray *paths; /* char *: what to read in this phase */
	guint next;       /* the first of them that was not asked for */
	guint asked;      /* requests that were not answered yet */
	guint pages;      /* of the list */
	bool cut;         /* the list is longer than what is read of it */
	int64_t began_ns;
	guint requests;              /* since then */
	guint timer_id;              /* when the next request may be made */
	GPtrArray *chassis;          /* struct meter_redfish_chassis *: those read */
	GPtrArray *chosen;           /* of them, borrowed: those that may be the machine */
	GPtrArray *held;             /* of these: those that a computer system says to be in */
	struct redfish_answer ahead; /* to that request, owned; `path` NULL: none */
	char *denied;                /* why something could not be read, or NULL */
	char *absent;                /* that a chassis of the list is not there, or NULL */
	enum power_meter_error code; /* of the first failure */
	char *reason;
};

static void ask(struct redfish_search *search);

bool redfish_search_missing(const struct redfish_answer *answer)
{
	return answer->status == STATUS_NOT_FOUND || answer->status == STATUS_GONE ||
	       answer->status == STATUS_BAD_REQUEST || answer->status == STATUS_NOT_ALLOWED ||
	       answer->status == STATUS_NOT_IMPLEMENTED;
}

char *redfish_search_denied(const struct redfish_answer *answer)
{
	if (answer->status == STATUS_UNAUTHORIZED && answer->code == POWER_METER_ERROR_SETUP)
		return g_strdup(answer->reason);
	if (answer->status != STATUS_FORBIDDEN)
		return NULL;
	return g_strdup_printf("the user may not read %s (a privilege, or a licence of the BMC, is "
			       "missing): %s",
			       answer->path, answer->reason);
}

static void fail(struct redfish_search *search, enum power_meter_error code, const char *reason)
{
	if (search->reason)
		return;
	search->code = code;
	search->reason = g_strdup(reason);
}

/* Begins to read `path` (NULL: the paths that were listed). */
static void enter(struct redfish_search *search, enum phase phase, const char *path)
{
	search->phase = phase;
	search->next = 0;
	search->pages = 0;
	if (!path)
		return;
	g_ptr_array_set_size(search->paths, 0);
	g_ptr_array_add(search->paths, g_strdup(path));
}

/* Removes the paths that are in the list before. */
static void drop_repeated(GPtrArray *paths)
{
	for (guint i = paths->len; i-- > 1;)
		for (guint j = 0; j < i; j++)
			if (meter_redfish_is_same_path(paths->pdata[i], paths->pdata[j])) {
				g_ptr_array_remove_index(paths, i);
				break;
			}
}

/* Takes a page of a list: its members, and its next page in place of this one. */
static bool take_page(struct redfish_search *search, const struct redfish_answer *answer,
		      guint most)
{
	g_autofree char *next = NULL;

	if (search->pages == 0)
		g_ptr_array_set_size(search->paths, 0);
	else
		g_ptr_array_remove_index(search->paths, search->paths->len - 1);
	if (!meter_redfish_parse_members(answer->body, answer->path, search->paths, &next))
		return false;
	search->cut = search->paths->len > most || (next && ++search->pages >= PAGES_MAX) ||
		      (next && search->paths->len == most);
	if (search->paths->len > most)
		g_ptr_array_set_size(search->paths, (gint)most);
	drop_repeated(search->paths);
	search->next = search->paths->len;
	if (next && !search->cut)
		g_ptr_array_add(search->paths, g_steal_pointer(&next));
	return true;
}

/* A list that was not read to its end may have the machine behind it. */
static void fail_if_cut(struct redfish_search *search, const char *what, guint most)
{
	g_autofree char *reason =
		g_strdup_printf("its list of %s has more than %u members, or %d pages, which are "
				"not read; name the chassis of the machine as `chassis`",
				what, most, PAGES_MAX);

	if (search->cut)
		fail(search, POWER_METER_ERROR_SETUP, reason);
}

static void handle_list(struct redfish_search *search, const struct redfish_answer *answer)
{
	g_autofree char *denied = redfish_search_denied(answer);

	if (denied)
		fail(search, POWER_METER_ERROR_SETUP, denied);
	else if (answer->code != POWER_METER_OK)
		fail(search, answer->code, answer->reason);
	else if (!take_page(search, answer, CHASSIS_MAX))
		fail(search, POWER_METER_ERROR_GARBAGE, "its list of chassis is none");
	else if (search->phase == PHASE_LIST)
		fail_if_cut(search, "chassis", CHASSIS_MAX);
}

static void handle_chassis(struct redfish_search *search, const struct redfish_answer *answer)
{
	struct meter_redfish_chassis *chassis =
		meter_redfish_chassis_new(answer->body, answer->path);
	g_autofree char *denied = redfish_search_denied(answer);

	if (chassis) {
		chassis->order = answer->tag;
		g_ptr_array_add(search->chassis, chassis);
	} else if (denied) {
		g_free(search->denied);
		search->denied = g_steal_pointer(&denied);
	} else if (!redfish_search_missing(answer) && answer->code != POWER_METER_OK) {
		/* It may be the machine. */
		fail(search, answer->code, answer->reason);
	} else if (!search->absent) {
		search->absent = g_strdup_printf("%s of its list of chassis is not there, and may "
						 "be the machine; name one as `chassis`: %s",
						 answer->path, answer->reason ?: "no object");
	}
}

/* A service without a list of systems is no failure: they cannot help then. */
static void handle_systems(struct redfish_search *search, const struct redfish_answer *answer)
{
	if (answer->status == 0)
		fail(search, answer->code, answer->reason);
	else if (answer->code != POWER_METER_OK || !take_page(search, answer, SYSTEMS_MAX))
		g_ptr_array_set_size(search->paths, 0);
	else
		fail_if_cut(search, "computer systems", SYSTEMS_MAX);
}

static void handle_system(struct redfish_search *search, const struct redfish_answer *answer)
{
	if (answer->status == 0)
		fail(search, answer->code, answer->reason);
	for (guint i = 0; i < search->chosen->len; i++) {
		struct meter_redfish_chassis *chassis = search->chosen->pdata[i];

		if (!meter_redfish_parse_holds(answer->body, chassis->path))
			continue;
		if (!chassis->system)
			chassis->system = g_strdup(answer->path);
		if (!g_ptr_array_find(search->held, chassis, NULL))
			g_ptr_array_add(search->held, chassis);
	}
}

/* Keeps the answer for the meter, whatever it is. */
static void keep_ahead(struct redfish_search *search, const struct redfish_answer *answer)
{
	search->ahead = *answer;
	search->ahead.body = answer->body ? json_incref(answer->body) : NULL;
	search->ahead.path = g_strdup(answer->path);
	search->ahead.reason = g_strdup(answer->reason);
}

static void on_answer(const struct redfish_answer *answer, void *data)
{
	static void (*const handlers[])(struct redfish_search * search,
					const struct redfish_answer *answer) = {
		[PHASE_LIST] = handle_list,     [PHASE_CHASSIS] = handle_chassis,
		[PHASE_NAMES] = handle_list,    [PHASE_SYSTEMS] = handle_systems,
		[PHASE_SYSTEM] = handle_system,
	};
	struct redfish_search *search = data;

	search->asked--;
	if (answer->tag == TAG_AHEAD)
		keep_ahead(search, answer);
	else
		handlers[search->phase](search, answer);
	ask(search);
}

static void finish(struct redfish_search *search, struct meter_redfish_chassis *machine)
{
	search->done(machine, search->code, search->reason, search->data);
}

/* Ends the search without a chassis. */
static void give_up(struct redfish_search *search, const char *reason)
{
	fail(search, POWER_METER_ERROR_SETUP, search->denied ?: reason);
	finish(search, NULL);
}

/* Ends the search with one of the chassis that were read. */
static void finish_with(struct redfish_search *search, struct meter_redfish_chassis *machine)
{
	g_autoptr(GPtrArray) others = g_ptr_array_new();
	guint index = 0;

	for (guint i = 0; i < search->chassis->len; i++) {
		struct meter_redfish_chassis *one = search->chassis->pdata[i];

		if (one != machine && one->power)
			g_ptr_array_add(others, one);
	}
	machine->others = others->len > 0 ? meter_redfish_list(others) : NULL;
	g_ptr_array_find(search->chassis, machine, &index);
	finish(search, g_ptr_array_steal_index(search->chassis, index));
}

/* The path of the one chassis with this name, borrowed; NULL: none, or several. */
static const char *path_of(const GPtrArray *chassis, const char *name)
{
	const char *path = NULL;

	for (guint i = 0; i < chassis->len; i++) {
		const struct meter_redfish_chassis *one = chassis->pdata[i];

		if (strcmp(one->id, name) != 0)
			continue;
		if (path)
			return NULL;
		path = one->path;
	}
	return path;
}

/*
 * The configured chassis is not at the usual path; `paths` are those that are there. Some are below
 * another: "/redfish/v1/Chassis/RackMount/Baseboard".
 */
static void give_up_named(struct redfish_search *search)
{
	g_autoptr(GPtrArray) bare =
		g_ptr_array_new_with_free_func((GDestroyNotify)meter_redfish_chassis_free);
	g_autoptr(json_t) body = json_object();
	const char *path;
	g_autofree char *list = NULL;
	g_autofree char *reason = NULL;

	for (guint i = 0; i < search->paths->len; i++)
		g_ptr_array_add(bare, meter_redfish_chassis_new(body, search->paths->pdata[i]));
	if (!search->told && (path = path_of(bare, search->named))) {
		search->told = true;
		enter(search, PHASE_CHASSIS, path);
		ask(search);
		return;
	}
	list = meter_redfish_list(bare);
	reason = g_strdup_printf("there is no chassis %s; there are: %s%s", search->named, list,
				 search->cut ? " and others, for its list is longer than what is "
					       "read of it"
					     : "");
	give_up(search, reason);
}

/* Whether it is the machine whatever the chassis are that could not be read. */
static bool is_surely(const struct meter_redfish_chassis *chassis)
{
	return chassis->kind == METER_REDFISH_MACHINE && chassis->linked;
}

/*
 * Whether it is the machine although chassis of the list could not be read. A list may hold what
 * was taken out long ago, but an enclosure is taken only where no blade may be missing.
 */
static bool is_clear(const struct redfish_search *search,
		     const struct meter_redfish_chassis *chassis)
{
	return is_surely(chassis) ||
	       (!search->denied && (!search->absent || chassis->kind == METER_REDFISH_MACHINE));
}

static gint compare_order(gconstpointer a, gconstpointer b)
{
	return (*(struct meter_redfish_chassis *const *)a)->order -
	       (*(struct meter_redfish_chassis *const *)b)->order;
}

/* All chassis were read. */
static void choose(struct redfish_search *search)
{
	g_ptr_array_sort(search->chassis, compare_order);
	g_autofree char *list = meter_redfish_list(search->chassis);
	g_autofree char *reason =
		g_strdup_printf("none of its chassis is a machine; name one as `chassis`: %s",
				list);

	if (search->named && search->chassis->len > 0) {
		finish_with(search, search->chassis->pdata[0]);
		return;
	}
	if (search->named && !search->denied) {
		enter(search, PHASE_NAMES, CHASSIS_PATH);
		ask(search);
		return;
	}
	g_ptr_array_unref(search->chosen);
	search->chosen = meter_redfish_choose(search->chassis);
	if (search->chosen->len == 1 && is_clear(search, search->chosen->pdata[0])) {
		finish_with(search, search->chosen->pdata[0]);
	} else if (search->chosen->len > 1) {
		enter(search, PHASE_SYSTEMS, SYSTEMS_PATH);
		ask(search);
	} else if (search->chosen->len == 1 && !search->denied && search->absent) {
		fail(search, POWER_METER_ERROR_SETUP, search->absent);
		finish(search, NULL);
	} else {
		give_up(search,
			search->chassis->len > 0 ? reason : "no chassis has watts: it has none");
	}
}

/* All systems were read. */
static void choose_by_systems(struct redfish_search *search)
{
	g_autofree char *list =
		meter_redfish_list(search->held->len > 1 ? search->held : search->chosen);
	g_autofree char *reason = g_strdup_printf(
		"several of its chassis may be the machine; name one as `chassis`: %s", list);

	if (search->held->len == 1) {
		finish_with(search, search->held->pdata[0]);
		return;
	}
	fail(search, POWER_METER_ERROR_SETUP, reason);
	finish(search, NULL);
}

/*
 * Asks a slow BMC for the Power of its only chassis beside that chassis: it is what the meter will
 * ask for next, unless the chassis says that it is elsewhere.
 */
static void ask_ahead(struct redfish_search *search)
{
	g_autofree char *path = NULL;
	double slowest_s;

	redfish_service_answers(search->service, &slowest_s);
	if (search->paths->len != 1 || slowest_s <= SLOW_S)
		return;
	path = redfish_search_usual_power(search->paths->pdata[0]);
	search->asked++;
	search->requests++;
	redfish_service_get(search->service, path, TAG_AHEAD, on_answer, search);
}

/* All of a phase was read. */
static void end_phase(struct redfish_search *search)
{
	switch (search->phase) {
	case PHASE_LIST:
		enter(search, PHASE_CHASSIS, NULL);
		ask_ahead(search);
		ask(search);
		break;
	case PHASE_CHASSIS:
		choose(search);
		break;
	case PHASE_NAMES:
		give_up_named(search);
		break;
	case PHASE_SYSTEMS:
		enter(search, PHASE_SYSTEM, NULL);
		ask(search);
		break;
	case PHASE_SYSTEM:
		choose_by_systems(search);
		break;
	}
}

static gboolean on_timer(gpointer data)
{
	struct redfish_search *search = data;

	search->timer_id = 0;
	ask(search);
	return G_SOURCE_REMOVE;
}

/* Seconds until the next request may be made. */
static double wait_s(const struct redfish_search *search)
{
	const double paid_s = ((double)search->requests + 1 - REQUESTS_FIRST) / REQUESTS_PER_S;

	return paid_s - clock_elapsed_s(search->began_ns, platform_now_ns(search->platform));
}

/* Asks for the next paths, or ends the phase; the search may be freed then. */
static void ask(struct redfish_search *search)
{
	while (!search->reason && search->next < search->paths->len) {
		if (wait_s(search) > 0) {
			if (search->timer_id == 0)
				search->timer_id =
					platform_after_ms(search->platform,
							  (guint)(wait_s(search) * 1e3) + 1,
							  on_timer, search);
			return;
		}
		search->asked++;
		search->requests++;
		redfish_service_get(search->service, search->paths->pdata[search->next],
				    (int)search->next, on_answer, search);
		search->next++;
	}
	if (search->asked > 0)
		return;
	if (search->reason)
		finish(search, NULL);
	else
		end_phase(search);
}

char *redfish_search_usual_power(const char *chassis)
{
	return g_strconcat(chassis, g_str_has_suffix(chassis, "/") ? "" : "/", "Power", NULL);
}

const struct redfish_answer *redfish_search_ahead(const struct redfish_search *search,
						  const char *path)
{
	const char *ahead = search ? search->ahead.path : NULL;

	return ahead && meter_redfish_is_same_path(ahead, path) ? &search->ahead : NULL;
}

struct redfish_search *redfish_search_new(const struct platform *platform,
					  struct redfish_service *service, const char *named,
					  redfish_search_f done, void *data)
{
	struct redfish_search *search = g_new0(struct redfish_search, 1);
	g_autofree char *escaped = named ? g_uri_escape_string(named, NULL, FALSE) : NULL;
	g_autofree char *path = named ? g_strconcat(CHASSIS_PATH "/", escaped, NULL) : NULL;

	search->platform = platform;
	search->service = service;
	search->named = named;
	search->done = done;
	search->data = data;
	search->began_ns = platform_now_ns(platform);
	search->paths = g_ptr_array_new_with_free_func(g_free);
	search->chassis =
		g_ptr_array_new_with_free_func((GDestroyNotify)meter_redfish_chassis_free);
	search->chosen = g_ptr_array_new();
	search->held = g_ptr_array_new();
	enter(search, named ? PHASE_CHASSIS : PHASE_LIST, named ? path : CHASSIS_PATH);
	ask(search);
	return search;
}

void redfish_search_free(struct redfish_search *search)
{
	if (!search)
		return;
	redfish_service_drop(search->service, search);
	g_clear_handle_id(&search->timer_id, g_source_remove);
	g_ptr_array_unref(search->paths);
	g_ptr_array_unref(search->chassis);
	g_ptr_array_unref(search->chosen);
	g_ptr_array_unref(search->held);
	json_decref(search->ahead.body);
	g_free((char *)search->ahead.path);
	g_free((char *)search->ahead.reason);
	g_free(search->denied);
	g_free(search->absent);
	g_free(search->reason);
	g_free(search);
}
