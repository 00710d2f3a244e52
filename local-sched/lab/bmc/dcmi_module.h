/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Constants that the emulated BMC's configuration (bmc.c) and its module (dcmi_module.c) share. */
enum {
	DCMI_MODULE_MC_ADDRESS = 0x20,
	DCMI_MODULE_SENSOR_NUMBER = 1,
	DCMI_MODULE_SENSOR_STEP_W = 2, /* watts per count: 510 W at the most */
};
