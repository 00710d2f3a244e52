-- The store of a local scheduler with the schema of 21d4ade (local-sched: start where a task's record is damaged).
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES('incarnation','11111111-2222-4333-8444-555555555555');
CREATE TABLE tasks (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, request TEXT NOT NULL, record TEXT NOT NULL);
INSERT INTO tasks VALUES(1,'a-1','ended','{"benchmark":"is","class":"S","deadline_s":9.0,"nodes":[0],"ranks":1,"repetitions":1,"type":"T"}','{"id":"a-1","state":"ended","type":"T","nodes":[0],"requested_ns":10,"started_ns":20,"ended_ns":30,"outcome":"completed","reason":null,"benchmark_time_s":1.5,"cpu_s":2.5,"host_cpu_s":3.5,"host_energy_uj":70,"host_gap_ns":0,"suspensions":0,"migrations":0,"share":1.0,"queued_ns":null,"start_within_s":null}');
INSERT INTO tasks VALUES(2,'b-1','starting','{"benchmark":"is","class":"S","deadline_s":9.0,"nodes":[0],"ranks":1,"repetitions":1,"type":"T"}','{"id":"b-1","state":"starting","type":"T","nodes":[0],"requested_ns":10,"started_ns":20,"ended_ns":null,"outcome":null,"reason":null,"benchmark_time_s":null,"cpu_s":null,"host_cpu_s":null,"host_energy_uj":null,"host_gap_ns":null,"suspensions":0,"migrations":0,"share":1.0,"queued_ns":null,"start_within_s":null}');
CREATE TABLE events (seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT NOT NULL, task TEXT, node INTEGER, host TEXT, detail TEXT NOT NULL);
INSERT INTO events VALUES(1,1000,'task-ended','a-1',NULL,NULL,'{}');
INSERT INTO events VALUES(2,2000,'node-up',NULL,0,'b1','{}');
CREATE TABLE vms (number INTEGER PRIMARY KEY, host TEXT NOT NULL);
INSERT INTO vms VALUES(3,'b1');
CREATE TABLE damaged (id TEXT NOT NULL, request TEXT, record TEXT);
INSERT INTO damaged VALUES('x','{',NULL);
CREATE TABLE vms_to (number INTEGER PRIMARY KEY, host TEXT NOT NULL);
INSERT INTO vms_to VALUES(3,'b2');
COMMIT;
