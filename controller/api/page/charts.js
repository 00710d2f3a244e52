/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drawing: elements, numbers with their units, charts of values over time, bars over time. Text goes
 * into the page as text nodes only, never as markup.
 */
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

/*
 * A text that a user may have written, made safe to show: characters that change how the rest is read (control
 * characters, changes of direction) are replaced by their numbers, as visible_lines() does for terminals.
 */
function shown(text) {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g, (one) => {
    const number = one.charCodeAt(0);
    return number < 256 ? `\\x${number.toString(16).padStart(2, '0')}` : `\\u${number.toString(16).padStart(4, '0')}`;
  });
}

/* Adds attributes and children (texts or nodes); null and undefined are left out. */
function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) node.setAttribute(name, typeof value === 'string' ? shown(value) : value);
  node.append(...children.filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === 'string' ? shown(child) : child)));
  return node;
}

function el(tag, attributes, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

function shape(tag, attributes, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

/* A number as text; a dash where it is not known. */
const isKnown = (value) => typeof value === 'number' && Number.isFinite(value);

function digits(value, most) {
  return (Math.abs(value) < 10 ** -most / 2 ? 0 : value).toLocaleString('en', { maximumFractionDigits: most, useGrouping: false });
}

/* Three digits, four for small numbers: enough for a tile. */
function inUnit(value, unit) {
  if (!isKnown(value)) return '–';
  const size = Math.abs(value);
  for (const [whole, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (size >= Math.max(whole, 1e4)) return `${digits(value / whole, size >= 99.95 * whole ? 0 : size >= 9.995 * whole ? 1 : 2)} ${name}${unit}`;
  return `${digits(value, size >= 100 ? 0 : size >= 1 ? 1 : 2)} ${unit}`.trimEnd();
}

/* A number for a scale, whose unit stands elsewhere. */
function shortNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${digits(value / 1e9, 2)}G`;
  if (size >= 1e6) return `${digits(value / 1e6, 2)}M`;
  return size >= 1e4 ? `${digits(value / 1e3, 1)}k` : digits(value, 3);
}

function duration(seconds) {
  if (!isKnown(seconds)) return '–';
  const size = Math.abs(seconds);
  if (size < 10) return `${digits(seconds, 1)} s`;
  if (size < 120) return `${digits(seconds, 0)} s`;
  if (size < 7200) return `${digits(seconds / 60, 1)} min`;
  if (size < 172800) return `${digits(seconds / 3600, 1)} h`;
  return `${digits(seconds / 86400, 1)} d`;
}

/* The step of a scale: 1, 2 or 5 times a power of ten, of which about `count` fit into `span`. */
function niceStep(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
}

/* The unit of a time axis, by its length: seconds each, name, and the steps that it may have. */
function timeUnit(span) {
  if (span <= 180) return { size: 1, name: 's' };
  if (span <= 3 * 3600) return { size: 60, name: 'min' };
  if (span <= 3 * 86400) return { size: 3600, name: 'h' };
  return { size: 86400, name: 'days' };
}

function ticks(from, to, step) {
  const list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) list.push(i * step);
  return list;
}

/* The value of a series at a time: the last one of a step curve, else that of the nearest point; null before it began. */
function valueAt(series, time) {
  let best = null;
  if (series.points.length && series.points[0][0] > time) return null;
  for (const point of series.points) {
    if (series.step) {
      if (point[0] > time) break;
      best = point;
    } else if (!best || Math.abs(point[0] - time) <= Math.abs(best[0] - time)) best = point;
    else break;
  }
  return best ? best[1] : null;
}

function curvePath(series, x, y) {
  let path = '';
  let before = null;
  for (const point of series.points) {
    const at = `${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`;
    if (!before) path = `M${at}`;
    else if (series.step) path += `H${x(point[0]).toFixed(1)}V${y(point[1]).toFixed(1)}`;
    else path += `${point[0] - before[0] > (series.gap || Infinity) ? 'M' : 'L'}${at}`;
    before = point;
  }
  return path;
}

/*
 * A chart of values over time in a <figure>: caption, legend with the last values (or those under the
 * pointer), drawing, and the same numbers as a table. draw() takes { from, to, series: [{ name,
 * points: [[time_s, value]...], step, gap, style, dashed }], note }; times are seconds.
 */
class Chart {
  constructor(figure, title, unit) {
    this.figure = figure;
    this.title = title;
    this.unit = unit;
    this.note = el('span');
    this.legend = el('ul', { class: 'legend' });
    this.plot = el('div', { class: 'plot' });
    this.head = el('tr');
    this.body = el('tbody');
    const heading = unit ? `${title}, ${unit} ` : `${title} `;
    const table = el('table', null, el('caption', { class: 'muted' }, heading),
                     el('thead', null, this.head), this.body);
    figure.append(el('figcaption', null, heading, this.note), this.legend, this.plot,
                  el('details', null, el('summary', null, 'As a table'), el('div', { tabindex: 0 }, table)));
    new ResizeObserver(() => this.data && this.redraw()).observe(this.plot);
    this.plot.addEventListener('pointermove', (event) => this.point(event));
    this.plot.addEventListener('pointerleave', () => this.point(null));
  }

  draw(data) {
    this.data = data;
    this.note.textContent = shown(data.note || '');
    this.redraw();
    this.tabulate();
  }

  /* Scales: the time axis is given, the other from 0 (or below) to a round value above all. */
  scale() {
    const values = this.data.series.flatMap((series) => series.points.map((point) => point[1]));
    const least = Math.min(0, ...values);
    const high = Math.max(least + 1e-3, ...values, this.data.least || 0);
    const low = least > -0.02 * high ? 0 : least; /* noise about 0 needs no room of its own */
    const step = niceStep(high - low, 4);
    this.width = Math.max(this.plot.clientWidth, 200);
    this.height = 210;
    this.box = { left: 46, right: this.width - 10, top: 10, bottom: this.height - 36 };
    this.low = Math.floor(low / step) * step;
    this.high = Math.ceil(high / step - 1e-9) * step;
    this.step = step;
    const { left, right, top, bottom } = this.box;
    const span = Math.max(this.data.to - this.data.from, 1e-3);
    this.x = (time) => left + ((time - this.data.from) / span) * (right - left);
    this.y = (value) => bottom - ((value - this.low) / (this.high - this.low)) * (bottom - top);
  }

  axes() {
    const { left, right, top, bottom } = this.box;
    const unit = timeUnit(this.data.to - this.data.from);
    const step = niceStep((this.data.to - this.data.from) / unit.size, this.width / 110) * unit.size;
    const group = shape('g', { 'aria-hidden': 'true' });
    for (const value of ticks(this.low, this.high, this.step)) {
      group.append(shape('line', { class: 'grid', x1: left, x2: right, y1: this.y(value), y2: this.y(value) }),
                   shape('text', { x: left - 7, y: this.y(value) + 4, 'text-anchor': 'end' },
                         shortNumber(value)));
    }
    for (const time of ticks(this.data.from, this.data.to, step)) {
      group.append(shape('line', { class: 'axis', x1: this.x(time), x2: this.x(time), y1: bottom, y2: bottom + 4 }),
                   shape('text', { x: this.x(time), y: bottom + 17, 'text-anchor': 'middle' },
                         digits(time / unit.size, 2)));
    }
    group.append(shape('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom }),
                 shape('text', { x: right, y: bottom + 32, 'text-anchor': 'end' }, `${unit.name} since the start`));
    return group;
  }

  redraw() {
    this.scale();
    const drawing = shape('svg', { viewBox: `0 0 ${this.width} ${this.height}`, height: this.height, role: 'img',
                                   'aria-label': this.describe() }, this.axes());
    for (const series of this.data.series)
      drawing.append(shape('path', { class: `${series.dashed ? 'limit' : 'curve'} ${series.style}`,
                                     d: curvePath(series, this.x, this.y) }));
    this.rule = shape('line', { class: 'rule', y1: this.box.top, y2: this.box.bottom, visibility: 'hidden' });
    drawing.append(this.rule);
    this.plot.replaceChildren(drawing);
    this.label(null);
  }

  describe() {
    const parts = this.data.series.map((series) => {
      const last = series.points.at(-1);
      return `${series.name} ${last ? inUnit(last[1], this.unit) : 'not known'}`;
    });
    return `${this.title} over time. Now: ${parts.join(', ') || 'nothing to show'}.`;
  }

  /* The legend, with values at a time; null: the last ones. */
  label(time) {
    this.legend.replaceChildren(...this.data.series.map((series) => {
      const value = time === null ? (series.points.at(-1) || [])[1] : valueAt(series, time);
      const line = shape('line', { class: `${series.dashed ? 'limit' : 'curve'} ${series.style}`, x1: 1, x2: 21, y1: 5, y2: 5 });
      return el('li', null, shape('svg', { width: 22, height: 10, 'aria-hidden': 'true' }, line), `${series.name} `,
                el('b', null, inUnit(value, this.unit)));
    }));
    if (time !== null) this.legend.append(el('li', null, `at ${duration(time)}${this.data.utcOf(time) ? `, ${this.data.utcOf(time)}` : ''}`));
  }

  point(event) {
    if (!this.data) return;
    const box = this.plot.getBoundingClientRect();
    const { left, right } = this.box;
    const at = event ? ((event.clientX - box.left) / box.width) * this.width : -1;
    const inside = at >= left && at <= right;
    const time = this.data.from + ((at - left) / (right - left)) * (this.data.to - this.data.from);
    this.rule.setAttribute('visibility', inside ? 'visible' : 'hidden');
    if (inside) {
      this.rule.setAttribute('x1', at);
      this.rule.setAttribute('x2', at);
    }
    this.label(inside ? time : null);
  }

  /* Twelve rows, the youngest first. */
  tabulate() {
    const { from, to, series, utcOf } = this.data;
    this.head.replaceChildren(el('th', { scope: 'col' }, 'Time since the start'), el('th', { scope: 'col' }, 'UTC'),
                              ...series.map((one) => el('th', { scope: 'col', class: 'number' }, one.name)));
    const rows = [];
    for (let i = 12; i > 0 && to > from; i--) {
      const time = from + ((to - from) * i) / 12;
      rows.push(el('tr', null, el('td', null, duration(time)), el('td', null, utcOf(time)),
                   ...series.map((one) => el('td', { class: 'number' }, inUnit(valueAt(one, time), this.unit)))));
    }
    this.body.replaceChildren(...rows);
  }
}

/*
 * Bars over time in a <figure>, one lane for each name, and the same numbers as a table: { from, to, utcOf, lanes:
 * [{ name, bars: [{ from, to, what, style }] }] }. utcOf(time) is the time's UTC, as text.
 */
function drawBars(figure, title, data) {
  const width = Math.max(figure.clientWidth - 34, 220);
  const left = Math.min(110, width / 4);
  const right = width - 12;
  const height = 30 * data.lanes.length + 42;
  const span = Math.max(data.to - data.from, 1e-3);
  const x = (time) => left + ((time - data.from) / span) * (right - left);
  const unit = timeUnit(span);
  const step = niceStep(span / unit.size, width / 110) * unit.size;
  const drawing = shape('svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': title });
  const bottom = height - 36;
  for (const time of ticks(data.from, data.to, step))
    drawing.append(shape('line', { class: 'grid', x1: x(time), x2: x(time), y1: 4, y2: bottom }),
                   shape('text', { x: x(time), y: bottom + 16, 'text-anchor': 'middle' }, digits(time / unit.size, 2)));
  drawing.append(shape('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom }),
                 shape('text', { x: right, y: bottom + 31, 'text-anchor': 'end' }, `${unit.name} since the start`));
  data.lanes.forEach((lane, i) => {
    drawing.append(shape('text', { x: left - 8, y: 30 * i + 23, 'text-anchor': 'end' }, lane.name));
    for (const bar of lane.bars)
      drawing.append(shape('rect', { class: bar.style, x: x(bar.from), y: 30 * i + 8, rx: 3, height: 20,
                                     width: Math.max(x(bar.to) - x(bar.from), 2) },
                           shape('title', null, `${bar.what}: ${duration(bar.from)} to ${duration(bar.to)}`)));
  });
  const rows = data.lanes.flatMap((lane) => lane.bars.map((bar) => [bar, lane.name]))
    .sort((a, b) => a[0].from - b[0].from)
    .map(([bar, name]) => el('tr', null, el('td', null, bar.what), el('td', null, name),
                             el('td', { class: 'number' }, duration(bar.from)), el('td', null, data.utcOf(bar.from)),
                             el('td', { class: 'number' }, duration(bar.to - bar.from))));
  const names = ['What', 'Where', 'From', 'UTC', 'For'];
  figure.replaceChildren(el('div', { class: 'plot' }, drawing),
    el('table', { 'aria-label': title }, el('thead', null, el('tr', null, ...names.map((name, i) =>
      el('th', { scope: 'col', class: i === 2 || i === 4 ? 'number' : null }, name)))), el('tbody', null, ...rows)));
}
