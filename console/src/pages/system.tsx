/** A system: its tree of services and jobs, and on it whoever has which path. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { at, call, get, Problem, type RunningDeploy, type Counts, type LifecycleDetail, type Operation, type Resource, type System } from '../api.ts';
import { health, lifecycle } from '../kinds.ts';
import { below, link, useLive } from '../live.ts';
import { grown, rowsOf, systemOf, UNDER_WAY, type Node, type Row } from '../logic/system.ts';
import { leaf, number, parent, plural, tone, worse, type Tone } from '../logic/words.ts';
import { Card, Empty, Icon, Progress, say, Shown, Stack, State, When } from '../parts.tsx';
import { Go, go, toOperation, toResource } from '../router.tsx';
import { Rows } from '../rows.tsx';
import { Actions } from './asking.tsx';

/** A system of more services and jobs than this begins with those of its branches folded in which all is well. */
const FEW = 60;
/** Deeper than this nothing is indented any further. */
const DEEPEST = 10;
/** Heights of a row: where there is room for all on one line, and where there is not. */
const HIGH = { wide: 36, narrow: 50 };
const KINDS = ['system', 'service', 'job'];

interface Whole { system: System; claims: RunningDeploy[] }

/** A system, and all that has a path in it: deploys and teardowns, and what is done to the system itself. */
async function load(path: string): Promise<Whole> {
  const [system] = await Promise.all([get<System>(`/v1/systems/${at(path)}`), ...KINDS.map(lifecycle)]);
  const own = system.operation && system.running.every((one) => one.id !== system.operation) ? await get<Operation>(`/v1/operations/${system.operation}`) : null;
  const claims = [...system.running];
  if (own && !own.outcome) claims.unshift({ id: own.id, action: own.action, place: path, principal: own.principal, since: own.created_at, total: own.total, remaining: own.remaining, failed: own.failed, expanded: true, cancelled: own.cancelled });
  return { system, claims };
}

export function SystemView({ place }: { place: string }) {
  const path = systemOf(place);
  const whole = useLive<Whole>(`system ${path}`, () => load(path), { concerns: below(path), every: 3000 });
  const resource = useLive<Resource>(`resource ${path}`, () => get(`/v1/resources/${at(path)}`), { concerns: (line) => line.path === path });
  const life = useLive<LifecycleDetail>('lifecycle system', () => lifecycle('system'));
  const missing = whole.error instanceof Problem && whole.error.body.status === 404;
  const reload = () => { whole.reload(); resource.reload(); };
  return (
    <>
      <p class="dim" style={{ fontSize: '12.5px', marginBottom: '4px' }}><Go to="/systems">systems</Go>&nbsp;/&nbsp;<Go to={`/tree${parent(path)}`}>{leaf(parent(path))}</Go>&nbsp;/</p>
      {missing ? <Empty title={`There is no system ${path}`} command={`stead system create ${path.slice(1)} --lane LANE`}>The journal says <Go to={toResource(path)}>what became of it</Go>, if it was ever there. To set it up:</Empty> : (
        <Shown of={whole} rows={10}>
          {(data) => (
            <>
              <div class="top">
                <h1>{leaf(path)}</h1>
                <span class="big" data-testid="state"><State state={data.system.state} kind="system" /></span>
                <span class="dim">{data.system.lanes.length ? <>on <Go to="/lanes">{data.system.lanes.join(', ')}</Go></> : 'on no lane of its own'}{resource.data && <>, changed <When at={resource.data.changed_at} /></>}</span>
                <span class="grow" />
                <Go to={toResource(path)} testid="to-resource">Lifecycle and journal</Go>
              </div>
              {resource.data && life.data && <Actions of={resource.data} lifecycle={life.data} reload={reload} />}
              <Tree key={path} of={data} place={place} reload={reload} />
            </>
          )}
        </Shown>
      )}
    </>
  );
}

function Tiles({ of, claims, find }: { of: Node; claims: RunningDeploy[]; find: (word: string) => void }) {
  const services = of.counts['service'] ?? {};
  const jobs = of.counts['job'] ?? {};
  const members = (counts: Record<string, number>, kind?: string): number => Object.entries(counts).reduce((all, [state, n]) => all + (!kind || health(kind, state) === 'trouble' ? n : 0), 0);
  const said = (kind: string, counts: Record<string, number>) => {
    const bad = members(counts, kind);
    return <span><Icon of={bad ? 'trouble' : 'well'} />{members(counts) === 1 ? kind : `${kind}s`}{bad ? `, ${number(bad)} failed` : ''}</span>;
  };
  return (
    <div class="tiles" data-testid="tiles">
      <div class="tile"><b>{number(members(services))}</b>{said('service', services)}</div>
      <div class="tile"><b>{number(of.up)}<small class="dim"> / {number(of.wanted)}</small></b><span>copies up</span></div>
      <div class="tile"><b>{number(members(jobs))}</b>{said('job', jobs)}</div>
      <button class="tile" disabled={!claims.length} title="Show only that" data-testid="tile-under-way" onClick={() => find(UNDER_WAY)}><b>{number(claims.length)}</b><span><Icon of={claims.length ? 'moving' : 'empty'} />{UNDER_WAY}</span></button>
    </div>
  );
}

