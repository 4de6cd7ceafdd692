/** One stream of events for all views. A view loads its own data again when an event concerns it, not too often. */
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Away, get, type JournalLine, unknown } from './api.ts';
import { Ring, pace } from './logic/pace.ts';

const SOONEST = 250;
const KEPT = 500;
/** Before a lost stream is looked for again. */
const PAUSE = 1000;

export type Link = 'connecting' | 'live' | 'away';
export const link = signal<Link>('connecting');
/** The latest moves, the newest last; never more than a few hundred. */
export const recent = new Ring<JournalLine>(KEPT);
/** Rises at most four times a second while something happens. */
export const beat = signal(0);

interface Listener {
  hear(line: JournalLine): void;
  anew(): void;
}
const listeners = new Set<Listener>();
let source: EventSource | null = null;
let again: number | undefined;
let beating = false;
/** The position of the last event. */
let last: number | null = null;
/** How often a stream was lost though the server answers. */
let refused = 0;

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follow from where the last stream ended. Whatever was missed in between is loaded anew by the views. */
export function follow(): void {
  source?.close();
  source = new EventSource(last === null ? '/v1/events' : `/v1/events?after=${last}`);
  source.onopen = () => {
    refused = 0;
    const back = link.value !== 'live';
    link.value = 'live';
    if (back) for (const listener of listeners) listener.anew();
  };
  source.onerror = lost;
  for (const kind of ['move', 'refusal', 'note']) source.addEventListener(kind, heard as EventListener);
}

/** The server is away: the stream broke, or a question was not answered though the stream seems to stand. */
function lost(): void {
  source?.close();
  link.value = 'away';
  window.clearTimeout(again);
  again = window.setTimeout(() => void resume(), PAUSE);
}

/** Whoever has come in follows, and sees everything anew. */
let outside = false;
unknown.subscribe((not) => {
  if (outside && !not) {
    last = null;
    void resume();
  }
  outside = not;
});

/** Once the server answers again. A position that it does not take any more is given up. */
async function resume(): Promise<void> {
  try {
    const { end } = await get<{ end: number }>('/v1/journal', { limit: 1 });
    refused += 1;
    if (last !== null && (end < last || refused > 2)) last = null;
  } catch {
    // Whoever is not known comes back when they are: see below.
    if (!unknown.value) again = window.setTimeout(() => void resume(), PAUSE);
    return;
  }
  follow();
}

function heard(event: MessageEvent<string>): void {
  const line = JSON.parse(event.data) as JournalLine;
  last = line.position;
  line.change = 'error' in line.change ? { error: line.change['error'] } : {};
  recent.push(line);
  for (const listener of listeners) listener.hear(line);
  if (!beating) {
    beating = true;
    window.setTimeout(() => {
      beating = false;
      beat.value += 1;
    }, SOONEST);
  }
}

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  /** What is shown may be old: the last load failed. */
  old: boolean;
  reload(): void;
}

interface Options {
  /** Whether an event makes the data old. */
  concerns?: (line: JournalLine) => boolean;
  /** Milliseconds after which it is loaded again though nothing was heard. */
  every?: number;
}

/** Data of a view: loaded when the key changes, and again when something that concerns it happens. */
export function useLive<T>(key: string, load: () => Promise<T>, options: Options = {}): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: Error | null }>({
    key, data: null, error: null,
  });
  const latest = useRef({ load, options });
  latest.current = { load, options };
  const keeper = useMemo(() => {
    let timer: number | undefined;
    let busy = false;
    let dirty = false;
    let ended = false;
    let began = -Infinity;
    let took = 0;
    const run = async () => {
      timer = undefined;
      if (document.hidden) {
        dirty = true;
        return;
      }
      busy = true;
      dirty = false;
      began = performance.now();
      try {
        const data = await latest.current.load();
        if (!ended) setState({ key, data, error: null });
      } catch (error) {
        if (error instanceof Away && link.value !== 'away') lost();
        if (!ended) setState((now) => ({ key, data: now.key === key ? now.data : null, error: error as Error }));
      }
      took = performance.now() - began;
      busy = false;
      if (dirty && !ended) poke();
    };
    const poke = (now = false) => {
      if (ended) return;
      if (busy) {
        dirty = true;
        return;
      }
      if (timer !== undefined) {
        if (!now) return;
        window.clearTimeout(timer);
      }
      if (now) {
        void run();
        return;
      }
      timer = window.setTimeout(() => void run(), pace(performance.now() - began, took, SOONEST));
    };
    return {
      poke,
      awake: () => { if (!document.hidden && dirty) poke(true); },
      end: () => { ended = true; window.clearTimeout(timer); },
    };
  }, [key]);
  // Asked for before anything is painted: what takes longest begins first.
  useLayoutEffect(() => keeper.poke(true), [keeper]);
  useEffect(() => {
    const stop = listen({
      hear: (line) => { if (latest.current.options.concerns?.(line)) keeper.poke(); },
      anew: () => keeper.poke(),
    });
    const every = latest.current.options.every;
    const ticking = every ? window.setInterval(() => keeper.poke(), every) : undefined;
    document.addEventListener('visibilitychange', keeper.awake);
    return () => {
      stop();
      window.clearInterval(ticking);
      document.removeEventListener('visibilitychange', keeper.awake);
      keeper.end();
    };
  }, [keeper]);
  const mine = state.key === key ? state : { key, data: null, error: null };
  return { data: mine.data, error: mine.error, old: mine.data !== null && mine.error !== null, reload: () => keeper.poke(true) };
}

export const below = (path: string) => (line: JournalLine): boolean =>
  line.path === path || line.path.startsWith(path === '/' ? '/' : `${path}/`);
