/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's page: asks the API that serves it, and shows the answers. A long poll for events and
 * a clock make it ask again; document.documentElement.dataset.ready is set once all is shown.
 */
'use strict';

const REFRESH_MS = 2000;
const HIDDEN_MS = 15000;
const WAIT_S = 25;
const RETRY_MS = 2000;
const EVENTS_SHOWN = 200;
const ENDED_SHOWN = 25;
const TOKEN = 'virtbed-token';

const WAITING_SHOWN = 200;

/* Bytes of output in one answer of the API, less the rest of a character that was cut. */
const PIECE = (512 << 10) - 3;

/* A lab with more nodes shows the nodes of a cluster only once the reader opens it. */
const NODES_SHOWN = 500;

/* Waiting tasks are a request of their own, so that running tasks are shown however many wait. */
const PLACED = ['running', 'starting', 'migrating', 'resuming', 'suspending', 'suspending-claimed', 'suspended',
  'suspended-claimed', 'queued', 'planned', 'claimed', 'quarantined'];
const ACTIVE = [...PLACED, 'waiting'];

const $ = (id) => document.getElementById(id);
const known = { run: null, now_s: 0, hosts: new Map(), energy: [], events: [], last: null, tasks: [], clusters: [], open: new Set(), hidden: new Set() };
const charts = {
  power: new Chart($('power'), 'Power of each host', 'W'),
  energy: new Chart($('energy'), 'Energy above idle', 'J'),
  utility: new Chart($('utility'), 'Utility earned', ''),
};

/* Answers. */

class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}
class Unknown extends Refused {}

async function get(path, signal) {
  const headers = { Accept: 'application/json' };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { headers, signal });
  const body = await answer.json();
  if (answer.status === 401) throw new Unknown(body.error, answer.status);
  if (!answer.ok) throw new Refused(body.error || `status ${answer.status}`, answer.status);
  return body;
}

/* As get(); where the controller refuses (no run is under way, say), calls `refused` and returns `otherwise`. */
async function getOr(path, otherwise, refused = () => {}) {
  try {
    return await get(path);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refused(error);
    return otherwise;
  }
}

/* Signing in: the token is kept as long as the tab is open. */

/* Ends the long poll of a user whose token is no longer good: it would delay the events of the next user. */
let polling = new AbortController();

/* Forgets the answers for the former user. Rows are removed too: sync() would show them again, by their keys. */
function forgetUser() {
  polling.abort();
  polling = new AbortController();
  known.events = [];
  known.last = null;
  showEvents();
  showTasks([], 0, 0);
  setText($('task-output'), '');
}

function askToken() {
  if ($('ask').hidden) $('token').value = '';
  forgetUser();
  setText($('ask-trouble'), sessionStorage.getItem(TOKEN) ? 'That token is not good: it may have expired, or been revoked.' : '');
  sessionStorage.removeItem(TOKEN);
  $('ask').hidden = false;
  $('main').hidden = true;
  $('forget').hidden = $('metrics').hidden = true;
  showLive(false, 'token needed');
  $('token').focus();
  document.documentElement.dataset.ready = 'token';
}

function stopAsking() {
  const asked = !$('ask').hidden;
  $('ask').hidden = true;
  $('main').hidden = false;
  if (asked) {
    $('main').focus();
    pollAgain();
  }
  $('forget').hidden = !sessionStorage.getItem(TOKEN);
  $('metrics').hidden = !$('forget').hidden;
}

$('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, $('token').value.trim());
  $('token').value = '';
  delete document.documentElement.dataset.ready;
  refresh();
});
$('forget').addEventListener('click', () => {
  sessionStorage.removeItem(TOKEN);
  location.reload();
});

/*
 * Gives `parent` one child for each of `items`, by key. A child whose key stays keeps its DOM node, and so
 * the reader's focus.
 */
function sync(parent, items, keyOf, create, update) {
  const before = parent.byKey || new Map();
  const after = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const node = before.get(key) || create(item);
    after.set(key, node);
    update(node, item);
  }
  const nodes = [...after.values()];
  parent.byKey = after;
  for (const [key, node] of before) if (!after.has(key)) node.remove();
  nodes.forEach((node, i) => { if (parent.children[i] !== node) parent.insertBefore(node, parent.children[i] || null); });
}

