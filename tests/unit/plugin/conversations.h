/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Conversations with Batsim, written from the pages of its protocol (its "Protocol" page of
 * release 4.2.0, and of 2.0.0; for version 5 that of 5.0.0-rc2, and members as its source and
 * PyBatsim read and write them). They were not recorded.
 */
struct exchange {
	const char *batsim;    /* NULL: the end */
	const char *scheduler; /* what the policy easy answers */
};

#define MESSAGE(now, events) "{\"now\": " now ", \"events\": [" events "]}"
#define TOLD(at, type, data) "{\"timestamp\": " at ", \"type\": \"" type "\", \"data\": " data "}"
#define SUBMITTED(at, id, res, walltime)                                                           \
	TOLD(at, "JOB_SUBMITTED",                                                                  \
	     "{\"job_id\": \"" id "\", \"job\": {\"profile\": \"delay_10s\", \"res\": " res        \
	     ", \"id\": \"" id "\", \"walltime\": " walltime "}}")
#define COMPLETED(at, id, alloc)                                                                   \
	TOLD(at, "JOB_COMPLETED",                                                                  \
	     "{\"job_id\": \"" id "\", \"job_state\": \"COMPLETED_SUCCESSFULLY\", "                \
	     "\"return_code\": 0, \"alloc\": \"" alloc "\"}")
#define EXECUTED(at, id, alloc)                                                                    \
	TOLD(at, "EXECUTE_JOB", "{\"job_id\": \"" id "\", \"alloc\": \"" alloc "\"}")

/* Four hosts. One job is too large, one has no walltime, one is backfilled, one ends early. */
static const struct exchange batsim_4[] = {
	{MESSAGE("0.0",
		 TOLD("0.0", "SIMULATION_BEGINS",
		      "{\"nb_resources\": 4, \"nb_compute_resources\": 4, "
		      "\"nb_storage_resources\": 0, \"allow_compute_sharing\": false, "
		      "\"allow_storage_sharing\": true, \"config\": {\"redis-enabled\": false, "
		      "\"redis-hostname\": \"127.0.0.1\", \"redis-port\": 6379, "
		      "\"redis-prefix\": \"default\", \"profiles-forwarded-on-submission\": false, "
		      "\"dynamic-jobs-enabled\": false, \"dynamic-jobs-acknowledged\": false, "
		      "\"profile-reuse-enabled\": false, \"sched-config\": \"\", "
		      "\"forward-unknown-events\": false}, \"compute_resources\": [{\"id\": 0, "
		      "\"name\": \"Bourassa\", \"state\": \"idle\", \"properties\": {}, "
		      "\"zone_properties\": {}}, {\"id\": 1, \"name\": \"Fafard\", \"state\": "
		      "\"idle\", \"properties\": {}, \"zone_properties\": {}}, {\"id\": 2, "
		      "\"name\": \"Ginette\", \"state\": \"idle\", \"properties\": {}, "
		      "\"zone_properties\": {}}, {\"id\": 3, \"name\": \"Jupiter\", \"state\": "
		      "\"idle\", \"properties\": {}, \"zone_properties\": {}}], "
		      "\"storage_resources\": [], \"workloads\": {\"w0\": \"/w.json\"}, "
		      "\"profiles\": {\"w0\": {\"delay_10s\": {\"type\": \"delay\", \"delay\": "
		      "10}}}}")),
	 MESSAGE("0.0", "")},
	{MESSAGE("10.0", SUBMITTED("10.0", "w0!0", "3", "100.0") ", " SUBMITTED("10.0", "w0!1", "4",
										"50.0")),
	 MESSAGE("10.0", EXECUTED("10.0", "w0!0", "0-2") ", " TOLD("10.0", "CALL_ME_LATER",
								   "{\"timestamp\": 110.0}"))},
	{MESSAGE("20.0",
		 SUBMITTED("20.0", "w0!2", "5", "9.0") ", " TOLD(
			 "20.0", "JOB_SUBMITTED",
			 "{\"job_id\": \"w0!3\", \"job\": {\"profile\": \"delay_10s\", \"res\": 1, "
			 "\"id\": \"w0!3\"}}") ", " SUBMITTED("20.0", "w0!4", "1", "80.0")),
	 MESSAGE("20.0", TOLD("20.0", "REJECT_JOB", "{\"job_id\": \"w0!2\"}") ", " TOLD(
				 "20.0", "REJECT_JOB",
				 "{\"job_id\": \"w0!3\"}") ", " EXECUTED("20.0", "w0!4", "3"))},
	/* Earlier than its walltime: the start that is planned is planned again. */
	{MESSAGE("60.0", COMPLETED("60.0", "w0!0", "0-2")),
	 MESSAGE("60.0", TOLD("60.0", "CALL_ME_LATER", "{\"timestamp\": 100.0}"))},
	{MESSAGE("70.0", TOLD("70.0", "NOTIFY", "{\"type\": \"no_more_static_job_to_submit\"}")),
	 MESSAGE("70.0", "")},
	{MESSAGE("100.0",
		 COMPLETED("100.0", "w0!4", "3") ", " TOLD("100.0", "REQUESTED_CALL", "{}")),
	 MESSAGE("100.0", EXECUTED("100.0", "w0!1", "0-3"))},
	{MESSAGE("150.0", COMPLETED("150.0", "w0!1", "0-3")), MESSAGE("150.0", "")},
	{MESSAGE("150.0", TOLD("150.0", "SIMULATION_ENDS", "{}")), MESSAGE("150.0", "")},
	{NULL, NULL},
};

