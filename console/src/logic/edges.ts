/** The moves of a lifecycle as edges of its picture: one for each pair of states. */
import type { Lifecycle, LifecycleMove } from '../api.ts';

export interface Edge {
  source: string;
  target: string;
  label: string;
  fails: boolean;
  words: string[];
}

const WAY = new Set(['request', 'started', 'done', 'next', 'children', 'connected', 'disconnected']);
const FAILURE = new Set(['failed', 'silent', 'undone', 'declined']);

/** With `all`, also what a look leads to and what is forced; whatever was taken is always there. */
export function edgesOf(of: Lifecycle, all: boolean, taken?: Set<string>): Edge[] {
  const names = new Set(of.states.map((state) => state.name));
  const found = new Map<string, Edge>();
  const ordered = [...of.moves].sort((a, b) => Number(!WAY.has(a.trigger)) - Number(!WAY.has(b.trigger)));
  for (const move of ordered) {
    if (move.source === move.target || !names.has(move.source) || !names.has(move.target)) continue;
    const pair = `${move.source} ${move.target}`;
    const fails = FAILURE.has(move.trigger);
    const wanted = all || taken?.has(pair) || (!move.forced && (WAY.has(move.trigger) || move.trigger === 'failed'));
    if (!wanted) continue;
    const edge = found.get(pair) ?? { source: move.source, target: move.target, label: '', fails, words: [] };
    edge.words.push(word(move));
    if (!edge.label && move.trigger === 'request' && !move.forced) edge.label = move.on;
    found.set(pair, edge);
  }
  for (const pair of taken ?? []) {
    const [source, target] = pair.split(' ') as [string, string];
    if (!found.has(pair) && names.has(source) && names.has(target)) {
      found.set(pair, { source, target, label: '', fails: false, words: ['it happened'] });
    }
  }
  return [...found.values()];
}

const word = (move: LifecycleMove): string => `${move.trigger} ${move.on}${move.forced ? ' (forced)' : ''} by ${move.actor}`;