function setText(node, text) {
  const plain = shown(`${text ?? ''}`);
  if (node.textContent !== plain) node.textContent = plain;
}

/* A link to the task's page; for another user's task, which has no page, the number alone. */
const taskLink = (number, hidden) => (hidden ? `${number}` : el('a', { href: `#task/${number}` }, `${number}`));

/* "2026-01-31 23:59:59 UTC" */
const utcText = (utc) => `${utc.slice(0, 19).replace('T', ' ')} UTC`;

/* A function from times of the run to UTC, by an answer that has the present time in both. */
function utcIn(answer) {
  return (time) => {
    const then = new Date(Date.parse(answer.now_utc) + 1000 * (time - answer.now_s));
    return Number.isNaN(then.getTime()) ? '' : utcText(then.toISOString());
  };
}

/* A row of cells, which are set by setCells(). */
function row(classes) {
  return el('tr', null, ...classes.map((name) => el('td', { class: name })));
}

function setCells(line, texts) {
  texts.forEach((text, i) => { if (text !== null) setText(line.children[i], text); });
}

/* The head of the page. */

function showStatus(status) {
  const phase = $('phase');
  setText(phase, status.phase);
  phase.dataset.phase = status.phase;
  const parts = [];
  if (status.runs > 1) parts.push(`run ${status.run} of ${status.runs}`);
  if (status.policy) parts.push(status.limit < 1 ? `${status.policy} at ${digits(100 * status.limit, 0)} %` : status.policy);
  if (status.phase === 'run')
    parts.push(status.duration_s ? `${duration(status.time_s)} of ${duration(status.duration_s)}` : `up ${duration(status.time_s)}`);
  if (status.phase === 'profile') parts.push(`${status.profile_done} of ${status.profile_total} measurements`);
  if (isKnown(status.left_s) && status.left_s > 0 && status.phase !== 'done') parts.push(`about ${duration(status.left_s)} left`);
  if (status.missing) parts.push(`waits for ${status.missing}`);
  if (status.error) parts.push(status.error);
  setText($('progress'), parts.join(' · '));
}

function showLive(live, text) {
  $('live').dataset.live = live ? 'yes' : 'no';
  setText($('live'), text);
}

function showNotes(answer) {
  setText($('name'), answer.name || '');
  $('notes').hidden = answer.notes.length === 0;
  sync($('notes'), answer.notes, (note) => note, (note) => el('li', null, note), () => {});
  document.title = answer.name ? `${shown(answer.name)} – virtbed` : 'virtbed';
}

/* "modelled " or "simulated " where watts of any cluster come from a model, or are simulated; "" where all are metered. */
function modelled() {
  const from = new Set(known.clusters.map((cluster) => cluster.watts_from));
  if (from.has('model')) return 'modelled ';
  return from.has('simulation') ? 'simulated ' : '';
}

/* modelled() with its noun, or "" where all watts are metered. */
const wattsNote = () => (modelled() ? `${modelled()}watts` : '');

/* A service's energy limit: what is used, and whether it lasts until the window's end. */
function windowTile(window, now) {
  const state = window.exhausted ? 'used up' : `${inUnit(window.forecast_j, 'J')} expected`;
  return ['Energy limit', `${inUnit(window.spent_j, 'J')} of ${inUnit(window.limit_j, 'J')}`,
          `${state} · ${duration(window.end_s - now)} left`,
          window.spent_j / window.limit_j, window.exhausted];
}

