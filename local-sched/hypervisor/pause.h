/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Why a VM stands still that this local scheduler has not frozen. Either it was paused on purpose
 * from outside (`virsh suspend`, a dump, a snapshot) and will be resumed from there, or it cannot
 * run on. libvirt reports the reason. Pure.
 */

/*
 * The failure that keeps a VM from running on, for messages ("an I/O error"), by the detail of a
 * VIR_DOMAIN_EVENT_SUSPENDED. NULL: none, the VM was paused on purpose. A static text.
 */
const char *pause_failure_of_event(int detail);

/* Like pause_failure_of_event(), by the reason of VIR_DOMAIN_PAUSED from virDomainGetState(). */
const char *pause_failure_of_reason(int reason);
