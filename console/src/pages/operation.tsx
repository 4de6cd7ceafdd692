/** One operation: how far it is, when what happened to whom, and why some failed. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Problem, call, get, type Accepted, type TimelineBar, type Explanation, type Operation, type Resource, type Timeline } from '../api.ts';
import { health, learnt, lifecycle } from '../kinds.ts';
import { below, useLive } from '../live.ts';
import { segments, windowOf, type Window } from '../logic/bars.ts';
import { clock, number, plural, span, tone } from '../logic/words.ts';
import { Card, Dialog, Empty, Icon, Lasts, now, Progress, say, Shown, State, When } from '../parts.tsx';
import { Go, go, toOperation, toResource, toThing } from '../router.tsx';
import { Rows } from '../rows.tsx';
import { Outcome } from './operations.tsx';

const MOST = 2000;

export default function OperationPage({ rest: id }: { rest: string }) {
  const more = useSignal<TimelineBar[]>([]);
  const cursor = useSignal<string | null | undefined>(undefined);
  useEffect(() => { more.value = []; cursor.value = undefined; }, [id]);
  const path = useSignal('');
  const timeline = useLive<Timeline>(`timeline ${id}`, async () => {
    const found = await get<Timeline>(`/v1/operations/${id}/timeline`, { limit: 500 });
    path.value = found.operation.path;
    return found;
  }, { concerns: (line) => line.operation === id || (!!path.value && below(path.value)(line)), every: 4000 });
  const further = async (next: string) => {
    const page = await get<Timeline>(`/v1/operations/${id}/timeline`, { limit: 500, cursor: next });
    more.value = [...more.value, ...page.items].slice(0, MOST);
    cursor.value = page.next;
  };
  return (
    <Shown of={timeline} rows={10}>
      {(data) => {
        const next = cursor.value === undefined ? data.next : cursor.value;
        return (
          <>
            <Header op={data.operation} left={data.items.filter((bar) => bar.outcome && bar.outcome !== 'succeeded')} reload={timeline.reload} />
            <div class="col">
              <Standing op={data.operation} />
              {data.errors.length > 0 && <Errors of={data} />}
              <Card title="Timeline" testid="timeline" aside={!data.operation.queued && <>{plural(data.total, 'row')}{next && more.value.length < MOST && <button class="small" onClick={() => void further(next)}>Show more</button>}</>}>
                <Gantt of={data} extra={more.value} />
              </Card>
            </div>
          </>
        );
      }}
    </Shown>
  );
}

/** Whether what an operation left undone could be forced, from the states that its resource or its members are in by now. */
async function forceable(op: Operation, left: TimelineBar[]): Promise<boolean> {
  const { state, members } = await get<Resource>(`/v1/resources${op.path}`);
  const states = op.total > 1 ? Object.keys(members ?? {}) : [state];
  for (const kind of new Set(left.map((bar) => bar.kind))) {
    const { transitions: moves } = await lifecycle(kind);
    if (moves.some((move) => move.forced && move.detail === op.action && states.includes(move.source))) return true;
  }
  return false;
}

const stateOf = (bar: TimelineBar): string => bar.phases.at(-1)?.state ?? bar.source;

function Header({ op, left, reload }: { op: Operation; left: TimelineBar[]; reload: () => void }) {
  const refused = useSignal<{ reasons: { message: string }[]; force: boolean } | null>(null);
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
      refused.value = null;
      if (taken.operation) go(toOperation(taken.operation.id));
      else say('There was nothing to do');
    } catch (error) {
      if (error instanceof Problem && !force) refused.value = { reasons: error.body.reasons?.length ? error.body.reasons : [{ message: error.message }], force: await forceable(op, left) };
      else say((error as Error).message, true);
    }
  };
  const ended = op.outcome !== null;
  const failed = ended && op.outcome !== 'succeeded' && op.outcome !== 'preempted';
  // Of a single resource it is known beforehand whether a retry would be accepted; of a group its failed members say so.
  const explained = useLive<Explanation | null>(`retry ${op.id} ${op.outcome}`, async () => (failed && op.total <= 1 ? get<Explanation>('/v1/explain', { path: op.path, action: op.action }) : null), { concerns: (line) => line.path === op.path });
  const may = !explained.data || explained.data.allowed_actions.includes(op.action);
  return (
    <div class="top">
      <h1>{op.action} <Go to={toThing(op.place ?? op.path, op.kind)}>{op.place ?? op.path}</Go></h1>
      <span class="chip"><Outcome of={op} /></span>
      <span class="grow" />
      <div class="buttons">
        {op.queued && <button onClick={() => void ask('promote')} data-testid="promote">Promote</button>}
        {!ended && <button class="danger" disabled={op.cancelled} onClick={() => void ask('cancel')} data-testid="cancel">{op.cancelled ? 'Ending' : 'Cancel'}</button>}
        {failed && <button class={may ? 'primary' : 'refused'} data-allowed={may} title={may ? undefined : 'Not now: click to see why.'} onClick={() => void retry(false)} data-testid="retry">Retry</button>}
      </div>
      {refused.value && (
        <Dialog title={`Why not ${op.action} again?`} close={() => { refused.value = null; }} testid="force-retry">
          <ul>{refused.value.reasons.map((one) => <li key={one.message}>{one.message}</li>)}</ul>
          {refused.value.force && <label class="field">Force it, whatever the states of the members say; reason<input data-testid="retry-reason" value={reason.value} onInput={(event) => { reason.value = event.currentTarget.value; }} /></label>}
          <div class="buttons">{refused.value.force && <button class="danger" data-testid="retry-force" disabled={!reason.value.trim()} onClick={() => void retry(true)}>Force {op.action}</button>}<button onClick={() => { refused.value = null; }}>Leave it</button></div>
        </Dialog>
      )}
    </div>
  );
}

