/** Lifecycles, each remembered for a while: most change only with the server, and some whenever somebody registers one. */
import { signal } from '@preact/signals';
import { get, type Health, type LifecycleDetail } from './api.ts';

/** Milliseconds for which one counts as known. */
const FRESH = 10_000;

const asked = new Map<string, { at: number; whole: Promise<LifecycleDetail> }>();
const known = new Map<string, Map<string, Health>>();
/** Rises when one more is known. */
export const learnt = signal(0);

export function lifecycle(kind: string): Promise<LifecycleDetail> {
  let found = asked.get(kind);
  if (!found || Date.now() - found.at > FRESH) {
    found = { at: Date.now(), whole: get<LifecycleDetail>(`/v1/cells/-/lifecycles/${encodeURIComponent(kind)}`) };
    asked.set(kind, found);
    found.whole.then(
      (whole) => {
        known.set(kind, new Map(whole.states.map((s) => [s.name, healthOf(s.state_class, s.unhealthy)])));
        learnt.value += 1;
      },
      () => asked.delete(kind),
    );
  }
  return found.whole;
}

export function healthOf(cls: string, bad: boolean): Health {
  if (bad) return 'trouble';
  return cls === 'transitional' ? 'moving' : cls === 'stable' ? 'well' : cls === 'final' ? 'ended' : 'empty';
}

/** How well a state is; asks for the lifecycle where it is not known yet. */
export function health(kind: string, state: string): Health {
  const states = known.get(kind);
  if (!states?.has(state)) void lifecycle(kind);
  return states?.get(state) ?? 'empty';
}