function showTiles(status, power) {
  const runs = status.phase === 'run';
  const watts = power.hosts.map((host) => host.watts).filter(isKnown);
  const limit = power.limit_j;
  const tiles = [
    ['Running', runs ? status.running : '–', status.suspended ? `${status.suspended} suspended` : ''],
    ['Waiting', runs ? status.waiting : '–', ''],
    ['Completed', runs ? status.completed : '–', runs && status.tasks ? `of ${status.tasks} tasks` : ''],
    ['Utility', runs && isKnown(status.utility) ? digits(status.utility, 2) : '–', ''],
    ['Energy', inUnit(power.energy_j, 'J'), limit ? `above idle, of ${inUnit(limit, 'J')}` : 'above idle',
     limit && isKnown(power.energy_j) ? power.energy_j / limit : null],
    [{ 'modelled ': 'Modelled power', 'simulated ': 'Simulated power' }[modelled()] || 'Power', watts.length ? inUnit(watts.reduce((a, b) => a + b, 0), 'W') : '–',
     watts.length ? `${watts.length} host${watts.length > 1 ? 's' : ''}` : ''],
    ...(power.window ? [windowTile(power.window, power.now_s)] : []),
  ];
  sync($('tiles'), tiles, (tile) => tile[0],
       (tile) => el('div', { class: tile.length > 4 ? 'broad' : null }, el('dt', null, tile[0]), el('dd', { class: 'value' }), el('dd', { class: 'note' })),
       (node, [title, value, note, part, full]) => {
         setText(node.children[1], `${value}`);
         if (!isKnown(part)) return setText(node.children[2], note);
         if (!node.bar) {
           node.bar = el('progress', { max: 1, 'aria-label': `${title}, share of the limit` });
           node.children[2].replaceChildren(el('span'), node.bar);
         }
         setText(node.children[2].firstChild, note);
         node.bar.value = Math.max(0, Math.min(1, part));
         node.bar.dataset.full = full ? 'yes' : 'no';
       });
}

/* Clusters and nodes. */

const virtTypes = { qemu: 'TCG', kvm: 'KVM' };

function clusterFacts(cluster) {
  const parts = [`${cluster.cores} core${cluster.cores > 1 ? 's' : ''}, ${cluster.memory_mib} MiB each`];
  if (cluster.virt_type) parts.push(virtTypes[cluster.virt_type] || cluster.virt_type);
  if (cluster.cpu_cap === 'quota') parts.push('emulated P-states');
  if (cluster.meter && cluster.meter !== 'none') parts.push(cluster.watts_from === 'simulation' ? 'simulated watts' : !cluster.modelled_watts ? `meter: ${cluster.meter}`
    : cluster.meter === 'model' ? 'modelled watts' : `modelled watts (${cluster.meter})`);
  if (cluster.shared) parts.push('shared hosts');
  return parts.join(' · ');
}

function showNode(node, one) {
  node.dataset.state = one.state;
  node.title = shown([one.host, one.reason].filter(Boolean).join(': '));
  setText(node.children[0], one.name);
  const task = one.task === null || one.task === undefined ? '' : `${one.task}`;
  const hidden = known.hidden.has(one.task);
  if (node.task !== task || node.hides !== hidden) {
    node.task = task;
    node.hides = hidden;
    node.children[1].replaceChildren(one.state, ...(task ? [', task ', taskLink(task, hidden)] : []));
  } else if (!task) setText(node.children[1], one.state);
  setText(node.children[2], one.state === 'down' || one.state.startsWith('drain') ? one.reason || '' : one.host || '');
}

const isLarge = (clusters) => clusters.reduce((sum, cluster) => sum + cluster.nodes, 0) > NODES_SHOWN;

/* The list of a cluster's nodes; in a large lab it is closed until the reader opens it. */
function newNodes(name) {
  const list = el('ul', { class: 'nodes', 'aria-label': `Nodes of ${name}` });
  if (!isLarge(known.clusters)) return list;
  const details = el('details', null, el('summary', { 'aria-label': `Nodes of ${name}` }, 'Nodes'), list);
  details.addEventListener('toggle', () => {
    if (details.open) known.open.add(name);
    else known.open.delete(name);
    refresh();
  });
  return details;
}

async function getNodes() {
  if (!isLarge(known.clusters)) return get('v1/nodes');
  const open = known.clusters.map((cluster) => cluster.cluster).filter((name) => known.open.has(name));
  return open.length ? get(`v1/nodes?cluster=${open.map(encodeURIComponent).join(',')}`) : { nodes: [] };
}

