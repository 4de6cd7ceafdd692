/** One resource: where it stands in its lifecycle, what can be asked of it, what goes on, what it was. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { at, get, Problem, type JournalPage, type LifecycleDetail, type JournalLine, type Operation, type Page, type QueueDetail, type Resource, type GroupStatus } from '../api.ts';
import { healthOf, lifecycle } from '../kinds.ts';
import { below, useLive } from '../live.ts';
import { clock, leaf, number, parent, span } from '../logic/words.ts';
import { Card, Empty, Icon, Lasts, now, Progress, Shown, Stack, State, Values, When } from '../parts.tsx';
import { Go, toOperation, toResource, toSystem } from '../router.tsx';
import { Actions, Scale } from './asking.tsx';
import { Expiry, MachinesCard, Naming } from './datacenter.tsx';
import { LeaseCard } from './lease.tsx';
import { Drawn } from './lifecycles.tsx';
import { PastCard, TruthCard } from './looking.tsx';
import { LogsCard, NOUNS, PresenceCard, Respec, WithinCard } from './site.tsx';

/** Positions of the journal that are looked through for the lines of a group, in growing steps. */
const STEPS = [1000, 10_000, 100_000];
const LINES = 200;

export default function ResourcePage({ rest: path }: { rest: string }) {
  const own = (line: JournalLine) => line.path === path;
  const resource = useLive<Resource>(`resource ${path}`, () => get(`/v1/resources/${at(path)}`), { concerns: own, every: 10_000 });
  if (resource.error instanceof Problem && resource.error.body.status === 404) return <Gone path={path} />;
  return (
    <>
      <Crumbs path={path} kind={resource.data?.kind} />
      <Shown of={resource} rows={10}>{(data) => <Whole of={data} reload={resource.reload} />}</Shown>
    </>
  );
}

function Crumbs({ path, kind = '' }: { path: string; kind?: string | undefined }) {
  const parts = path.split('/').filter(Boolean);
  // What is between a system and its services are no resources.
  const above = ['service', 'job'].includes(kind) ? toSystem : toResource;
  return (
    <nav class="crumbs" aria-label="Place" style={{ all: 'unset', display: 'flex', flexWrap: 'wrap', fontSize: '12.5px', color: 'var(--dim)', marginBottom: '4px' }}>
      <Go to="/tree">tree</Go>
      {parts.slice(0, -1).map((part, i) => {
        const to = `/${parts.slice(0, i + 1).join('/')}`;
        return <span key={to}>&nbsp;/&nbsp;<Go to={i ? above(to) : `/tree${to}`}>{part}</Go></span>;
      })}
      <span>&nbsp;/</span>
    </nav>
  );
}

function Gone({ path }: { path: string }) {
  const lines = useLive<JournalLine[]>(`journal ${path}`, () => journal(path, false));
  return (
    <>
      <Crumbs path={path} />
      <div class="top"><h1>{leaf(path)}</h1><span class="big" data-testid="state"><State state="not there" health="empty" /></span></div>
      <div class="col">
        <Empty title={`There is nothing at ${path}`} command={`stead journal ${path.slice(1)}`}>What the journal has of it is below. <Go to={`/tree${parent(path)}`}>To the tree</Go></Empty>
        <Card title="Journal"><Shown of={lines}>{(items) => <JournalLines of={items} path={path} />}</Shown></Card>
      </div>
    </>
  );
}

async function journal(path: string, group: boolean): Promise<JournalLine[]> {
  if (!group) {
    const found: JournalLine[] = [];
    for (let after = 0, pages = 0; pages < 5; pages++) {
      const page = await get<JournalPage>('/v1/journal', { path, after, limit: 1000 });
      found.push(...page.items.filter((line) => line.path === path));
      after = page.next;
      if (page.items.length < 1000) break;
    }
    return found.slice(-LINES);
  }
  const { end } = await get<JournalPage>('/v1/journal', { limit: 1 });
  let found: JournalLine[] = [];
  for (const step of [...STEPS, end]) {
    let after = Math.max(0, end - step);
    found = [];
    for (let pages = 0; pages < 3; pages++) {
      const page = await get<JournalPage>('/v1/journal', { path, after, limit: 1000 });
      found = [...found, ...page.items].slice(-1000);
      after = page.next;
      if (page.items.length < 1000) break;
    }
    if (found.length >= 50 || end - step <= 0) break;
  }
  return found;
}

