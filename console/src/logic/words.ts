/** How things are said: numbers, times, spans, tones of states. */
import type { Health, Elapsed } from '../api.ts';

const NUMBER = new Intl.NumberFormat('en');

export const number = (n: number): string => NUMBER.format(n);

export const plural = (n: number, word: string): string => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

/** A span in the two largest units that matter. */
export function span(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return whole % 60 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${whole / 60} min`;
  if (whole < 86400) {
    const minutes = Math.floor((whole % 3600) / 60);
    return minutes ? `${Math.floor(whole / 3600)} h ${minutes} min` : `${Math.floor(whole / 3600)} h`;
  }
  const hours = Math.floor((whole % 86400) / 3600);
  return hours ? `${Math.floor(whole / 86400)} d ${hours} h` : `${Math.floor(whole / 86400)} d`;
}

/** For how long it has lasted, how long it usually does, and how long it may. */
export function lasting(of: Elapsed, now: number): string {
  const parts = [`here for ${span((now - Date.parse(of.since)) / 1000)}`];
  if (of.typical !== null && of.p99 !== null) parts.push(`usually ${span(of.typical)}, 99 of 100 within ${span(of.p99)} (from ${number(of.samples)}${of.lane ? ` on ${of.lane}` : ''})`);
  if (of.limit !== null) parts.push(`at most ${span(of.limit)}`);
  return parts.join('; ');
}

/** How long ago, roughly. */
export function ago(at: string | null, now: number): string {
  if (!at) return 'never';
  const seconds = (now - Date.parse(at)) / 1000;
  if (seconds < 2) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** The time of day, with the day where it is another than today. */
export function clock(at: string | number | Date, now = Date.now()): string {
  const when = new Date(at);
  const same = when.toDateString() === new Date(now).toDateString();
  return same ? CLOCK.format(when) : `${DAY.format(when)} ${CLOCK.format(when)}`;
}

const MINUTE = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** A day and a time, to the minute. */
export const date = (at: string): string => MINUTE.format(new Date(at));

export type Tone = Health | 'rest';

/** The tone of a state: what rests without working, or is over, is told from what runs. */
export function tone(state: string, health: Health): Tone {
  if (health === 'well' && /^terminated$/i.test(state)) return 'ended';
  if (health === 'well' && /suspend|paus|halt|disab|pending|mainten|delet|virtual|modeled|undone/i.test(state)) return 'rest';
  return health;
}

const ORDER: Tone[] = ['trouble', 'moving', 'well', 'rest', 'ended', 'empty'];
export const worse = (a: Tone, b: Tone): number => ORDER.indexOf(a) - ORDER.indexOf(b);

export const parent = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
export const leaf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
