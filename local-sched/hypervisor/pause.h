/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Why a VM stands still that nobody here has frozen: because somebody asked for it (a person with
 * `virsh suspend`, a dump, a snapshot), who will set it going again, or because it cannot go on. As
 * libvirt tells it. Pure.
 */

/*
 * What keeps a VM from going on, for messages ("an I/O error"), by the detail of a
 * VIR_DOMAIN_EVENT_SUSPENDED; NULL: nothing, it was asked for. A static text.
 */
const char *pause_failure_of_event(int detail);

/* The same by the reason of VIR_DOMAIN_PAUSED, as virDomainGetState() gives it. */
const char *pause_failure_of_reason(int reason);
