/** The moves of a lifecycle as edges of its picture: one for each pair of states. */
import type { LifecycleDetail, LifecycleTransition } from '../api.ts';

export interface Edge {
  source: string;
  target: string;
  label: string;
  fails: boolean;
  words: string[];
}

const WAY = new Set(['request', 'started', 'succeeded', 'next', 'children', 'connected', 'disconnected']);
/** An action that may start in more states is drawn from the first two. */
const FEW = 3;
const FAILURE = new Set(['failed', 'timed_out', 'rolled_back', 'declined']);

/** Moves that were made, as `source target`, each with the action that asked for it, if one did. */
export type Taken = Map<string, string>;

/** With `all`, also what a look leads to and what is forced; whatever was taken is always there. */
export function edgesOf(of: LifecycleDetail, all: boolean, taken?: Taken): Edge[] {
  const names = new Set(of.states.map((state) => state.name));
  const moving = new Set(of.states.filter((state) => state.state_class === 'transitional').map((state) => state.name));
  const mine = new Set<string>();
  const found = new Map<string, Edge>();
  const ordered = [...of.transitions].sort((a, b) => Number(!WAY.has(a.trigger)) - Number(!WAY.has(b.trigger)));
  for (const move of ordered) {
    if (move.source === move.target || !names.has(move.source) || !names.has(move.target)) continue;
    const pair = `${move.source} ${move.target}`;
    const fails = FAILURE.has(move.trigger) || (move.trigger === 'children' && of.actions.some((one) => one.name === move.detail && one.on_failure === move.target));
    if (!all && !taken?.has(pair) && aside(of, move, moving)) continue;
    const wanted = all || taken?.has(pair) || (!move.forced && (WAY.has(move.trigger) || move.trigger === 'failed'));
    if (!wanted) continue;
    const edge = found.get(pair) ?? { source: move.source, target: move.target, label: '', fails, words: [] };
    edge.words.push(word(move));
    if (move.trigger === 'request' && !move.forced && (!edge.label || (move.actor === 'user' && !mine.has(pair)))) {
      edge.label = move.detail;
      if (move.actor === 'user') mine.add(pair);
    }
    found.set(pair, edge);
  }
  for (const [pair, action] of taken ?? []) {
    const [source, target] = pair.split(' ') as [string, string];
    const edge = found.get(pair);
    if (edge) edge.label = action || edge.label;
    else if (names.has(source) && names.has(target)) {
      found.set(pair, { source, target, label: action, fails: false, words: ['it happened'] });
    }
  }
  return [...found.values()];
}

/** What a picture is clearer without: all that members may come to amount to, and all that an action may start in. */
function aside(of: LifecycleDetail, move: LifecycleTransition, moving: Set<string>): boolean {
  const action = of.actions.find((one) => one.name === move.detail);
  if (move.trigger === 'children') return !moving.has(move.source) || (!!action && move.target !== action.target && move.target !== action.on_failure);
  if (move.trigger === 'request' && action && action.source.length > FEW) return action.source.indexOf(move.source) > 1;
  return false;
}

const word = (move: LifecycleTransition): string => `${move.trigger} ${move.detail}${move.forced ? ' (forced)' : ''} by ${move.actor}`;
