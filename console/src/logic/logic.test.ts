import { describe, expect, test } from 'vitest';
import type { Bar, Lifecycle, LifecycleMove } from '../api.ts';
import { segments, windowOf } from './bars.ts';
import { edgesOf } from './edges.ts';
import { read } from './lines.ts';
import { Ring, pace } from './pace.ts';
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
  const of = { since: '2026-01-01T00:00:00Z', declared: 600, deadline: null, usual: 3, p99: 12, moves: 40, lane: '', late: true, overdue: false };
  const now = Date.parse('2026-01-01T00:00:42Z');
  expect(lasting(of, now)).toBe('here for 42 s; usually 3.0 s, 99 of 100 within 12 s (from 40); at most 10 min');
  expect(lasting({ ...of, usual: null, p99: null, declared: null }, now)).toBe('here for 42 s');
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

const move = (source: string, trigger: string, on: string, target: string): LifecycleMove => ({ source, trigger, on, actor: 'user', target, forced: false });
const state = (name: string, state_class: 'settled' | 'moving') => ({ name, state_class, says: '', bad: false, deadline: null, awaits: null });
const door: Lifecycle = {
  kind: 'door', family: '', says: '', parent: '', members: '', findings: [], explored: null, actions: [],
  states: [state('Closed', 'settled'), state('Opening', 'moving'), state('Open', 'settled')],
  moves: [move('Closed', 'request', 'open', 'Opening'), move('Opening', 'done', 'open', 'Open'), move('Opening', 'failed', 'open', 'Closed'), move('Open', 'seen', 'Closed', 'Closed')],
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
  const bar: Bar = {
    path: '/a', kind: 'vm', begin: '2026-01-01T00:00:01Z', end: '2026-01-01T00:00:03Z', origin: 'Running', outcome: 'done', says: '',
    phases: [{ state: 'Suspending', at: '2026-01-01T00:00:01Z' }, { state: 'Suspended', at: '2026-01-01T00:00:03Z' }],
  };
  const time = windowOf([bar], '2026-01-01T00:00:00Z', '2026-01-01T00:00:04Z', 0);
  expect(segments(bar, time, 0).map((part) => [part.state, part.left, part.width])).toEqual([['Suspending', 25, 50], ['Suspended', 75, 0]]);
});
