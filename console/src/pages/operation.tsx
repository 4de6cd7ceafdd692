/** One operation: how far it is, when what happened to whom, and why some failed. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Problem, call, get, type Accepted, type Bar, type Operation, type Timeline } from '../api.ts';
import { health, learnt } from '../kinds.ts';
import { below, useLive } from '../live.ts';
import { segments, windowOf, type Window } from '../logic/bars.ts';
import { clock, number, plural, span, tone } from '../logic/words.ts';
import { Card, Dialog, Empty, Icon, now, Progress, say, Shown, State, When } from '../parts.tsx';
import { Go, go, toOperation, toResource } from '../router.tsx';
import { Rows } from '../rows.tsx';
import { Outcome } from './operations.tsx';

const MOST = 2000;

export default function OperationPage({ rest: id }: { rest: string }) {
  const more = useSignal<Bar[]>([]);
  const cursor = useSignal<string | null | undefined>(undefined);
  useEffect(() => { more.value = []; cursor.value = undefined; }, [id]);
  const path = useSignal('');
  const timeline = useLive<Timeline>(`timeline ${id}`, async () => {
    const found = await get<Timeline>(`/v1/operations/${encodeURIComponent(id)}/timeline`, { limit: 500 });
    path.value = found.operation.path;
    return found;
  }, { concerns: (line) => line.operation === id || (!!path.value && below(path.value)(line)), every: 4000 });
  const further = async (next: string) => {
    const page = await get<Timeline>(`/v1/operations/${encodeURIComponent(id)}/timeline`, { limit: 500, cursor: next });
    more.value = [...more.value, ...page.items].slice(0, MOST);
    cursor.value = page.next;
  };
  return (
    <Shown of={timeline} rows={10}>
      {(data) => {
        const next = cursor.value === undefined ? data.next : cursor.value;
        return (
          <>
            <Header op={data.operation} reload={timeline.reload} />
            <div class="col">
              <Standing op={data.operation} />
              {data.errors.length > 0 && <Errors of={data} />}
              <Card title="Timeline" testid="timeline" aside={<>{plural(data.total, 'row')}{next && more.value.length < MOST && <button class="small" onClick={() => void further(next)}>Show more</button>}</>}>
                <Gantt of={data} extra={more.value} />
              </Card>
            </div>
          </>
        );
      }}
    </Shown>
  );
}

function Header({ op, reload }: { op: Operation; reload: () => void }) {
  const asking = useSignal(false);
  const reason = useSignal('');
  const ask = async (what: 'cancel' | 'promote') => {
    try {
      await call(`POST`, `/v1/operations/${op.id}/${what}`);
      say(what === 'cancel' ? 'It is being ended' : 'It is the next one now');
    } catch (error) {
      say((error as Error).message, true);
    }
    reload();
  };
  const retry = async (force: boolean) => {
    try {
      const taken = await call<Accepted>('POST', `/v1/operations/${op.id}/retry`, {}, force ? { force, reason: reason.value } : {});
      asking.value = false;
      if (taken.operation) go(toOperation(taken.operation.id));
      else say('There was nothing to do');
    } catch (error) {
      if (error instanceof Problem && !force) asking.value = true;
      say((error as Error).message, true);
    }
  };
  const ended = op.outcome !== null;
  return (
    <div class="top">
      <h1>{op.action} <Go to={toResource(op.path)}>{op.path}</Go></h1>
      <span class="chip"><Outcome of={op} /></span>
      <span class="grow" />
      <div class="buttons">
        {op.queued && <button onClick={() => void ask('promote')} data-testid="promote">Promote</button>}
        {!ended && <button class="danger" disabled={op.cancelled} onClick={() => void ask('cancel')} data-testid="cancel">{op.cancelled ? 'Ending' : 'Cancel'}</button>}
        {ended && op.outcome !== 'done' && op.outcome !== 'displaced' && <button class="primary" onClick={() => void retry(false)} data-testid="retry">Retry</button>}
      </div>
      {asking.value && (
        <Dialog title={`Force ${op.action}`} close={() => { asking.value = false; }}>
          <p>It was refused. With a reason it can be forced, whatever the states of the members say.</p>
          <label class="field">Reason<input value={reason.value} onInput={(event) => { reason.value = event.currentTarget.value; }} /></label>
          <div class="buttons"><button class="danger primary" disabled={!reason.value.trim()} onClick={() => void retry(true)}>Force</button></div>
        </Dialog>
      )}
    </div>
  );
}

function Standing({ op }: { op: Operation }) {
  const done = op.total - op.remaining;
  const until = op.ended_at ? Date.parse(op.ended_at) : now.value;
  const saved = op.orders > 0 && op.orders < op.total ? op.total - op.orders : 0;
  return (
    <Card title={op.outcome ? 'How it went' : 'How it goes'} testid="standing" aside={<code>{op.id}</code>}>
      <div class="tiles" style={{ margin: '0 0 10px' }}>
        <div class="tile"><b>{number(done)}<small class="dim"> / {number(op.total)}</small></b><span>{op.total > 1 ? 'members done' : 'done'}</span></div>
        <div class="tile"><b>{number(op.failed)}</b><span><Icon of={op.failed ? 'trouble' : 'well'} />failed</span></div>
        <div class="tile"><b>{span((until - Date.parse(op.created_at)) / 1000)}</b><span>{op.outcome ? 'took' : 'so far'}</span></div>
        {op.orders > 0 && <div class="tile"><b>{number(op.orders)}</b><span>{op.orders === 1 ? 'call' : 'calls'}{saved ? `, ${number(saved)} saved` : ''}</span></div>}
        <div class="tile"><b style={{ fontSize: '15px' }}>{op.principal || 'nobody'}</b><span>asked <When at={op.created_at} /></span></div>
      </div>
      <Progress done={done} total={op.total} failed={op.failed} label="Members done" />
      {op.says && <p class="dim" style={{ marginTop: '8px' }}>{op.says}</p>}
      {op.reason && <p style={{ marginTop: '8px' }}><span class="dim">Reason:</span> {op.reason}</p>}
      {op.reasons.map((reason) => <p key={reason.code} class="state trouble">{reason.says}</p>)}
    </Card>
  );
}

function Errors({ of }: { of: Timeline }) {
  return (
    <Card title="What went wrong" testid="errors" aside={plural(of.errors.reduce((sum, one) => sum + one.members, 0), 'member')}>
      <table class="errors-table">
        <tbody>
          {of.errors.map((one) => (
            <tr key={one.outcome + one.says}>
              <td class="num" style={{ width: '60px' }}><b>{number(one.members)}</b></td>
              <td style={{ width: '90px' }}><span class={`state ${one.outcome === 'skipped' ? 'ended' : 'trouble'}`}>{one.outcome}</span></td>
              <td>{one.says || <span class="dim">nobody said why</span>}</td>
              <td class="path"><Go to={toResource(one.path)}>{one.path}</Go>{one.members > 1 && <span class="dim"> and {number(one.members - 1)} more</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Gantt({ of, extra }: { of: Timeline; extra: Bar[] }) {
  learnt.value;
  const known = new Set(of.items.map((bar) => bar.path));
  const bars = [...of.items, ...extra.filter((bar) => !known.has(bar.path))];
  if (!bars.length) return <Empty title={of.operation.queued ? 'It waits its turn' : 'Nothing has happened yet'} />;
  const time = windowOf(bars, of.operation.created_at, of.operation.ended_at, Date.parse(of.now));
  return (
    <>
      <div class="gantt head"><span>Member</span><span class="hide">State</span><span class="scale"><span>{clock(time.begin)}</span><span>+{span((time.end - time.begin) / 2000)}</span><span>+{span((time.end - time.begin) / 1000)}</span></span><span class="num">Took</span></div>
      <Rows count={bars.length} height={28} label="Members in time" testid="gantt" keyOf={(i) => (bars[i] as Bar).path}
        open={(i) => go(toResource((bars[i] as Bar).path))}
        row={(i) => <GanttRow bar={bars[i] as Bar} op={of.operation} time={time} at={Date.parse(of.now)} />} />
    </>
  );
}

function GanttRow({ bar, op, time, at }: { bar: Bar; op: Operation; time: Window; at: number }) {
  const name = bar.path === op.path ? bar.path : bar.path.slice(op.path.length + 1);
  const parts = segments(bar, time, at);
  const state = bar.phases.at(-1)?.state ?? bar.origin;
  const took = (Date.parse(bar.end ?? new Date(at).toISOString()) - Date.parse(bar.begin)) / 1000;
  return (
    <div class="gantt" data-path={bar.path} data-outcome={bar.outcome ?? ''} title={bar.says}>
      <Go to={toResource(bar.path)} class="name path" tabIndex={-1}>{name}</Go>
      <span class="hide"><State state={state} kind={bar.kind} /></span>
      <span class="track">
        {parts.map((part) => (
          <i key={part.state + part.left} class={`fill ${tone(part.state, health(bar.kind, part.state))}`} title={`${part.state}, ${span(part.lasted / 1000)}`}
            style={{ left: `${Math.min(99.5, part.left)}%`, width: `${part.width}%` }} />
        ))}
      </span>
      <span class="num dim">{span(took)}</span>
    </div>
  );
}
