/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/* The most sensors that one meter sums. */
enum { CONFIG_METER_SENSORS_MAX = 16 };

/* Where a host's watts come from. */
enum config_meter_kind {
	CONFIG_METER_NONE = 0,  /* no meter: energy of the host is not known */
	CONFIG_METER_IPMI,      /* ipmitool over LAN: DCMI, else the named sensor */
	CONFIG_METER_REDFISH,   /* HTTPS: PowerControl, else EnvironmentMetrics */
	CONFIG_METER_AMM,       /* SNMP: a bay of an IBM BladeCenter's management module */
	CONFIG_METER_RAPL,      /* CPU packages of this machine only, not its whole power */
	CONFIG_METER_ACPI,      /* ACPI power meters of this machine (hwmon) */
	CONFIG_METER_HWMON,     /* another chip of this machine's hwmon, by its name */
	CONFIG_METER_COMMAND,   /* what a program prints */
	CONFIG_METER_SNMP,      /* a metered outlet or another object of an SNMP agent */
	CONFIG_METER_HTTP,      /* what a web server answers: JSON, or Prometheus */
	CONFIG_METER_MODEL,     /* no meter: watts computed from this machine's CPU time */
	CONFIG_METER_SIMULATED, /* of a host of a simulated cluster, which has no other */
};

/* How a Redfish meter logs in. */
enum config_meter_auth {
	CONFIG_METER_AUTO = 0, /* a session, or Basic where the BMC offers no sessions */
	CONFIG_METER_BASIC,    /* name and password with every request */
	CONFIG_METER_SESSION,  /* one login for a token, which is given back at the end */
};

/* What the number of a command or web server is. Of energy it is a counter, of power a gauge. */
enum config_meter_value {
	CONFIG_METER_WATTS = 0,
	CONFIG_METER_MILLIWATTS,
	CONFIG_METER_MICROWATTS,
	CONFIG_METER_KILOWATTS,
	CONFIG_METER_JOULES, /* energy, as all that follow */
	CONFIG_METER_MICROJOULES,
	CONFIG_METER_WATT_HOURS,
	CONFIG_METER_KILOWATT_HOURS,
};

/* Which certificates a Redfish meter accepts. */
enum config_meter_tls {
	/* a certificate that `ca_file`, or else the system's CAs, signed */
	CONFIG_METER_VERIFY = 0,
	CONFIG_METER_INSECURE, /* any certificate: a machine in between may read the password */
};

/* Version of IPMI that a BMC is asked in. */
enum config_meter_ipmi {
	CONFIG_METER_IPMI_2_0 = 0, /* RMCP+: authenticated and, by its cipher suite, encrypted */
	CONFIG_METER_IPMI_1_5,     /* neither encrypted nor well authenticated */
};

/* Version of SNMP that an AMM is asked in. */
enum config_meter_snmp {
	CONFIG_METER_SNMP_V3 = 0, /* user, authentication by SHA and encryption by DES */
	CONFIG_METER_SNMP_V1,     /* the first line of the password file is the community */
	CONFIG_METER_SNMP_V2C,
};

/* Encryption of SNMP v3. */
enum config_meter_privacy {
	CONFIG_METER_DES = 0,
	CONFIG_METER_AES,
};

/*
 * A power meter of one host. docs/reference/meters.md says what each kind measures; the rows in
 * config_meter.c say which keys each kind takes and needs: a key of another kind is refused.
 */