function showClusters(clusters, nodes) {
  const nodesOf = new Map(clusters.map((cluster) => [cluster.cluster, []]));
  for (const node of nodes) nodesOf.get(node.cluster)?.push(node);
  sync($('clusters'), clusters, (cluster) => `${cluster.cluster} ${isLarge(clusters)}`,
       (cluster) => el('div', { class: 'card cluster' }, el('h3', null, cluster.cluster, el('span', { class: 'muted' })),
                       el('p', { class: 'muted' }), newNodes(cluster.cluster)),
       (card, cluster) => {
         const counts = [`${cluster.busy} of ${cluster.nodes} busy`];
         if (cluster.down) counts.push(`${cluster.down} down`);
         if (cluster.drained) counts.push(`${cluster.drained} drained`);
         if (cluster.draining) counts.push(`${cluster.draining} draining`);
         if (cluster.away) counts.push('does not answer');
         setText(card.querySelector('h3 span'), counts.join(', '));
         setText(card.children[1], clusterFacts(cluster));
         sync(card.querySelector('ul'), nodesOf.get(cluster.cluster), (node) => node.name,
              () => el('li', { class: 'node' }, el('b'), el('span'), el('div', { class: 'muted' })), showNode);
       });
}

/* Tasks. */

function whereOf(task) {
  if (!task.cluster || !task.hosts || !task.hosts.length) return '';
  return `${task.cluster}: ${[...new Set(task.hosts)].join(', ')}`;
}

function titleOf(task) {
  if (task.hidden && task.user) return `${task.type} (${task.user}’s)`;
  return task.name ? `${task.type} (${task.name})` : task.type;
}

/* Seconds spent in a state: those of earlier times, and those since it was entered last. */
const lasted = (before, since, now) => (isKnown(before) ? before + (isKnown(since) ? now - since : 0) : null);
const waitedOf = (task, now) => lasted(task.waited_s, task.waits_since_s, now);
const executedOf = (task, now) => lasted(task.executed_s, task.since_s, now);

/* The progress of a task: its part, 0 to 1 or null (not known), and a text. Suspended time does not count. */
function progressOf(task, now) {
  const took = executedOf(task, now);
  if (!isKnown(task.since_s) && !isKnown(task.left_s)) {
    if (took) return { text: `${duration(took)} so far`, part: null };
    const waited = waitedOf(task, now);
    return { text: isKnown(waited) ? `waited ${duration(waited)}` : '', part: null };
  }
  const left = isKnown(task.since_s) ? (isKnown(task.expected_end_s) ? task.expected_end_s - now : null) : task.left_s;
  if (!isKnown(left) || !isKnown(took)) return { text: isKnown(took) ? duration(took) : '', part: null };
  const whole = took + Math.max(0, left);
  const text = left >= 0 ? `${duration(left)} left${isKnown(task.since_s) ? '' : ', stands still'}` : `${duration(-left)} over its estimate`;
  return { text, part: whole > 0 ? Math.min(1, took / whole) : null };
}

function shareOf(task) {
  const share = isKnown(task.yield) ? task.yield : task.share && task.share.share;
  return isKnown(share) ? `${digits(100 * share, 0)} %` : '';
}

function setState(cell, task) {
  const state = task.held && ['waiting', 'planned'].includes(task.state) ? 'held' : task.state;
  if (!cell.firstChild) cell.append(el('span', { class: 'state' }));
  cell.firstChild.dataset.state = state;
  setText(cell.firstChild, state);
}

function newTaskRow(classes) {
  return (task) => {
    const line = row(classes);
    line.firstChild.append(taskLink(task.task, task.hidden));
    return line;
  };
}

function showActive(line, task, now) {
  const progress = progressOf(task, now);
  const cell = line.children[4];
  setCells(line, [null, titleOf(task), null, whereOf(task), null, shareOf(task),
                  task.why || (task.state === 'waiting' ? task.reason || '' : '')]);
  setState(line.children[2], task);
  if (!line.progress) cell.append(line.progress = el('span'));
  setText(line.progress, progress.text);
  if (progress.part !== null && !line.bar)
    cell.append(line.bar = el('progress', { max: 1, 'aria-label': `Progress of task ${task.task}` }));
  if (line.bar) {
    line.bar.hidden = progress.part === null;
    line.bar.value = progress.part || 0;
  }
}

function showEnded(line, task) {
  setCells(line, [null, titleOf(task), null, whereOf(task), isKnown(task.started_s) && isKnown(task.executed_s) ? duration(task.executed_s) : '–',
                  isKnown(task.utility) ? digits(task.utility, 2) : '–', inUnit(task.energy_j, 'J'), task.reason || '']);
  setState(line.children[2], task);
}