function Whole({ of, reload }: { of: Resource; reload: () => void }) {
  const whole = useLive<LifecycleDetail>(`lifecycle ${of.kind}`, () => lifecycle(of.kind));
  const group = !!whole.data?.members;
  const counted = whole.data?.members === 'vm';
  const lines = useLive<JournalLine[]>(`journal ${of.path} ${group}`, () => journal(of.path, group), { concerns: group ? below(of.path) : (line) => line.path === of.path });
  const taken = useMemo(() => new Map((lines.data ?? []).filter((line) => line.path === of.path && !line.rejections && line.source !== line.target).map((line) => [`${line.source} ${line.target}`, line.trigger === 'request' ? line.detail : ''])), [lines.data]);
  const state = whole.data?.states.find((one) => one.name === of.state);
  const health = state ? healthOf(state.state_class, state.unhealthy) : undefined;
  return (
    <>
      <div class="top">
        <h1>{/^\d+$/.test(leaf(of.path)) ? of.path.split('/').slice(-2).join('/') : leaf(of.path)}</h1>
        <span class="big" data-testid="state"><State state={of.state} health={health} kind={of.kind} /></span>
        <span class="dim"><Go to={`/lifecycles/${of.kind}`}>{of.kind}</Go>{of.lane && <> on <Go to="/lanes">{of.lane}</Go></>}, changed <When at={of.changed_at} /><Expiry of={of} /></span>
        <span class="grow" />
        {of.kind === 'system' && <Go to={toSystem(of.path)} testid="to-system">Services and jobs</Go>}
        {of.kind === 'subgroup' && <Scale of={of} reload={reload} />}
      </div>
      {of.failure && <p class="state trouble long" data-testid="failure"><Icon of="trouble" />{of.failure}</p>}
      {whole.data && <Actions of={of} lifecycle={whole.data} reload={reload} />}
      <div class="grid">
        <Card wide title="Lifecycle" testid="lifecycle" aside={<><span>{state?.description}</span><span class="dim brief">The way it took is marked.</span></>}>
          {whole.data ? <Drawn of={whole.data} current={of.state} taken={taken} /> : <div style={{ minHeight: '200px' }} />}
        </Card>
        <div class="col">
          {(of.operation || of.hidden) && <UnderWay of={of} />}
          <QueueCard path={of.path} />
          {counted && <StandingCard path={of.path} />}
          {of.kind === 'cloudlet' && <PresenceCard of={of} />}
          {(of.kind === 'cloudlet' || of.kind === 'clusterinst') && <WithinCard of={of} />}
          {of.kind === 'lease' && <LeaseCard path={of.path} />}
          {of.kind === 'node' && <MachinesCard of={of} />}
          {!group && of.lane && !['cloudlet', 'node'].includes(of.kind) && <TruthCard path={of.path} state={of.state} />}
          <PastCard of={of} first={lines.data?.find((line) => line.path === of.path)?.at ?? of.created_at} />
          <Card title="On record" testid="record" aside={<>version {of.etag}</>}>
            <h3 style={{ marginTop: 0 }}>Spec</h3><Values of={of.spec} />
            {of.kind in NOUNS && <Respec of={of} />}
            <Naming of={of} />
            {Object.keys(of.facts).length > 0 && <><h3>What the provider said</h3><Values of={of.facts} /></>}
          </Card>
        </div>
        {of.kind === 'appinst' && of.state_class === 'stable' && <LogsCard path={of.path} />}
        <Card title="Journal" testid="journal" aside={lines.data ? `${number(lines.data.length)} lines` : undefined}>
          <Shown of={lines} rows={6}>{(items) => <JournalLines of={items} path={of.path} />}</Shown>
        </Card>
      </div>
    </>
  );
}

function UnderWay({ of }: { of: Resource }) {
  const running = of.operation ?? of.hidden;
  const op = useLive<Operation>(`operation ${running?.id}`, () => get(`/v1/operations/${running?.id}`), { concerns: below(of.path), every: 3000 });
  if (!running) return null;
  const deadline = of.timers['deadline'];
  return (
    <Card title="Under way" testid="operation" aside={<Go to={toOperation(running.id)}>Timeline</Go>}>
      <p><b>{running.action}</b> by {running.principal || 'the controller'}, to <State state={running.target} kind={of.kind} />{running.cancelled && <span class="state trouble"> being ended</span>}</p>
      {op.data && op.data.total > 1 && <div style={{ margin: '8px 0' }}><Progress done={op.data.total - op.data.remaining} total={op.data.total} failed={op.data.failed} label="Members done" /><p class="dim">{number(op.data.total - op.data.remaining)} of {number(op.data.total)}{op.data.failed ? `, ${number(op.data.failed)} failed` : ''}</p></div>}
      <p class="dim">{running.phase}{running.attempt > 1 ? `, attempt ${running.attempt}` : ''}, since <When at={running.since} />{deadline && <>, its time is up in {span((Date.parse(deadline) - now.value) / 1000)}</>}</p>
      <Lasts of={running.elapsed} />
      {op.data?.message && <p class="dim">{op.data.message}</p>}
      <p class="dim">It has the claim on <span class="path">{of.path}</span>: nobody else changes it meanwhile.</p>
    </Card>
  );
}