/* Jobs that outlive their walltimes, as in a run of virtbed: their hosts are not free. */
static const struct exchange outlived[] = {
	{MESSAGE("0.0",
		 TOLD("0.0", "SIMULATION_BEGINS", "{\"nb_resources\": 2}") ", " SUBMITTED(
			 "0.0", "w0!0", "2", "10.0") ", " SUBMITTED("0.0", "w0!1", "1", "5.0")),
	 MESSAGE("0.0", EXECUTED("0.0", "w0!0", "0-1") ", " TOLD("0.0", "CALL_ME_LATER",
								 "{\"timestamp\": 10.0}"))},
	{MESSAGE("10.0", TOLD("10.0", "REQUESTED_CALL", "{}")), MESSAGE("10.0", "")},
	{MESSAGE("12.0", SUBMITTED("12.0", "w0!2", "1", "5.0")), MESSAGE("12.0", "")},
	{MESSAGE("13.0", COMPLETED("13.0", "w0!0", "0-1")),
	 MESSAGE("13.0", EXECUTED("13.0", "w0!1", "0") ", " EXECUTED("13.0", "w0!2", "1"))},
	{MESSAGE("20.0", TOLD("20.0", "SIMULATION_ENDS", "{}")), MESSAGE("20.0", "")},
	{NULL, NULL},
};

/* Two hosts, with the members that version 2 has. */
static const struct exchange batsim_2[] = {
	{MESSAGE("0.0",
		 TOLD("0.0", "SIMULATION_BEGINS",
		      "{\"nb_resources\": 2, \"allow_time_sharing\": false, \"config\": {\"redis\": "
		      "{\"enabled\": false}}, \"resources_data\": [{\"id\": 0, \"name\": "
		      "\"Bourassa\", \"state\": \"idle\", \"properties\": {}}, {\"id\": 1, "
		      "\"name\": \"Fafard\", \"state\": \"idle\", \"properties\": {}}], "
		      "\"workloads\": {\"26dceb\": \"/w.json\"}}")),
	 MESSAGE("0.0", "")},
	{MESSAGE("5.5", SUBMITTED("5.5", "26dceb!4", "2", "10.0")),
	 MESSAGE("5.5", EXECUTED("5.5", "26dceb!4", "0-1"))},
	{MESSAGE("15.5",
		 TOLD("15.5", "JOB_COMPLETED",
		      "{\"job_id\": \"26dceb!4\", \"job_state\": "
		      "\"COMPLETED_WALLTIME_REACHED\", \"return_code\": 1, \"kill_reason\": "
		      "\"Walltime reached\", \"alloc\": \"0-1\"}") ", " TOLD("15.5",
									     "SIMULATION_"
									     "ENDS",
									     "{}")),
	 MESSAGE("15.5", "")},
	{NULL, NULL},
};

