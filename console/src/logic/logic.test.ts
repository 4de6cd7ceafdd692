import { describe, expect, test } from 'vitest';
import type { TimelineBar, RunningDeploy, LifecycleDetail, LifecycleTransition, System, SystemPart } from '../api.ts';
import { segments, windowOf } from './bars.ts';
import { address, around, has, placed, spanOf, step, ticks, title, turned } from './calendar.ts';
import { edgesOf } from './edges.ts';
import { read } from './lines.ts';
import { Ring, pace } from './pace.ts';
import { grown, rowsOf, systemOf } from './system.ts';
import { ago, lasting, leaf, parent, span, tone } from './words.ts';

describe('a ring', () => {
  test('keeps the last few, the newest first', () => {
    const ring = new Ring<number>(3);
    expect(ring.last(2)).toEqual([]);
    for (let i = 1; i <= 1000; i++) ring.push(i);
    expect(ring.size).toBe(3);
    expect(ring.last(5)).toEqual([1000, 999, 998]);
  });
});

test('a view is loaded four times a second at most, and seldom where that takes long', () => {
  expect(pace(0, 10, 250)).toBe(250);
  expect(pace(200, 10, 250)).toBe(50);
  expect(pace(5000, 10, 250)).toBe(0);
  expect(pace(0, 100, 250)).toBe(400);
  expect(pace(0, 1000, 250)).toBe(1500);
});

test('how long it lasts is told beside how long it usually does', () => {
  const of = { since: '2026-01-01T00:00:00Z', limit: 600, deadline: null, typical: 3, p99: 12, samples: 40, lane: '', late: true, overdue: false };
  const now = Date.parse('2026-01-01T00:00:42Z');
  expect(lasting(of, now)).toBe('here for 42 s; usually 3.0 s, 99 of 100 within 12 s (from 40); at most 10 min');
  expect(lasting({ ...of, typical: null, p99: null, limit: null }, now)).toBe('here for 42 s');
});

