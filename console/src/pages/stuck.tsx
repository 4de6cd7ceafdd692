/** What does not come to its end, or was settled without a report: why, what was decided, what one may do. */
import { useSignal } from '@preact/signals';
import { call, get, type Accepted, type Page, type Stuck } from '../api.ts';
import { useLive } from '../live.ts';
import { Card, Empty, Lasts, say, Shown, State, When } from '../parts.tsx';
import { Go, go, toOperation, toResource } from '../router.tsx';

const SPANS: [string, number][] = [['the last hour', 3600], ['12 hours', 12 * 3600], ['3 days', 3 * 86400]];

export default function StuckPage() {
  const lately = useSignal(3600);
  const more = useSignal<Stuck[]>([]);
  const cursor = useSignal<string | null | undefined>(undefined);
  const first = useLive<Page<Stuck>>(`stuck ${lately.value}`, () => get('/v1/stuck', { lately: lately.value, limit: 100 }), { every: 5000 });
  const further = async (next: string) => {
    const page = await get<Page<Stuck>>('/v1/stuck', { lately: lately.value, limit: 100, cursor: next });
    more.value = [...more.value, ...page.items].slice(0, 1000);
    cursor.value = page.next;
  };
  const choose = (seconds: number) => { lately.value = seconds; more.value = []; cursor.value = undefined; };
  return (
    <>
      <div class="top">
        <h1>What is stuck</h1>
        <span class="grow" />
        <label class="dim">and what was settled in <select data-testid="lately" value={lately.value} onChange={(event) => choose(Number(event.currentTarget.value))}>{SPANS.map(([name, seconds]) => <option key={seconds} value={seconds}>{name}</option>)}</select></label>
      </div>
      <Shown of={first} rows={8}>
        {(page) => {
          const known = new Set(page.items.map((item) => item.path));
          const items = [...page.items, ...more.value.filter((item) => !known.has(item.path))];
          const moving = items.filter((item) => item.outcome === null);
          const settled = items.filter((item) => item.outcome !== null);
          const next = cursor.value === undefined ? page.next : cursor.value;
          return (
            <div class="col">
              <Card title="Under way for too long, or being looked at" testid="stuck-moving">
                {moving.length ? <Items of={moving} reload={first.reload} /> : <Empty title="Nothing is stuck" command="stead stuck">What lasts longer than it usually does or may is named here with why.</Empty>}
              </Card>
              <Card title="Settled without a report" testid="stuck-settled">
                {settled.length ? <Items of={settled} reload={first.reload} /> : <Empty title="Nothing was" />}
              </Card>
              {next && <p><button onClick={() => void further(next)}>Show more</button></p>}
            </div>
          );
        }}
      </Shown>
    </>
  );
}

function Items({ of, reload }: { of: Stuck[]; reload: () => void }) {
  const ask = async (item: Stuck, what: string, operation: string) => {
    try {
      const taken = await call<Partial<Accepted>>('POST', `/v1/operations/${operation}/${what}`, {}, what === 'retry' ? {} : undefined);
      if (what === 'retry' && taken.operation) go(toOperation(taken.operation.id));
      else say(`${item.action} of ${item.path} is being ended`);
    } catch (error) {
      say((error as Error).message, true);
    }
    reload();
  };
  return (
    <ul class="list">
      {of.map((item) => (
        <li key={item.path + item.operation} class="item trouble-item" data-path={item.path}>
          <State state={item.state} kind={item.kind} health={item.outcome === null ? 'moving' : undefined} />
          <Go to={toResource(item.path)} class="path">{item.path}</Go>
          <When at={item.since} />
          <div class="why">
            <p><Go to={toOperation(item.operation)}><b>{item.action}</b></Go> by {item.principal || 'the controller'}</p>
            {item.causes.map((why) => <p key={why.code}><b>{why.code}</b>: {why.message}</p>)}
            {item.observations.length > 0 && <p>Seen: {item.observations.map((look) => look.observed).join(', ')}</p>}
            {item.resolution && <p>Decided: {item.resolution}</p>}
            <Lasts of={item.elapsed} />
            {item.steps.filter((step) => step.kind !== 'cancel' && step.kind !== 'retry').map((step) => <p key={step.kind}>{step.description}</p>)}
            <div class="buttons">
              {item.steps.filter((step) => step.kind === 'cancel' || step.kind === 'retry').map((step) => (
                <button key={step.kind} class={`small ${step.kind === 'cancel' ? 'danger' : ''}`} data-testid={step.kind} title={step.description} onClick={() => void ask(item, step.kind, step.operation)}>{step.kind === 'cancel' ? 'Cancel' : 'Retry'}</button>
              ))}
            </div>
          </div>
        </li>
      ))}
    </ul>
  );
}