function showTasks(tasks, more, now) {
  const active = tasks.filter((task) => ACTIVE.includes(task.state))
    .sort((a, b) => ACTIVE.indexOf(a.state) - ACTIVE.indexOf(b.state) || a.task - b.task);
  const ended = tasks.filter((task) => !ACTIVE.includes(task.state))
    .sort((a, b) => (b.ended_s || 0) - (a.ended_s || 0) || b.task - a.task).slice(0, ENDED_SHOWN);
  const shares = active.some((task) => shareOf(task) !== '');
  sync($('active'), active, (task) => task.task, newTaskRow(['', '', '', '', '', '', 'long']),
       (line, task) => { showActive(line, task, now); line.children[5].hidden = !shares; });
  sync($('ended'), ended, (task) => task.task, newTaskRow(['', '', '', '', 'number', 'number', 'number', '']), showEnded);
  $('share-head').hidden = !shares;
  $('active-none').hidden = active.length > 0;
  $('active-more').hidden = !more;
  setText($('active-more'), `${more} more, with higher numbers, ${more === 1 ? 'is' : 'are'} not shown.`);
  $('ended-none').hidden = ended.length > 0;
}

/* Over time. */

/* True if another run has begun; then forgets the data of the former one, since times start at 0 again. */
function isNewRun(power) {
  if (power.run === known.run) return false;
  known.run = power.run;
  known.hosts.clear();
  return true;
}

function rememberPower(answer) {
  for (const host of answer.hosts) {
    const points = known.hosts.get(host.host) || [];
    const last = points.length ? points.at(-1)[0] : -Infinity;
    points.push(...host.samples.filter((point) => point[0] > last));
    known.hosts.set(host.host, points.slice(-7200));
  }
}

/* The time of the last point that all hosts have; the next request asks for later points. */
function poweredUntil() {
  const lasts = [...known.hosts.values()].map((points) => (points.length ? points.at(-1)[0] : -Infinity));
  const last = Math.min(...lasts, Infinity);
  return Number.isFinite(last) ? `?after_s=${last}` : '';
}

/*
 * The energy used in a service's window over time: what is used now, less what was used since. Points before the
 * window's beginning are left out.
 */
function windowPoints(window, energy) {
  const last = energy.at(-1);
  if (!last) return [];
  const points = energy.filter((point) => point[0] >= window.begin_s)
    .map(([time, joules]) => [time, Math.max(0, window.spent_j - (last[1] - joules))]);
  return energy[0][0] <= window.begin_s ? [[window.begin_s, 0], ...points] : points;
}

/* Energy against its limit: the budget of the run, or the limit of the window under way. */
function energyChart(power, from, to) {
  const { window } = power;
  const limit = window ? window.limit_j : power.limit_j;
  const points = window ? windowPoints(window, power.energy) : power.energy;
  const series = [{ name: 'used', points: points.filter((point) => point[0] >= from), style: 's0' }];
  const since = window ? Math.max(from, window.begin_s) : from;
  if (limit) series.push({ name: window ? 'limit' : 'budget', points: [[since, limit], [to, limit]], style: 's6', dashed: true });
  const notes = [window ? `window that began ${duration(to - window.begin_s)} ago` : '', wattsNote()];
  return { from, to, utcOf: utcIn(power), least: 1, series, note: notes.filter(Boolean).join(', ') };
}

function showCharts(power, utility) {
  const window_s = Number($('window').value);
  const to = Math.max(power.now_s, 1);
  const from = Math.max(0, to - window_s);
  const inside = (points) => points.filter((point) => point[0] >= from);
  const series = power.hosts.map((host, i) => ({
    name: host.host, points: inside(known.hosts.get(host.host) || []), style: `s${i % 8}`, dashed: i >= 8, gap: 60 }));
  power.hosts.forEach((host, i) => {
    if (isKnown(host.cap_w))
      series.push({ name: `${host.host}'s cap`, points: [[from, host.cap_w], [to, host.cap_w]], style: `s${i % 8}`, dashed: true });
  });
  const utcOf = utcIn(power);
  charts.power.draw({ from, to, utcOf, series, note: [wattsNote(), known.clusters.some((cluster) =>
    cluster.cpu_cap === 'quota') ? 'emulated P-states' : ''].filter(Boolean).join(', ') });
  charts.energy.draw(energyChart(power, from, to));
  const before = utility.points.filter((point) => point[0] < from).at(-1);
  const points = [[from, before ? before[1] : 0], ...inside(utility.points), [to, utility.utility]];
  charts.utility.draw({ from, to, utcOf, least: 1, series: [{ name: 'earned', points, step: true, style: 's2' }] });
}