test('spans are told in units that matter', () => {
  expect([0.25, 2.34, 42, 90, 3600, 7500, 200_000].map(span)).toEqual(['250 ms', '2.3 s', '42 s', '1 min 30 s', '1 h', '2 h 5 min', '2 d 7 h']);
  expect(ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:05:30Z'))).toBe('5 min ago');
});

test('paths have parents and names', () => {
  expect([parent('/a/b'), parent('/a'), leaf('/a/b')]).toEqual(['/a', '/', 'b']);
});

test('what rests is told from what runs', () => {
  expect([tone('Running', 'well'), tone('Suspended', 'well'), tone('Failed', 'trouble')]).toEqual(['well', 'rest', 'trouble']);
  expect([tone('PENDING', 'well'), tone('ACTIVE', 'well'), tone('TERMINATED', 'well')]).toEqual(['rest', 'well', 'ended']);
});

describe('a file', () => {
  const file = read('defaults: {spec: small}\nsubgroups:\n  - name: a\n    size: 1\n  - name: B\n');
  test('has a line for each field that a server names', () => {
    expect(file.mistakes).toEqual([]);
    expect(['spec.subgroups.1.name', 'spec.subgroups.0.size', 'spec.subgroups.1.region', 'spec.defaults.spec'].map(file.lineOf)).toEqual([5, 4, 5, 1]);
  });
  test('that is none says where', () => {
    const broken = read('a: 1\nb: [1, 2\nc: 3\n');
    expect(broken.mistakes[0]?.line).toBeGreaterThan(1);
    expect(broken.value).toBeNull();
  });
});

const move = (source: string, trigger: string, on: string, target: string): LifecycleTransition => ({ source, trigger, detail: on, actor: 'user', target, forced: false });
const state = (name: string, state_class: 'stable' | 'transitional') => ({ name, state_class, description: '', unhealthy: false, timeout: null, awaits: null });
const door: LifecycleDetail = {
  kind: 'door', family: '', description: '', parent: '', members: '', findings: [], explored: null, registered: null, actions: [],
  states: [state('Closed', 'stable'), state('Opening', 'transitional'), state('Open', 'stable')],
  transitions: [move('Closed', 'request', 'open', 'Opening'), move('Opening', 'succeeded', 'open', 'Open'), move('Opening', 'failed', 'open', 'Closed'), move('Open', 'observed', 'Closed', 'Closed')],
};

describe('a picture', () => {
  test('has the way of actions and of failure, and the rest when asked', () => {
    expect(edgesOf(door, false).map((edge) => [edge.source, edge.target, edge.label, edge.fails])).toEqual([
      ['Closed', 'Opening', 'open', false], ['Opening', 'Open', '', false], ['Opening', 'Closed', '', true],
    ]);
    expect(edgesOf(door, true)).toHaveLength(4);
  });
  test('has whatever happened', () => {
    expect(edgesOf(door, false, new Map([['Open Closed', ''], ['Closed Open', ''], ['Gone Open', '']]))).toHaveLength(5);
  });
  test('names the action that was asked for, not one that leads the same way', () => {
    expect(edgesOf(door, false, new Map([['Closed Opening', 'push']]))[0]?.label).toBe('push');
  });
});

test('bars fit their window', () => {
  const bar: TimelineBar = {
    path: '/a', kind: 'vm', started_at: '2026-01-01T00:00:01Z', ended_at: '2026-01-01T00:00:03Z', source: 'Running', outcome: 'succeeded', message: '',
    phases: [{ state: 'Suspending', at: '2026-01-01T00:00:01Z' }, { state: 'Suspended', at: '2026-01-01T00:00:03Z' }],
  };
  const time = windowOf([bar], '2026-01-01T00:00:00Z', '2026-01-01T00:00:04Z', 0);
  expect(segments(bar, time, 0).map((part) => [part.state, part.left, part.width])).toEqual([['Suspending', 25, 50], ['Suspended', 75, 0]]);
});

describe('the calendar', () => {
  const now = new Date(2026, 10, 18, 15, 30).getTime();
  test('shows what its address says, and this week where that makes no sense', () => {
    for (const wrong of ['', '/week', '/year/2026-01-01', '/day/0001-01-01', '/week/soon']) {
      const span = spanOf(wrong, now);
      expect([span.unit, span.begin, span.end]).toEqual(['week', new Date(2026, 10, 16), new Date(2026, 10, 23)]);
    }
    expect(spanOf('/month/2027-02-14', now)).toEqual({ unit: 'month', begin: new Date(2027, 1, 1), end: new Date(2027, 2, 1) });
    expect(spanOf('/day', now).begin).toEqual(new Date(2026, 10, 18));
    expect(around('week', new Date(2026, 10, 22)).begin).toEqual(new Date(2026, 10, 16));
  });
  test('is stepped through, to and fro', () => {
    for (const unit of ['day', 'week', 'month'] as const) {
      const span = around(unit, new Date(now));
      const there = spanOf(step(span, 1).slice('/calendar'.length), now);
      expect(there.begin).toEqual(span.end);
      expect(step(there, -1)).toBe(address(unit, span.begin));
    }
    expect(step(around('month', new Date(2026, 0, 31)), -1)).toBe('/calendar/month/2025-12-01');
  });
  test('stays about now where that is shown', () => {
    expect(turned(around('month', new Date(now)), 'day', now)).toBe('/calendar/day/2026-11-18');
    expect(turned(around('month', new Date(2026, 11, 5)), 'day', now)).toBe('/calendar/day/2026-12-01');
  });
  test('has ticks for hours and days', () => {
    const day = ticks(around('day', new Date(now)));
    expect(day.filter((tick) => tick.label).map((tick) => tick.label)).toEqual(['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00']);
    expect(day.filter((tick) => tick.sparse).map((tick) => tick.left)).toEqual([0, 25, 50, 75]);
    expect(ticks(around('week', new Date(now))).map((tick) => tick.label)).toEqual(['Mon 16', 'Tue 17', 'Wed 18', 'Thu 19', 'Fri 20', 'Sat 21', 'Sun 22']);
    const month = ticks(around('month', new Date(now)));
    expect([month.length, month.filter((tick) => tick.sparse).map((tick) => tick.label)]).toEqual([30, ['1', '8', '15', '22', '29']]);
    expect(title(around('week', new Date(now)))).toMatch(/^16\D+22 Nov 2026$/);
  });
  test('has bookings where they belong, and says where they go on', () => {
    const span = around('day', new Date(now));
    const hour = (n: number) => new Date(2026, 10, 18, n).toISOString();
    expect(placed(span, hour(6), hour(12))).toEqual({ left: 25, width: 25, before: false, after: false });
    expect(placed(span, hour(-6), hour(36))).toEqual({ left: 0, width: 100, before: true, after: true });
    expect([placed(span, hour(-6), hour(0)), placed(span, hour(24), hour(30))]).toEqual([null, null]);
    expect([has(span, now), has(span, span.end.getTime())]).toEqual([true, false]);
  });
});

describe('a system', () => {
  const part = (path: string, state = 'stable', up: number | null = 1, kind = 'service'): SystemPart => ({ path: `/shop/site${path}`, kind, state, lane: 'local.one', count: 2, running: up, operation: null });
  const claim = (place: string): RunningDeploy => ({ id: place, action: 'deploy', place: `/shop/site${place}`, principal: 'ann', since: '', total: 2, remaining: 1, failed: 0, expanded: true, cancelled: false });
  const site: System = {
    path: '/shop/site', state: 'stable', operation: null, lanes: [], running: [],
    parts: [part('/data/db/one', 'failed', null), part('/data/db/two'), part('/data/load', 'succeeded', null, 'job'), part('/web', 'stable', 2)],
  };
  const drawn = (claims: RunningDeploy[], open: string[] | null = null, filter = '') =>
    rowsOf(grown(site, claims), (node) => !open || open.includes(node.path), filter).map((row) => [row.claim ? `[${row.claim.id}]` : row.node.path.slice(10), row.depth, row.bands.map((band) => `${band.first ? '(' : ''}${band.depth}${band.last ? ')' : ''}`).join(' ')]);
  test('is a tree, with branches that say what is below them', () => {
    expect(drawn([])).toEqual([['', 0, ''], ['/data', 1, ''], ['/data/db', 2, ''], ['/data/db/one', 3, ''], ['/data/db/two', 3, ''], ['/data/load', 2, ''], ['/web', 1, '']]);
    const root = grown(site, [claim('/data/db')]);
    expect(root.counts).toEqual({ service: { failed: 1, stable: 2 }, job: { succeeded: 1 } });
    expect([root.total, root.up, root.wanted, root.within, root.claims.length]).toEqual([4, 3, 6, 1, 0]);
  });
  test('has claims over all that is at their places and below them, whether or not that is there yet', () => {
    expect(drawn([claim('/data/db'), claim('/new/one')])).toEqual([
      ['', 0, ''], ['/data', 1, ''], ['[/data/db]', 2, '(2'], ['/data/db', 2, '2'], ['/data/db/one', 3, '2'], ['/data/db/two', 3, '2)'],
      ['/data/load', 2, ''], ['/new', 1, ''], ['[/new/one]', 2, '(2'], ['/new/one', 2, '2)'], ['/web', 1, ''],
    ]);
  });
  test('is folded, claims and all', () => {
    expect(drawn([claim('/data/db')], ['/shop/site'])).toEqual([['', 0, ''], ['/data', 1, ''], ['/web', 1, '']]);
    expect(drawn([claim('/data')], ['/shop/site'])).toEqual([['', 0, ''], ['[/data]', 1, '(1'], ['/data', 1, '1)'], ['/web', 1, '']]);
    expect(drawn([claim('')], [])).toEqual([['[]', 0, '(0'], ['', 0, '0)']]);
  });
  test('is filtered by names, states, lanes and claims, with what is above', () => {
    expect(drawn([claim('/data/db')], [], 'under way').map(([path]) => path)).toEqual(['', '/data', '[/data/db]', '/data/db', '/data/db/one', '/data/db/two']);
    expect(drawn([], [], 'FAILED').map(([path]) => path)).toEqual(['', '/data', '/data/db', '/data/db/one']);
    expect(drawn([], null, 'elsewhere')).toEqual([]);
  });
  test('is found from what is in it', () => {
    expect(['/shop/site', '/shop/site/data/db'].map(systemOf)).toEqual(['/shop/site', '/shop/site']);
  });
});
