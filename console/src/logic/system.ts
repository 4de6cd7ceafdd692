/** A system as a tree of branches, services and jobs, with whoever has which path. */
import type { RunningDeploy, Counts, System, SystemPart } from '../api.ts';
import { leaf, parent } from './words.ts';

export interface Node {
  path: string;
  name: string;
  /** None of a branch. */
  part: SystemPart | null;
  below: Node[];
  /** What has exactly this path. */
  claims: RunningDeploy[];
  /** How many have a path below it. */
  within: number;
  /** Services and jobs at it and below it, by kind and state. */
  counts: Record<string, Counts>;
  total: number;
  /** Copies that are to run, and those of them that were seen to. */
  wanted: number;
  up: number;
}

export function grown(of: System, claims: RunningDeploy[]): Node {
  const nodes = new Map<string, Node>();
  const node = (path: string): Node => {
    let found = nodes.get(path);
    if (!found) {
      found = { path, name: leaf(path), part: null, below: [], claims: [], within: 0, counts: {}, total: 0, wanted: 0, up: 0 };
      nodes.set(path, found);
      if (path !== of.path) node(parent(path)).below.push(found);
    }
    return found;
  };
  const inside = (path: string): boolean => path === of.path || path.startsWith(`${of.path}/`);
  const root = node(of.path);
  for (const part of of.parts) if (inside(part.path)) node(part.path).part = part;
  for (const claim of claims) if (inside(claim.place)) node(claim.place).claims.push(claim);
  for (const one of nodes.values()) one.below.sort((a, b) => (a.name < b.name ? -1 : 1));
  sum(root);
  return root;
}

function sum(of: Node): void {
  if (of.part) {
    of.counts = { [of.part.kind]: { [of.part.state]: 1 } };
    of.total = 1;
    if (of.part.kind === 'service') {
      of.wanted = of.part.count;
      of.up = of.part.running ?? 0;
    }
  }
  for (const below of of.below) {
    sum(below);
    of.total += below.total;
    of.wanted += below.wanted;
    of.up += below.up;
    of.within += below.within + below.claims.length;
    for (const [kind, counts] of Object.entries(below.counts)) {
      const mine = (of.counts[kind] ??= {});
      for (const [state, n] of Object.entries(counts)) mine[state] = (mine[state] ?? 0) + n;
    }
  }
}

/** A claim as it is drawn on a row: from the column of its place on, with a head and a foot. */
export interface Band {
  claim: RunningDeploy;
  depth: number;
  first: boolean;
  last: boolean;
}

/** A node, or above it one that has its path. */
export interface Row {
  node: Node;
  claim: RunningDeploy | null;
  depth: number;
  bands: Band[];
}

/** Finds all that is under way. */
export const UNDER_WAY = 'under way';

/** All that is unfolded, from above; of a filter, what fits it with all that is above that. Claims fit with all they have. */
export function rowsOf(root: Node, open: (node: Node) => boolean, filter = ''): Row[] {
  const found: Row[] = [];
  const word = filter.toLowerCase();
  const said = (node: Node): string => `${node.path.slice(root.path.length)} ${node.part ? `${node.part.kind} ${node.part.state} ${node.part.lane}` : ''}`;
  const visit = (node: Node, depth: number, held: string): boolean => {
    const at = found.length;
    const by = node.claims.reduce((all, claim) => `${all} ${claim.action} ${claim.principal} ${UNDER_WAY}`, held);
    for (const claim of node.claims) found.push({ node, claim, depth, bands: [] });
    found.push({ node, claim: null, depth, bands: [] });
    let any = !word || `${said(node)} ${by}`.toLowerCase().includes(word);
    if (word || open(node)) for (const below of node.below) any = visit(below, depth + 1, by) || any;
    if (!any) {
      found.length = at;
      return false;
    }
    for (const [n, claim] of node.claims.entries()) {
      for (let i = at + n; i < found.length; i++) (found[i] as Row).bands.unshift({ claim, depth, first: i === at + n, last: i === found.length - 1 });
    }
    return any;
  };
  visit(root, 0, '');
  return found;
}

/** The system of a path that may lie in it. */
export const systemOf = (path: string): string => path.split('/').slice(0, 3).join('/');