function Standing({ op }: { op: Operation }) {
  const done = op.total - op.remaining;
  const until = op.ended_at ? Date.parse(op.ended_at) : now.value;
  const given = op.outcome === 'cancelled';
  const saved = op.orders > 0 && op.orders < op.total ? op.total - op.orders : 0;
  return (
    <Card title={op.outcome ? 'How it went' : 'How it goes'} testid="standing" aside={<code>{op.id}</code>}>
      <div class="tiles" style={{ margin: '0 0 10px' }}>
        <div class="tile"><b>{number(done)}<small class="dim"> / {number(op.total)}</small></b><span>{op.total > 1 ? 'members done' : 'done'}</span></div>
        <div class="tile"><b>{number(op.failed)}</b><span><Icon of={!op.failed ? 'well' : given ? 'ended' : 'trouble'} />{given ? 'given up' : 'failed'}</span></div>
        <div class="tile"><b>{span((until - Date.parse(op.created_at)) / 1000)}</b><span>{op.outcome ? 'took' : 'so far'}</span></div>
        {op.orders > 0 && <div class="tile"><b>{number(op.orders)}</b><span>{op.orders === 1 ? 'call' : 'calls'}{saved ? `, ${number(saved)} saved` : ''}</span></div>}
        <div class="tile"><b style={{ fontSize: '15px' }}>{op.principal || 'nobody'}</b><span>asked <When at={op.created_at} /></span></div>
      </div>
      <Progress done={done} total={op.total} failed={op.failed} given={given} label="Members done" />
      <Lasts of={op.elapsed} />
      {op.message && <p class="dim" style={{ marginTop: '8px' }}>{op.message}</p>}
      {op.reason && <p style={{ marginTop: '8px' }}><span class="dim">Reason:</span> {op.reason}</p>}
      {op.reasons.map((reason) => <p key={reason.code} class="state trouble">{reason.message}</p>)}
    </Card>
  );
}

/** Outcomes that are no failure, and what they mean where nothing else is said. */
const LEFT: Record<string, string> = { skipped: '', cancelled: 'it was ended before it was done' };

function Errors({ of }: { of: Timeline }) {
  return (
    <Card title={of.errors.every((one) => one.outcome in LEFT) ? 'Who did not follow' : 'What went wrong'} testid="errors" aside={plural(of.errors.reduce((sum, one) => sum + one.members, 0), 'member')}>
      <table class="errors-table">
        <tbody>
          {of.errors.map((one) => (
            <tr key={one.outcome + one.message}>
              <td style={{ width: '50px' }}><b>{number(one.members)}</b></td>
              <td style={{ width: '90px' }}><span class={`state ${one.outcome in LEFT ? 'ended' : 'trouble'}`}>{one.outcome}</span></td>
              <td>{one.message || <span class="dim">{LEFT[one.outcome] || 'nobody said why'}</span>}</td>
              <td class="path"><Go to={toResource(one.path)}>{one.path}</Go>{one.members > 1 && <span class="dim"> and {number(one.members - 1)} more</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Gantt({ of, extra }: { of: Timeline; extra: TimelineBar[] }) {
  learnt.value;
  const known = new Set(of.items.map((bar) => bar.path));
  const bars = [...of.items, ...extra.filter((bar) => !known.has(bar.path))];
  if (of.operation.queued || !bars.length) return <Empty title={of.operation.queued ? 'It waits its turn' : 'Nothing has happened yet'} />;
  const time = windowOf(bars, of.operation.created_at, of.operation.ended_at, Date.parse(of.now));
  return (
    <>
      <div class="gantt head"><span>Member</span><span class="hide">State</span><span class="scale"><span>{clock(time.begin)}</span><span>+{span((time.end - time.begin) / 2000)}</span><span>+{span((time.end - time.begin) / 1000)}</span></span><span class="num">Took</span></div>
      <Rows count={bars.length} height={28} label="Members in time" testid="gantt" keyOf={(i) => (bars[i] as TimelineBar).path}
        open={(i) => go(toResource((bars[i] as TimelineBar).path))}
        row={(i) => <GanttRow bar={bars[i] as TimelineBar} op={of.operation} time={time} at={Date.parse(of.now)} />} />
    </>
  );
}

function GanttRow({ bar, op, time, at }: { bar: TimelineBar; op: Operation; time: Window; at: number }) {
  const name = bar.path === op.path ? bar.path : bar.path.slice(op.path.length + 1);
  const parts = segments(bar, time, at);
  const state = stateOf(bar);
  const took = (Date.parse(bar.ended_at ?? new Date(at).toISOString()) - Date.parse(bar.started_at)) / 1000;
  return (
    <div class="gantt" data-path={bar.path} data-outcome={bar.outcome ?? ''} title={bar.message}>
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
