/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the machine in a service that is the test's own. */
#include "local-sched/power/redfish_search.h"

#include <string.h>

#include "common/json.h"
#include "common/platform.h"

#define CHASSIS "/redfish/v1/Chassis/1"
#define POWER CHASSIS "/Power"

enum { ASKED_MAX = 8, OK = 200, FORBIDDEN = 403 };

/* In place of redfish_service.c: requests wait until the test answers them. */
struct redfish_service {
	struct {
		char *path; /* NULL: it was answered */
		int tag;
		redfish_answer_f done;
		void *data;
	} asked[ASKED_MAX];
	guint count;
	/* The outcome of the search. */
	bool over;
	struct meter_redfish_chassis *machine;
};

void redfish_service_get(struct redfish_service *service, const char *path, int tag,
			 redfish_answer_f done, void *data)
{
	g_assert_cmpuint(service->count, <, ASKED_MAX);
	service->asked[service->count].path = g_strdup(path);
	service->asked[service->count].tag = tag;
	service->asked[service->count].done = done;
	service->asked[service->count].data = data;
	service->count++;
}

void redfish_service_drop(struct redfish_service *service, const void *data)
{
	for (guint i = 0; i < service->count; i++)
		g_clear_pointer(&service->asked[i].path, g_free);
}

unsigned redfish_service_answers(const struct redfish_service *service, double *ret_slowest_s)
{
	*ret_slowest_s = 10;
	return service->count;
}

/* Answers the request for `path`, which has to be under way. */
static void answer(struct redfish_service *service, const char *path, int status, json_t *body)
{
	for (guint i = 0; i < service->count; i++) {
		g_autofree char *asked = NULL;

		if (g_strcmp0(service->asked[i].path, path) != 0)
			continue;
		asked = g_steal_pointer(&service->asked[i].path);
		service->asked[i].done(
			&(struct redfish_answer){.tag = service->asked[i].tag,
						 .code = status == OK ? POWER_METER_OK
								      : POWER_METER_ERROR_REJECTED,
						 .status = status,
						 .body = status == OK ? body : NULL,
						 .path = path,
						 .reason = status == OK ? NULL : "it is refused"},
			service->asked[i].data);
		return;
	}
	g_assert_not_reached();
}

static void on_done(struct meter_redfish_chassis *machine, enum power_meter_error code,
		    const char *reason, void *data)
{
	struct redfish_service *service = data;

	service->over = true;
	service->machine = machine;
}

/* What a slow service answers beside its only chassis lives as long as the search. */
static void test_what_was_asked_for_ahead_ends_with_the_search(void)
{
	static const struct {
		int chassis; /* the status of its answer */
		bool power_first;
	} cases[] = {{OK, false}, {OK, true}, {FORBIDDEN, false}, {FORBIDDEN, true}};
	g_autoptr(json_t) list =
		json_pack("{s:[{s:s}]}", "Members", "@odata.id", "/redfish/v1/Chassis/1");
	g_autoptr(json_t) body = json_pack("{s:s}", "ChassisType", "RackMount");

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct redfish_service service = {.count = 0};
		g_autoptr(json_t) power = json_object();
		struct redfish_search *search =
			redfish_search_new(&platform_machine, &service, NULL, on_done, &service);

		g_test_message("case %zu", i);
		answer(&service, "/redfish/v1/Chassis", OK, list);
		if (cases[i].power_first)
			answer(&service, POWER, OK, power);
		answer(&service, CHASSIS, cases[i].chassis, body);
		if (!cases[i].power_first)
			answer(&service, POWER, OK, power);
		g_assert_true(service.over);
		g_assert_true((service.machine != NULL) == (cases[i].chassis == OK));
		g_assert_nonnull(redfish_search_ahead(search, POWER));
		g_assert_true(redfish_search_ahead(search, POWER)->body == power);
		g_assert_cmpuint(power->refcount, ==, 2);
		redfish_search_free(search);
		g_assert_cmpuint(power->refcount, ==, 1);
		meter_redfish_chassis_free(service.machine);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/redfish-search/what was asked for ahead ends with the search",
			test_what_was_asked_for_ahead_ends_with_the_search);
	return g_test_run();
}
