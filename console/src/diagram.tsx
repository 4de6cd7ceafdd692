/** A lifecycle drawn: states by their class, the way of the actions, where failure leads, and the way that was taken. */
import dagre from '@dagrejs/dagre';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { LifecycleDetail } from './api.ts';
import { healthOf } from './kinds.ts';
import { edgesOf, type Edge, type Taken } from './logic/edges.ts';
import { tone } from './logic/words.ts';

interface Props {
  of: LifecycleDetail;
  /** The state that it is in. */
  current?: string | undefined;
  taken?: Taken | undefined;
  /** With moves that no action implies. */
  all?: boolean;
}

interface Placed { x: number; y: number; width: number; height: number }

export default function Diagram({ of, current, taken, all = false }: Props) {
  const edges = useMemo(() => edgesOf(of, all, taken), [of, all, taken]);
  const layout = useMemo(() => place(of, edges), [of, edges]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Where the picture is wider than the page, it is shown around the state that is lit.
    const node = box.current?.querySelector<SVGGElement>('[data-current]');
    if (!node || !box.current) return;
    const at = node.getBoundingClientRect();
    const frame = box.current.getBoundingClientRect();
    box.current.scrollLeft += at.left + at.width / 2 - frame.left - frame.width / 2;
  }, [current, layout]);
  const visited = new Set([...(taken?.keys() ?? [])].flatMap((pair) => pair.split(' ')));
  return (
    <div ref={box} class="diagram" tabIndex={0} role="img" aria-label={`The lifecycle ${of.kind}${current ? `, now ${current}` : ''}`}>
      <svg viewBox={`${layout.left} ${layout.top} ${layout.width} ${layout.height}`} style={{ minWidth: `${layout.width * 0.74}px`, maxWidth: `${layout.width * 1.15}px` }}>
        <defs>
          {['', 'taken', 'fails'].map((kind) => (
            <marker key={kind} id={`tip${kind}`} class={`tip ${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0 0 8 4 0 8Z" />
            </marker>
          ))}
        </defs>
        {layout.edges.map(({ edge, line, label }) => {
          const was = taken?.has(`${edge.source} ${edge.target}`) ?? false;
          const kind = was ? 'taken' : edge.fails ? 'fails' : '';
          return (
            <g key={`${edge.source} ${edge.target}`} class={`edge ${kind} ${taken && !was ? 'faint' : ''}`}>
              <path d={line} marker-end={`url(#tip${kind})`} />
              {edge.label && label && <text x={label.x} y={label.y + 3.5}>{edge.label}</text>}
              <title>{`${edge.source} to ${edge.target}: ${edge.words.join(', ')}`}</title>
            </g>
          );
        })}
        {of.states.filter((s) => layout.nodes.has(s.name)).map((s) => {
          const at = layout.nodes.get(s.name) as Placed;
          const of_ = tone(s.name, healthOf(s.state_class, s.unhealthy));
          return (
            <g key={s.name} class={`node ${of_} ${s.state_class} ${s.name === current ? 'current' : ''} ${visited.has(s.name) ? 'visited' : ''}`}
              transform={`translate(${at.x - at.width / 2} ${at.y - at.height / 2})`} data-state={s.name} data-current={s.name === current || undefined}>
              <rect width={at.width} height={at.height} rx={s.state_class === 'transitional' ? at.height / 2 : 6} />
              <text x={at.width / 2} y={at.height / 2 + 4.5}>{s.name}</text>
              <title>{`${s.name} (${s.state_class}): ${s.description}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function place(of: LifecycleDetail, edges: Edge[]) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 34, edgesep: 12, ranker: 'network-simplex' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const s of of.states) graph.setNode(s.name, { width: s.name.length * 7.4 + 26, height: 30 });
  for (const edge of edges) {
    const label = edge.label ? { width: edge.label.length * 5.6 + 6, height: 14, labelpos: 'c' } : {};
    graph.setEdge(edge.source, edge.target, { weight: edge.fails ? 1 : 3, ...label });
  }
  dagre.layout(graph);
  const nodes = new Map<string, Placed>(graph.nodes().map((name: string) => [name, graph.node(name) as Placed]));
  const drawn = edges.map((edge) => {
    const at = graph.edge(edge.source, edge.target) as { points: { x: number; y: number }[]; x?: number; y?: number };
    return { edge, line: curve(at.points), label: at.x === undefined ? null : { x: at.x, y: at.y as number } };
  });
  const boxes = [...nodes.values()];
  const points = edges.flatMap((edge) => (graph.edge(edge.source, edge.target) as { points: { x: number; y: number }[] }).points);
  const xs = [...boxes.flatMap((box) => [box.x - box.width / 2, box.x + box.width / 2]), ...points.map((point) => point.x)];
  const ys = [...boxes.flatMap((box) => [box.y - box.height / 2, box.y + box.height / 2]), ...points.map((point) => point.y)];
  const left = Math.min(...xs) - 8;
  const top = Math.min(...ys) - 8;
  return { nodes, edges: drawn, left, top, width: Math.max(...xs) + 8 - left, height: Math.max(...ys) + 8 - top };
}

/** A smooth line through points. */
function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let line = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const here = rest[i] as { x: number; y: number };
    const next = rest[i + 1] as { x: number; y: number };
    line += ` Q${here.x} ${here.y} ${(here.x + next.x) / 2} ${(here.y + next.y) / 2}`;
  }
  const last = rest.at(-1);
  return last ? `${line} L${last.x} ${last.y}` : line;
}