/* Events. */

function detailText(detail) {
  if (detail === null || detail === undefined) return '';
  if (typeof detail !== 'object') return `${detail}`;
  if (typeof detail.text === 'string') return detail.text;
  return Object.entries(detail).filter(([key]) => key !== 'task')
    .map(([key, value]) => `${key}: ${typeof value === 'object' ? JSON.stringify(value) : isKnown(value) ? digits(value, 3) : value}`)
    .join(', ');
}

const clockOf = (event) => (event.utc ? event.utc.slice(11, 19) : isKnown(event.time_s) ? duration(event.time_s) : '');

function newEvent(event) {
  const hasTask = event.task !== null && event.task !== undefined;
  const line = row(['', '', '', 'long']);
  setCells(line, [clockOf(event), event.kind, null, detailText(event.detail)]);
  line.firstChild.title = event.utc || '';
  if (hasTask) line.children[2].append(taskLink(event.task, event.hidden));
  return line;
}

function showEvents() {
  const shown = known.events.slice(-EVENTS_SHOWN).reverse();
  sync($('events'), shown, (event) => event.seq, newEvent, () => {});
  $('events-none').hidden = shown.length > 0 || known.last === null; /* not asked yet */
}

/* A task's page. */

/* The parts of a span of time that are left without the spans inside it, in order. */
function without(from, to, others) {
  const left = [];
  for (const other of others) {
    if (other.to <= from || other.from >= to) continue;
    if (other.from > from) left.push([from, other.from]);
    from = Math.max(from, other.to);
  }
  if (to > from) left.push([from, to]);
  return left;
}

function lanesOf(task, now, utcOf) {
  const end = isKnown(task.ended_s) ? task.ended_s : now;
  const started = isKnown(task.started_s) ? task.started_s : end;
  const lanes = new Map([['queue', []]]);
  const off = (task.suspended || []).map((one) => (
    { from: one.from_s, to: isKnown(one.to_s) ? one.to_s : end, what: 'suspended', style: 'fsuspended' }));
  const places = task.places && task.places.length ? task.places
    : isKnown(task.started_s) ? [{ since_s: started, how: 'started', hosts: task.hosts || [] }] : [];
  const waits = (from, to) => { if (to > from) lanes.get('queue').push({ from, to, what: 'waiting', style: 'fidle' }); };
  if (isKnown(task.arrival_s)) waits(task.arrival_s, places.length ? places[0].since_s : end);
  places.forEach((place, i) => {
    const to = i + 1 < places.length ? places[i + 1].since_s : end;
    if (place.how === 'lost') waits(place.since_s, to);
    for (const host of new Set(place.hosts)) {
      if (!lanes.has(host)) lanes.set(host, []);
      for (const [since, until] of without(place.since_s, to, off))
        lanes.get(host).push({ from: since, to: until, what: place.how, style: 'f0' });
    }
  });
  if (off.length) lanes.set('suspended', off);
  return { utcOf, from: isKnown(task.arrival_s) ? Math.min(task.arrival_s, end) : 0, to: Math.max(end, (task.arrival_s || 0) + 1),
           lanes: [...lanes].map(([name, bars]) => ({ name, bars })) };
}

/* A time of the run, NAME_s, and beside it NAME_utc. */
function timeOf(object, name) {
  if (!isKnown(object[`${name}_s`])) return null;
  const utc = object[`${name}_utc`];
  return `at ${duration(object[`${name}_s`])}${utc ? `, ${utcText(utc)}` : ''}`;
}

