/** The time that the calendar shows: from when to when, where one steps from there, its ticks, and who lies where in it. */
export type Unit = 'day' | 'week' | 'month';
export const UNITS: readonly Unit[] = ['day', 'week', 'month'];

export interface Span { unit: Unit; begin: Date; end: Date }
/** In percent of the span; those that are `sparse` are told in a narrow window too. */
export interface Tick { left: number; label: string; sparse: boolean }
export interface Placed { left: number; width: number; before: boolean; after: boolean }

const HOUR = 3_600_000;
const ADDRESS = /^\/(day|week|month)(?:\/((?:19|20|21)\d\d)-(\d\d)-(\d\d))?$/;
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const TITLES: Record<Unit, Intl.DateTimeFormat> = {
  day: new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
  week: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' }),
  month: new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric' }),
};

/** The day, week or month that has a time in it. Days have 23 hours or 25 where clocks are changed. */
export function around(unit: Unit, at: Date): Span {
  const [year, month, day] = [at.getFullYear(), at.getMonth(), at.getDate()];
  if (unit === 'month') return { unit, begin: new Date(year, month, 1), end: new Date(year, month + 1, 1) };
  const first = unit === 'week' ? day - ((at.getDay() + 6) % 7) : day;
  return { unit, begin: new Date(year, month, first), end: new Date(year, month, first + (unit === 'week' ? 7 : 1)) };
}

/** What an address such as `/week/2026-11-16` asks for; without a day it is today's, and what makes no sense is this week. */
export function spanOf(rest: string, now: number): Span {
  const found = ADDRESS.exec(rest);
  if (!found) return around('week', new Date(now));
  const [, unit, year, month, day] = found;
  return around(unit as Unit, year ? new Date(Number(year), Number(month) - 1, Number(day)) : new Date(now));
}

export const has = (span: Span, at: number): boolean => span.begin.getTime() <= at && at < span.end.getTime();

/** The address of what has a time in it. */
export function address(unit: Unit, at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  return `/calendar/${unit}/${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The span before or after. */
export const step = (span: Span, by: 1 | -1): string =>
  address(span.unit, by > 0 ? span.end : around(span.unit, new Date(span.begin.getTime() - HOUR)).begin);

/** Another span about the same time: about now where that is shown. */
export const turned = (span: Span, unit: Unit, now: number): string =>
  address(unit, has(span, now) ? new Date(now) : span.begin);

export function title(span: Span): string {
  const how = TITLES[span.unit];
  return span.unit === 'week' ? how.formatRange(span.begin, new Date(span.end.getTime() - HOUR)) : how.format(span.begin);
}

/** Where a time is, in percent. */
export const share = (span: Span, at: number): number =>
  (100 * (at - span.begin.getTime())) / (span.end.getTime() - span.begin.getTime());

export function ticks(span: Span): Tick[] {
  const found: Tick[] = [];
  if (span.unit === 'day') {
    for (let at = span.begin.getTime(); at < span.end.getTime(); at += HOUR) {
      const hour = new Date(at).getHours();
      found.push({ left: share(span, at), label: hour % 3 ? '' : `${String(hour).padStart(2, '0')}:00`, sparse: hour % 6 === 0 });
    }
    return found;
  }
  for (let day = span.begin; day < span.end; day = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1)) {
    const label = span.unit === 'week' ? `${WEEKDAY.format(day)} ${day.getDate()}` : String(day.getDate());
    found.push({ left: share(span, day.getTime()), label, sparse: span.unit === 'week' || day.getDate() % 7 === 1 });
  }
  return found;
}

/** Where something lies in a span, and whether it goes on before or after; null where it does not lie in it. */
export function placed(span: Span, start: string, end: string): Placed | null {
  const [from, to] = [Date.parse(start), Date.parse(end)];
  const [begin, close] = [span.begin.getTime(), span.end.getTime()];
  if (to <= begin || from >= close) return null;
  const left = share(span, Math.max(from, begin));
  return { left, width: share(span, Math.min(to, close)) - left, before: from < begin, after: to > close };
}