#define FIVE(type, data)                                                                           \
	"{\"now\": 20.0, \"events\": [{\"timestamp\": 20.0, \"event_type\": \"" type               \
	"\", \"event\": " data "}]}"
#define FOUR(type, data) MESSAGE("20.0", TOLD("20.0", type, data))

/* Messages of Batsim 5, and in place of an answer what they are in version 4. */
static const struct exchange batsim_5[] = {
	{FIVE("SimulationBeginsEvent", "{\"computation_host_number\": 4}"),
	 FOUR("SIMULATION_BEGINS", "{\"nb_resources\": 4, \"nb_compute_resources\": 4}")},
	{FIVE("JobSubmittedEvent",
	      "{\"job_id\": \"w0!1\", \"job\": {\"resource_request\": 2, \"walltime\": 60.0, "
	      "\"profile_id\": \"w0!delay\"}, \"submission_time\": 19.0}"),
	 FOUR("JOB_SUBMITTED",
	      "{\"job_id\": \"w0!1\", \"job\": {\"id\": \"w0!1\", \"res\": 2, \"subtime\": 19.0, "
	      "\"walltime\": 60.0, \"profile\": \"delay\"}}")},
	{FIVE("JobCompletedEvent",
	      "{\"job_id\": \"w0!1\", \"state\": \"COMPLETED_FAILED\", \"return_code\": 1}"),
	 FOUR("JOB_COMPLETED",
	      "{\"job_id\": \"w0!1\", \"job_state\": \"COMPLETED_FAILED\", \"return_code\": 1}")},
	{FIVE("RequestedCallEvent", "{\"call_me_later_id\": \"a\", \"last_periodic_call\": false}"),
	 FOUR("REQUESTED_CALL", "{\"id\": \"a\"}")},
	{FIVE("AllStaticJobsHaveBeenSubmittedEvent", "{}"),
	 FOUR("NOTIFY", "{\"type\": \"no_more_static_job_to_submit\"}")},
	{FIVE("SimulationEndsEvent", "{}"), FOUR("SIMULATION_ENDS", "{}")},
	{FIVE("ExecuteJobEvent",
	      "{\"job_id\": \"w0!1\", \"allocation\": {\"host_allocation\": \"0-1\", "
	      "\"executor_placement_type\": \"PredefinedExecutorPlacementStrategyWrapper\", "
	      "\"executor_placement\": {\"strategy\": \"SpreadOverHostsFirst\"}}}"),
	 FOUR("EXECUTE_JOB", "{\"job_id\": \"w0!1\", \"alloc\": \"0-1\"}")},
	{FIVE("RejectJobEvent", "{\"job_id\": \"w0!1\"}"),
	 FOUR("REJECT_JOB", "{\"job_id\": \"w0!1\"}")},
	{FIVE("CallMeLaterEvent",
	      "{\"call_me_later_id\": \"a\", \"when_type\": \"OneShot\", \"when\": {\"time\": 35500, "
	      "\"time_unit\": \"Millisecond\"}}"),
	 FOUR("CALL_ME_LATER", "{\"id\": \"a\", \"timestamp\": 35.5}")},
	{FIVE("FinishRegistrationEvent", "{}"),
	 FOUR("NOTIFY", "{\"type\": \"registration_finished\"}")},
	{NULL, NULL},
};