function taskFacts(task, now) {
  const facts = [['State', task.held && !task.why ? `${task.state}, held` : task.state], ['Type', titleOf(task)], ['User', task.user], ['Where', whereOf(task)],
    ['Priority', task.priority ? `${task.priority}` : null], ['Why it waits', task.why], ['Progress', ACTIVE.includes(task.state) ? progressOf(task, now).text : null],
    ['Arrived', timeOf(task, 'arrival')], ['Started', timeOf(task, 'started')], ['Ended', timeOf(task, 'ended')],
    ['Expected to end', timeOf(task, 'expected_end')],
    ['Waited', task.attempts > 1 || waitedOf(task, now) ? duration(waitedOf(task, now)) : null],
    ['Executed', executedOf(task, now) ? duration(executedOf(task, now)) : null],
    ['Utility', isKnown(task.utility) ? `${digits(task.utility, 2)}${isKnown(task.utility_max) ? ` of ${digits(task.utility_max, 2)}` : ''}` : null],
    [`Energy${modelled() ? ` (${wattsNote()})` : ''}`, isKnown(task.energy_j) ? inUnit(task.energy_j, 'J') : null], ['Share', shareOf(task)],
    ['Attempts', task.attempts ? `${task.attempts}` : null], ['Suspensions', task.suspensions ? `${task.suspensions}` : null],
    ['Reason', task.reason]];
  return facts.filter(([, value]) => value !== null && value !== undefined && value !== '');
}

/* An action's times of the run, with their UTC. */
function withUtc(decision, entries) {
  if (!decision.utc) return entries;
  return entries.map(([key, value]) => (['start_s', 'end_s'].includes(key) && isKnown(value)
    ? [key, `${digits(value, 3)} (${utcIn({ now_utc: decision.utc, now_s: decision.time_s })(value)})`] : [key, value]));
}

function decisionRow(decision) {
  const action = decision.action || {};
  const line = row(['number', '', '', 'long', 'long']);
  const kind = action.action || action.kind || action.type || '';
  const how = withUtc(decision, Object.entries(action).filter(([key]) => !['action', 'kind', 'task', 'reason'].includes(key)));
  setCells(line, [duration(decision.time_s), decision.utc ? utcText(decision.utc) : '', `${kind}`, detailText(Object.fromEntries(how)), `${action.reason || ''}`]);
  return line;
}

/* The reason why a task is not shown. */
const taskTrouble = (number, status) => (status === 403
  ? `Task ${number} is none of yours: another user’s, or not there.` : `The run under way has no task ${number}.`);

async function showTask(number) {
  const path = `v1/tasks/${encodeURIComponent(number)}`;
  let status = null;
  const [task, power] = await Promise.all([getOr(path, null, (error) => { status = error.status; }), get('v1/power?after_s=1e9')]);
  isNewRun(power);
  setText($('task-title'), `Task ${number}`);
  $('task-whole').hidden = !task;
  $('task-trouble').hidden = Boolean(task);
  if (!task) {
    setText($('task-trouble'), taskTrouble(number, status));
    return;
  }
  const [decisions, output] = await Promise.all([getOr(`${path}/decisions`, null), getOr(`${path}/output`, null)]);
  sync($('task-facts'), taskFacts(task, power.now_s), (fact) => fact[0],
       (fact) => el('div', null, el('dt', null, fact[0]), el('dd')), (node, fact) => setText(node.children[1], `${fact[1]}`));
  drawBars($('task-gantt'), `Where task ${number} was over time`, lanesOf(task, power.now_s, utcIn(power)));
  $('task-decisions-section').hidden = !decisions;
  $('task-decisions').replaceChildren(...(decisions ? decisions.decisions.map(decisionRow) : []));
  $('task-decisions-none').hidden = Boolean(decisions && decisions.decisions.length);
  const own = known.events.filter((event) => event.task === task.task && event.run === known.run);
  $('task-events').replaceChildren(...own.map((event) => {
    const line = row(['', '', 'long']);
    setCells(line, [clockOf(event), event.kind, detailText(event.detail)]);
    return line;
  }));
  $('task-events-none').hidden = own.length > 0;
  $('task-output-section').hidden = !output || !output.output;
  setText($('task-output-more'), `This is the beginning, 512 KiB; virtbed output ${number} prints all of it.`);
  if (output) setText($('task-output'), output.output || '');
  $('task-output-more').hidden = !output || output.ended || output.next < PIECE;
}

/* Everything. */

