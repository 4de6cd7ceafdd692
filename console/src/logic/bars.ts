/** Where the bars of a timeline begin and end, in percent of the whole time. */
import type { TimelineBar } from '../api.ts';

export interface Segment {
  state: string;
  left: number;
  width: number;
  /** In milliseconds. */
  lasted: number;
}

export interface Window {
  begin: number;
  end: number;
}

/** The time that all bars fit in. */
export function windowOf(bars: TimelineBar[], created: string, ended: string | null, now: number): Window {
  const begin = Math.min(Date.parse(created), ...bars.map((bar) => Date.parse(bar.started_at)));
  const last = ended ? Date.parse(ended) : now;
  const end = Math.max(last, ...bars.map((bar) => Date.parse(bar.ended_at ?? bar.started_at)));
  return { begin, end: Math.max(end, begin + 50) };
}

/** The states of a bar, each from when it came to when the next one did; the one at rest is a mark only. */
export function segments(bar: TimelineBar, time: Window, now: number): Segment[] {
  const whole = time.end - time.begin;
  const close = bar.ended_at ? Date.parse(bar.ended_at) : Math.min(now, time.end);
  return bar.phases.map((phase, i) => {
    const from = Date.parse(phase.at);
    const next = bar.phases[i + 1];
    const to = Math.max(from, next ? Date.parse(next.at) : close);
    return { state: phase.state, left: (100 * (from - time.begin)) / whole, width: (100 * (to - from)) / whole, lasted: to - from };
  });
}