struct config_meter {
	enum config_meter_kind kind;
	char *address;         /* host name or IP address of the BMC (ipmi, redfish, amm) */
	uint16_t port;         /* default: 623 (ipmi, UDP), 443 (redfish), 161 (amm, UDP) */
	char *user;            /* ipmi, redfish, amm with SNMP 3; default "ADMIN" */
	char *password_file;   /* file whose first line is the password; never in argv */
	uint32_t cipher_suite; /* ipmi; default 17 */
	char *kg_file;         /* ipmi: file with the BMC's key K_g in hexadecimal; NULL: none */
	enum config_meter_ipmi ipmi; /* ipmi */
	/*
	 * ipmi: a request, as bytes "0x2e 0xc8 ...", whose answer has the watts from its byte
	 * raw_at on (from 1), in place of DCMI; NULL: none. `controller`: "0x2c/6", that it is for.
	 */
	char *raw;
	uint32_t raw_at;
	char *controller;
	char *privilege; /* ipmi: USER, OPERATOR, ADMINISTRATOR; default USER */
	/*
	 * ipmi: sensors to read where DCMI is missing; redfish: in place of the chassis's power.
	 * The machine's power is their sum. NULL: none.
	 */
	char **sensor;
	uint32_t sensor_count;
	char *ca_file; /* redfish: PEM file of the certificates to trust; NULL: system */
	enum config_meter_tls tls;   /* redfish */
	enum config_meter_auth auth; /* redfish */
	char *chassis; /* redfish: Id of the chassis; NULL: the first that has watts */
	uint32_t bay;  /* amm: the blade's bay, 1 to 14 */
	enum config_meter_snmp snmp; /* amm */
	char *chip;                  /* hwmon: name of the chip, or of its driver */
	char **device;               /* hwmon, acpi: which of several such chips; their sum */
	uint32_t device_count;       /* 0: there must be one only */
	char **channel;              /* hwmon: "power1", "energy1", or its label; their sum */
	uint32_t channel_count;      /* 0: there must be one only */
	char **command;              /* command: the program and its arguments; no shell */
	uint32_t command_count;
	char *run_as; /* command: name of the user; NULL: `nobody` if we are root, else we */
	char *url;    /* http */
	char *json;   /* command, http: path of the number in JSON; NULL: it is no JSON */
	char *metric; /* command, http: name{label="value"} in Prometheus's text; NULL: it is none */
	enum config_meter_value value; /* command, http, snmp */
	double scale; /* command, http, snmp: the number times this is in the unit of `value`; default 1 */
	char **oid; /* snmp: objects in digits, whose watts are added */
	uint32_t oid_count;
	enum config_meter_privacy privacy; /* amm, snmp */
	char *sys_root;                    /* rapl, acpi, hwmon: where sysfs is; default "/sys" */
	char *proc_root;                   /* model: where procfs is; default "/proc" */
	double idle_w;                     /* model: watts at no load, >= 0 */
	double core_w;                     /* model: watts more per busy CPU, >= 0 */
	/* longest time that a reading may take, default 5; redfish: an answer, default 15 */
	double timeout_s;
	double interval_s; /* sampling interval; default 1; amm, command, snmp: 5 */
	double mean_s; /* what each reading is a mean of, where the meter does not tell; 0: not given */
};

/* Readings that are means over less are as good as momentary ones, for readers of watts. */
#define CONFIG_METER_MEAN_NOTED_S 10.0

/* The rows of the structures above. */
extern const struct config_section config_meter_section;

/* Fills in the defaults of `meter` that depend on its kind. */
void config_meter_fill_in(struct config_meter *meter);

/*
 * Verifies the meaning of `meter`. `local`: its host's libvirt URI names this machine. Returns
 * NULL, or "meter.KEY: what is wrong; what to do" (the caller frees).
 */
char *config_meter_check(const struct config_meter *meter, bool local);

/* The word of `value`. */
const char *config_meter_value_name(enum config_meter_value value);

/* The kind's name as in configurations. */
const char *config_meter_kind_name(enum config_meter_kind kind);

/*
 * Reads a `controller`, "0x2c" or "0x2c/6": its address on the IPMB, and the channel that leads
 * there (0). Returns false if it is none.
 */
bool config_meter_controller(const char *text, uint8_t *ret_address, uint8_t *ret_channel);

/* Frees what `meter` points to and makes it one of kind none; its sampling interval stays. */
void config_meter_clear(struct config_meter *meter);