const taskWanted = () => (/^#task\/(\d{1,10})$/.exec(location.hash) || [])[1];

async function showOverview(status) {
  const none = { tasks: [], more: 0 };
  const [nodes, placed, waiting, lately, power, utility] = await Promise.all([
    getNodes(), getOr(`v1/tasks?state=${PLACED.join(',')}`, none),
    getOr(`v1/tasks?state=waiting&limit=${WAITING_SHOWN}`, none),
    getOr(`v1/tasks?ended=${ENDED_SHOWN}`, none),
    get(`v1/power${poweredUntil()}`), get(`v1/utility?after_s=${known.now_s - Number($('window').value)}`)]);
  if (isNewRun(power)) return showOverview(status);
  known.now_s = power.now_s;
  rememberPower(power);
  const tasks = new Map([...lately.tasks, ...placed.tasks, ...waiting.tasks].map((task) => [task.task, task]));
  known.hidden = new Set([...tasks.values()].filter((task) => task.hidden).map((task) => task.task));
  showTiles(status, power);
  showClusters(known.clusters, nodes.nodes);
  showTasks([...tasks.values()], placed.more + waiting.more, power.now_s);
  showCharts(power, utility);
  showEvents();
}

let refreshing = null;

async function refreshNow() {
  const number = taskWanted();
  const [status, clusters] = await Promise.all([get('v1/status?after=1000000000'), get('v1/clusters')]);
  known.clusters = clusters.clusters;
  showStatus(status);
  showNotes(clusters);
  $('overview').hidden = Boolean(number);
  $('task').hidden = !number;
  if (number) await showTask(number);
  else await showOverview(status);
  stopAsking();
  showLive(true, 'live');
  document.documentElement.dataset.ready = number ? `task/${number}` : 'overview';
}

let refreshed = { at: -Infinity, took: 0 };
let soon = null;

/* Refreshes one at a time; a request that comes meanwhile is served by the next refresh. */
function refresh() {
  if (refreshing) {
    refreshing.again = true;
    return;
  }
  const mine = { again: false, soon: false, since: performance.now(), token: sessionStorage.getItem(TOKEN) };
  refreshing = mine;
  refreshNow().catch((error) => {
    if (error instanceof Unknown) {
      /* A token that was typed meanwhile was not sent: the next refresh sends it. */
      if (mine.token === sessionStorage.getItem(TOKEN)) askToken();
    } else showLive(false, error instanceof Refused ? error.message : 'no answer');
  })
    .finally(() => {
      refreshing = null;
      refreshed = { at: performance.now(), took: performance.now() - mine.since };
      if (mine.again) setTimeout(refresh, 250);
      else if (mine.soon) refreshSoon();
    });
}

/*
 * A refresh because of events, at most so often: a busy controller has more events than the page may send requests.
 * The rest is reckoned again when it ends: the clock may have refreshed meanwhile.
 */
function refreshSoon() {
  const rest = Math.min(REFRESH_MS, Math.max(250, 9 * refreshed.took)) - (performance.now() - refreshed.at);
  if (refreshing) refreshing.soon = true;
  else if (rest <= 0) refresh();
  else if (!soon) soon = setTimeout(() => { soon = null; refreshSoon(); }, rest);
}

/* Ends the pause of followEvents(): a token was accepted. */
let pollAgain = () => {};

async function followEvents() {
  for (;;) {
    const { signal } = polling;
    try {
      if (!$('ask').hidden) throw new Unknown();
      const query = known.last === null ? '' : `?after=${known.last}&wait_s=${WAIT_S}`;
      const answer = await get(`v1/events${query}`, signal);
      if (signal.aborted) continue; /* the answer is another user's */
      known.last = answer.last;
      known.events.push(...answer.events);
      known.events.splice(0, Math.max(0, known.events.length - 2000));
      if (!answer.events.length) continue;
      refreshSoon();
      await new Promise((done) => setTimeout(done, 250)); /* events that come together are one answer */
    } catch (error) {
      await new Promise((done) => {
        pollAgain = done;
        setTimeout(done, RETRY_MS);
      });
    }
  }
}

function followClock() {
  if ($('ask').hidden) refresh();
  setTimeout(followClock, document.hidden ? HIDDEN_MS : REFRESH_MS);
}

addEventListener('hashchange', () => {
  delete document.documentElement.dataset.ready;
  refresh();
  if (taskWanted()) $('task-title').focus();
  scrollTo(0, 0);
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  $('main').focus();
});
$('window').addEventListener('change', refresh);
addEventListener('resize', refresh); /* bars are drawn for a width */
followEvents();
followClock();