/** Of all at a node and below it, the one that is worst. */
function worst(of: Node): { state: string; kind: string; of: Tone } | null {
  const all = Object.entries(of.counts).flatMap(([kind, counts]) => Object.keys(counts).map((state) => ({ state, kind, of: tone(state, health(kind, state)) })));
  // Where nothing is wrong, how a branch is says the state that most of it is in.
  const members = (one: { state: string; kind: string }): number => of.counts[one.kind]?.[one.state] ?? 0;
  return all.sort((a, b) => worse(a.of, b.of) || members(b) - members(a))[0] ?? null;
}

/** What is unfolded. What was not folded or unfolded by hand begins as it is most useful. */
class Folding {
  private open = new Map<string, boolean>();
  private known = new Set<string>();

  constructor(private root: string, place: string) {
    this.reveal(place);
  }

  /** All that is above a place. */
  private reveal(place: string): void {
    for (let path = place; path.startsWith(`${this.root}/`);) {
      path = parent(path);
      this.open.set(path, true);
    }
  }

  /** Whoever comes anew is seen, wherever it is. */
  meet(claims: RunningDeploy[]): void {
    for (const claim of claims) {
      if (this.known.has(claim.id)) continue;
      this.known.add(claim.id);
      this.reveal(`${claim.place}/`);
    }
  }

  begin(of: Node, few: boolean): void {
    if (!of.below.length) return;
    if (!this.open.has(of.path)) this.open.set(of.path, few || of.path === this.root || ['trouble', 'moving'].includes(worst(of)?.of ?? ''));
    for (const node of of.below) this.begin(node, few);
  }

  has = (of: Node): boolean => this.open.get(of.path) ?? true;

  set(of: Node, open: boolean, all = false): void {
    if (of.below.length) this.open.set(of.path, open || (all && of.path === this.root));
    if (all) for (const node of of.below) this.set(node, open, true);
  }
}

const NARROW = window.matchMedia('(max-width: 640px)');

function Tree({ of, place, reload }: { of: Whole; place: string; reload: () => void }) {
  const { system, claims } = of;
  const version = useSignal(0);
  const filter = useSignal('');
  const narrow = useSignal(NARROW.matches);
  useEffect(() => {
    const turn = () => { narrow.value = NARROW.matches; };
    NARROW.addEventListener('change', turn);
    return () => NARROW.removeEventListener('change', turn);
  }, []);
  const folding = useMemo(() => new Folding(system.path, place), []);
  const root = useMemo(() => {
    const found = grown(system, claims);
    folding.meet(claims);
    folding.begin(found, system.parts.length <= FEW);
    return found;
  }, [of]);
  version.value;
  const word = filter.value.trim();
  const rows = rowsOf(root, folding.has, word);
  // What a filter finds is shown, folded or not.
  const unfolded = (node: Node): boolean => !!word || folding.has(node);
  const fold = (node: Node, open: boolean, all = false) => { folding.set(node, open, all); version.value += 1; };
  const open = (index: number) => {
    const row = rows[index];
    if (row?.claim) go(toOperation(row.claim.id));
    else if (row?.node.part) go(toResource(row.node.path));
    else if (row) fold(row.node, !folding.has(row.node));
  };
  const start = place === system.path ? -1 : rows.findIndex((row) => row.node.path === place && !row.claim);
  return (
    <>
      {root.total + claims.length > 0 && <Tiles of={root} claims={claims} find={(word) => { filter.value = word; }} />}
      <Card title="Services and jobs" testid="system" aside={system.parts.length > 0 && (
        <>
          <input class="filter" type="search" placeholder="Name, state, lane, or who" aria-label="Filter" data-filter data-testid="system-filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} />
          <button class="small" onClick={() => fold(root, true, true)} data-testid="unfold-all">Unfold all</button>
          <button class="small" onClick={() => fold(root, false, true)} data-testid="fold-all">Fold all</button>
        </>
      )}>
        {!system.parts.length && !claims.length ? <Empty title="Nothing runs in it yet" command={`stead system deploy ${system.path.slice(1)} -f site.yaml`}>What is deployed to it is shown here. A definition to begin with is written by <code>stead system example</code>.</Empty>
          : !rows.length ? <Empty title="Nothing fits the filter" />
          : (
            <div class={`system ${link.value === 'away' ? 'old' : ''}`}>
              <Rows key={narrow.value ? 'narrow' : 'wide'} count={rows.length} height={narrow.value ? HIGH.narrow : HIGH.wide} tall label={`Services and jobs of ${system.path}`} role="tree" testid="system-tree" start={start} open={open}
                branch={(i) => { const { node, claim, depth } = rows[i] as Row; return { level: depth + 1, open: claim || !node.below.length ? undefined : unfolded(node) }; }}
                keyOf={(i) => { const { node, claim } = rows[i] as Row; return claim ? `claim ${claim.id}` : node.path; }}
                fold={(i, unfold) => { const row = rows[i]; if (row?.node.below.length) fold(row.node, unfold); }}
                row={(i) => <RowOf row={rows[i] as Row} state={system.state} here={place !== system.path && (rows[i] as Row).node.path === place} open={unfolded((rows[i] as Row).node)} fold={fold} reload={reload} />} />
            </div>
          )}
      </Card>
    </>
  );
}