function QueueCard({ path }: { path: string }) {
  // Most have none, and to ask for what is not there is an error to a browser: so it is looked for among those that are.
  const queue = useLive<QueueDetail | null>(`queue ${path}`, async () => {
    const found = await get<Page<{ path: string }>>('/v1/queues', { below: path, limit: 1 });
    return found.items[0]?.path === path ? get<QueueDetail>(`/v1/queues/${at(path)}`, { limit: 20 }) : null;
  }, { concerns: (line) => line.path === path });
  if (!queue.data?.items.length) return null;
  return (
    <Card title="Waiting their turn" testid="queue">
      <ol style={{ margin: 0, paddingLeft: '20px' }}>{queue.data.items.map((op) => <li key={op.id}><Go to={toOperation(op.id)}><b>{op.action}</b></Go> <span class="dim">by {op.principal}, <When at={op.created_at} /></span></li>)}</ol>
    </Card>
  );
}

function StandingCard({ path }: { path: string }) {
  const standing = useLive<GroupStatus>(`standing ${path}`, () => get(`/v1/status/${at(path)}`), { concerns: below(path), every: 10_000 });
  return (
    <Card title="How it stands" testid="standing" aside={standing.data?.summary}>
      <Shown of={standing}>
        {(data) => {
          const total = Object.fromEntries(Object.entries(data.counts).filter(([name]) => name !== 'countTotal').map(([name, n]) => [name.replace(/^count/, ''), n]));
          return (
            <>
              {(data.counts['countTotal'] ?? 0) > 0 && <Stack counts={total} kind="vm" label="All VMs" />}
              {data.worst && <p style={{ marginTop: '8px' }}><State state={data.worst.state} kind="vm" /> <Go to={toResource(data.worst.path)} class="path">{data.worst.path}</Go> <span class="dim">{data.worst.message}</span></p>}
              {data.lanes.length > 0 && <><h3>By provider and region</h3>{data.lanes.slice(0, 40).map((part) => <div class="kind-row" key={part.name}><span>{part.name}</span><Stack counts={part.counts} kind="vm" label={part.name} /><span>{number(Object.values(part.counts).reduce((a, b) => a + b, 0))}</span></div>)}</>}
              {data.groups.length > 0 && <><h3>Subgroups</h3>{data.groups.slice(0, 60).map((part) => <div class="kind-row" key={part.name}><Go to={toResource(part.name)}>{leaf(part.name)}</Go><Stack counts={part.counts} kind="vm" label={part.name} /><span>{number(Object.values(part.counts).reduce((a, b) => a + b, 0))}</span></div>)}{data.groups.length > 60 && <p class="dim"><Go to={`/tree${path}`}>All {number(data.groups.length)} in the tree</Go></p>}</>}
              {!data.groups.length && <p style={{ marginTop: '8px' }}><Go to={`/tree${path}`}>Its members in the tree</Go></p>}
            </>
          );
        }}
      </Shown>
    </Card>
  );
}

/** Why a request was rejected. */
function rejections(line: JournalLine): string[] {
  const reasons = line.change['reasons'];
  return Array.isArray(reasons) ? reasons.map((one: { message?: unknown }) => String(one.message ?? '')) : [];
}

export function JournalLines({ of, path }: { of: JournalLine[]; path: string }) {
  const all = useSignal(false);
  if (!of.length) return <Empty title="The journal has nothing of it" />;
  const shown = [...of].reverse().slice(0, all.value ? LINES : 25);
  return (
    <>
      {shown.map((line) => {
        const error = line.change['error'];
        return (
          <div class="line" key={line.position}>
            <span class="dim" title={line.at}>{clock(line.at)}</span>
            <div>
              {line.path !== path && <><Go to={toResource(line.path)} class="path">{line.path.slice(path.length + 1)}</Go> </>}
              {line.rejections ? <span class="err"><Icon of="trouble" /> {line.detail} refused{line.rejections > 1 ? ` ${line.rejections} times` : ''}</span>
                : line.source === line.target ? <span class="dim">{line.trigger} {line.detail}</span>
                : <><State state={line.target} kind={line.kind} /> <span class="dim">from {line.source}, {line.trigger} {line.detail}</span></>}
              {' '}<span class="whole"><span class="dim">by {line.principal || line.actor}</span>
              {line.operation && <> <Go to={toOperation(line.operation)} aria-label={`Operation of ${line.detail}`}>↗</Go></>}</span>
              {error !== undefined && <div class="err">{String(error)}</div>}
              {rejections(line).map((says) => <div class="dim" key={says}>{says}</div>)}
              {line.change['reason'] !== undefined && <div>{line.change['force'] === true ? 'forced' : 'reason'}: {String(line.change['reason'])}</div>}
            </div>
          </div>
        );
      })}
      {of.length > 25 && <button class="small" onClick={() => { all.value = !all.value; }}>{all.value ? 'Fewer' : 'More'}</button>}
    </>
  );
}
