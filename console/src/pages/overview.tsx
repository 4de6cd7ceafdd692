/** The cell at a glance. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { get, type KindCount, type Operation, type Overview, type Page } from '../api.ts';
import { beat, recent, useLive } from '../live.ts';
import { clock, number, plural } from '../logic/words.ts';
import { Card, Command, Empty, Icon, Progress, Shown, Stack, State, When } from '../parts.tsx';
import { Go, toOperation, toThing } from '../router.tsx';

const any = () => true;

export default function OverviewPage() {
  const overview = useLive<Overview>('overview', () => get('/v1/overview'), { concerns: any, every: 2000 });
  const running = useLive<Page<Operation> & { more: boolean }>('running', () => get('/v1/operations', { running: true, limit: 12 }), { concerns: any, every: 5000 });
  return (
    <>
      <div class="top"><h1>Overview</h1></div>
      <Shown of={overview} rows={10}>
        {(data) => (
          <>
            <Tiles of={data} />
            <div class="grid">
              <div class="two-thirds col">
                <Card title="What there is" aside={plural(data.counts.reduce((sum, one) => sum + one.members, 0), 'resource')} testid="counts"><Kinds of={data.counts} /></Card>
                <Card title="In trouble" testid="trouble" aside={<>{data.more_unhealthy && <span>and others</span>}<Go to="/stuck" testid="to-stuck">What is stuck</Go></>}><Troubles of={data} /></Card>
              </div>
              <div class="third col">
                <Card title="Under way" testid="under-way" aside={<Go to="/operations">All operations</Go>}>
                  <Shown of={running} rows={3}>{(page) => <Operations of={page.items} more={page.more} />}</Shown>
                </Card>
                {data.transitions && <Card title="Moves a second" testid="moves" aside="last minute"><Moves of={data} /></Card>}
                <Card title="Just now" testid="recent"><Recent /></Card>
              </div>
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

function Tiles({ of }: { of: Overview }) {
  const trouble = of.counts.reduce((sum, one) => sum + (one.health === 'trouble' ? one.members : 0), 0);
  const many = (n: number) => (n >= 10_000 ? '10,000+' : number(n));
  const made = of.calls_made ?? 0;
  const saved = of.calls_saved ?? 0;
  const asked = made + saved;
  const there = of.agents_connected ?? 0;
  const away = of.agents_disconnected ?? 0;
  return (
    <div class="tiles">
      <Go to="/tree" class="tile" testid="tile-stable"><b>{number(of.classes['stable'] ?? 0)}</b><span><Icon of="well" />stable</span></Go>
      <Go to="/tree" class="tile" testid="tile-transitional"><b>{number(of.classes['transitional'] ?? 0)}</b><span><Icon of="moving" />in transition</span></Go>
      <Go to="/tree" class="tile" testid="tile-trouble"><b>{number(trouble)}</b><span><Icon of={trouble ? 'trouble' : 'well'} />in trouble</span></Go>
      <Go to="/operations" class="tile" testid="tile-operations"><b>{many(of.in_progress)}</b><span>under way{of.waiting ? `, ${many(of.waiting)} wait` : ''}</span></Go>
      {of.calls_made !== null && (
        <div class="tile" data-testid="tile-saved" title={`${plural(made, 'call')} instead of ${number(asked)}, by group operations under way or ended in the last hour`}>
          <b>{asked ? `${Math.floor((100 * saved) / asked)}%` : '–'}</b><span>{number(saved)} calls saved</span>
        </div>
      )}
      {of.agents_connected !== null && <Go to="/lanes" class="tile" testid="tile-agents"><b>{number(there)}<small class="dim">{away ? ` / ${number(there + away)}` : ''}</small></b><span><Icon of={away || !there ? 'trouble' : 'well'} />{away ? `${number(away)} away` : of.throttled.length ? 'agents' : 'agents there'}{of.throttled.length ? `, ${of.throttled.length} throttled` : ''}</span></Go>}
    </div>
  );
}

function Kinds({ of }: { of: KindCount[] }) {
  if (!of.length) {
    return <Empty title="Nothing is here yet" command="stead mci create shop/web -f mci.yaml"><Go to="/create">Create an infrastructure</Go> here, or from a terminal:</Empty>;
  }
  const kinds = new Map<string, Record<string, number>>();
  for (const one of of) kinds.set(one.kind, { ...kinds.get(one.kind), [one.state]: one.members });
  return (
    <div>
      {[...kinds].map(([kind, counts]) => (
        <div class="kind-row" key={kind} data-kind={kind}>
          <Go to={`/lifecycles/${kind}`}>{kind}</Go>
          <Stack counts={counts} kind={kind} label={kind} />
          <span>{number(Object.values(counts).reduce((a, b) => a + b, 0))}</span>
        </div>
      ))}
    </div>
  );
}

function Troubles({ of }: { of: Overview }) {
  if (!of.unhealthy.length) return <Empty title="Nothing is in trouble">What fails, or takes more than half of its time, is named here with its reason.</Empty>;
  return (
    <ul class="list">
      {of.unhealthy.map((one) => (
        <li key={one.path}>
          <Go to={toThing(one.path, one.kind)} class="item trouble-item" data-item>
            <State state={one.state} kind={one.kind} health={one.state_class === 'transitional' ? 'moving' : 'trouble'} />
            <span class="path">{one.path}</span>
            <When at={one.since} />
            <span class="why">{one.reason}</span>
          </Go>
        </li>
      ))}
    </ul>
  );
}

export function Operations({ of, more }: { of: Operation[]; more: boolean }) {
  if (!of.length) return <Empty title="Nothing is under way" />;
  return (
    <ul class="list">
      {of.map((op) => (
        <li key={op.id}>
          <Go to={toOperation(op.id)} class="item op" data-item>
            <b>{op.action}</b>
            <span class="path">{op.place ?? op.path}</span>
            <span class="dim">{op.queued ? `waits, place ${op.position}` : op.total > 1 ? `${number(op.total - op.remaining)}/${number(op.total)}` : op.phase ?? 'under way'}</span>
            {op.total > 1 && <Progress done={op.total - op.remaining} total={op.total} failed={op.failed} label={`${op.action} ${op.path}`} />}
          </Go>
        </li>
      ))}
      {more && <li class="dim item">There are others.</li>}
    </ul>
  );
}

type ChartType = ComponentType<{ moves: number[]; end: number }>;

function Moves({ of }: { of: Overview }) {
  const chart = useSignal<{ is: ChartType } | null>(null);
  useEffect(() => { void import('../chart.tsx').then((module) => { chart.value = { is: module.default }; }); }, []);
  const Chart = chart.value?.is;
  return Chart ? <Chart moves={of.transitions ?? []} end={Date.parse(of.at)} /> : <div class="chart" />;
}

function Recent() {
  beat.value;
  const lines = recent.last(8);
  if (!lines.length) return <p class="dim">Moves are listed here as they are made. <span class="dim">In a terminal:</span> <Command text="stead journal --follow" /></p>;
  return (
    <div>
      {lines.map((line) => (
        <div class="line" key={line.position}>
          <span class="dim">{clock(line.at)}</span>
          <div><Go to={toThing(line.path, line.kind)} class="path">{line.path}</Go> {line.rejections ? <span class="err">refused: {line.detail}</span> : line.source === line.target ? <span class="dim">{line.detail}</span> : <State state={line.target} kind={line.kind} />}</div>
        </div>
      ))}
    </div>
  );
}