interface RowProps { row: Row; state: string; here: boolean; open: boolean; fold: (node: Node, open: boolean) => void; reload: () => void }

function RowOf({ row, state, here, open, fold, reload }: RowProps) {
  const bands = row.bands.map((band) => (
    <i key={band.claim.id} class={`band ${band.first ? 'first' : ''} ${band.last ? 'last' : ''} ${band.claim.cancelled ? 'given' : ''}`} style={depth(band.depth)} aria-hidden="true" />
  ));
  return <>{bands}{row.claim ? <Claim of={row.claim} depth={row.depth} reload={reload} /> : <NodeRow row={row} state={state} here={here} open={open} fold={fold} />}</>;
}

const depth = (n: number): Record<string, string> => ({ '--depth': String(Math.min(n, DEEPEST)) });

/** Who has a path: above it, as the head of a band over all that is below it. */
function Claim({ of, depth: deep, reload }: { of: RunningDeploy; depth: number; reload: () => void }) {
  const busy = useSignal(false);
  const done = of.total - of.remaining;
  const end = async () => {
    busy.value = true;
    try {
      await call('POST', `/v1/operations/${of.id}/cancel`);
      say('It is being ended', false, toOperation(of.id));
    } catch (error) {
      say((error as Error).message, true);
    }
    busy.value = false;
    reload();
  };
  const far = of.total ? `${number(done)} of ${number(of.total)}${of.expanded ? '' : ' so far'}` : of.expanded ? 'nothing to do' : 'being worked out';
  return (
    <div class="claim" style={depth(deep)} data-claim={of.place} data-operation={of.id}>
      <span class="claim-who"><span class={`state ${of.cancelled ? 'ended' : 'moving'}`}><Icon of={of.cancelled ? 'ended' : 'moving'} /><Go to={toOperation(of.id)} tabIndex={-1}>{of.action}</Go></span><span class="dim"><When at={of.since} /> by {of.principal || 'the controller'}</span></span>
      <span class="claim-far"><Progress done={done} total={of.total} failed={of.failed} label={`${of.action} of ${of.place}`} given={of.cancelled} /><span class="dim">{far}</span>{of.failed > 0 && <span class={`state ${of.cancelled ? 'ended' : 'trouble'}`}>{number(of.failed)} {of.cancelled ? 'given up' : 'failed'}</span>}</span>
      <button class="small danger" disabled={of.cancelled || busy.value} aria-label={`Cancel ${of.action} of ${of.place}`} onClick={() => void end()}>{of.cancelled ? 'Ending' : 'Cancel'}</button>
    </div>
  );
}

function NodeRow({ row: { node, depth: deep }, state, here, open, fold }: Omit<RowProps, 'reload'>) {
  const { part } = node;
  const how = worst(node);
  const counts: Counts = {};
  for (const each of Object.values(node.counts)) for (const [state, n] of Object.entries(each)) counts[state] = (counts[state] ?? 0) + n;
  const kindOf = (state: string): string => (node.counts['service']?.[state] ? 'service' : 'job');
  const copies = part?.kind === 'service' ? { up: part.running, wanted: part.count } : { up: node.up, wanted: node.wanted };
  return (
    <div class={`tree-row system-row ${here ? 'here' : ''}`} style={depth(deep)} data-path={node.path} data-health={how?.of ?? 'empty'}>
      <div class="tree-name">
        {node.below.length
          ? <button class="twist" aria-expanded={open} aria-label={`${open ? 'Fold' : 'Unfold'} ${node.path}`} tabIndex={-1} onClick={() => fold(node, !open)}>{open ? '▾' : '▸'}</button>
          : <span class="twist" />}
        {part ? <Go to={toResource(node.path)} tabIndex={-1}>{node.name}</Go> : <b>{node.name}</b>}
        {part?.kind === 'job' && <span class="kind">job</span>}
        {!open && node.within > 0 && <span class="state moving" title="Unfold it to see who has which path" data-within={node.within}><Icon of="moving" />{number(node.within)} within</span>}
      </div>
      {!deep ? <State state={state} kind="system" /> : how ? <State state={how.state} kind={how.kind} /> : <span class="dim">empty</span>}
      {part ? <Go to="/lanes" class="lane" tabIndex={-1}>{part.lane}</Go> : how ? <Stack counts={counts} kind={kindOf} label={`${node.path}, ${plural(node.total, 'service or job')}`} /> : <span />}
      <span class="num dim copies">{(copies.wanted > 0 || part?.kind === 'service') && <span class={how && copies.up !== copies.wanted ? `state ${how.of}` : ''} title={copies.up === null ? 'Nobody has said yet how many are up' : undefined}>{copies.up === null ? '–' : number(copies.up)}/{number(copies.wanted)} up</span>}</span>
    </div>
  );
}
