/** Systems: how each stands, on which lanes, and what is under way in it. */
import { useSignal } from '@preact/signals';
import { get, type Operation, type Page, type Resource } from '../api.ts';
import { useLive } from '../live.ts';
import { number, plural } from '../logic/words.ts';
import { Card, Empty, Progress, Shown, Stack, State, When } from '../parts.tsx';
import { Go, toOperation, toSystem } from '../router.tsx';
import { SystemView } from './system.tsx';

const SOME = 100;
/** Of a system, operations that are named. */
const NAMED = 3;
const KINDS = new Set(['system', 'service', 'job']);

interface Listed { systems: Resource[]; next: string | null; running: Map<string, Operation[]> }

export default function SystemsPage({ rest }: { rest: string }) {
  const place = rest.replace(/\/+$/, '');
  return place.split('/').length > 2 ? <SystemView place={place} /> : <List namespace={place} />;
}

/** So many systems, with what is under way in them. */
async function load(below: string, wanted: number): Promise<Listed> {
  const systems: Resource[] = [];
  let next: string | null = null;
  do {
    const page: Page<Resource> = await get('/v1/resources', { kind: 'system', below, limit: SOME, cursor: next, specs: true });
    systems.push(...page.items);
    next = page.next;
  } while (next && systems.length < wanted);
  const running = new Map<string, Operation[]>();
  const { items } = await get<Page<Operation>>('/v1/operations', { below, running: true, limit: 500 });
  for (const op of items.filter((one) => one.kind === 'system')) running.set(op.path, [...(running.get(op.path) ?? []), op]);
  return { systems, next, running };
}

function List({ namespace }: { namespace: string }) {
  const filter = useSignal('');
  const wanted = useSignal(SOME);
  const found = useLive<Listed>(`systems ${namespace} ${wanted.value}`, () => load(namespace || '/', wanted.value), { concerns: (line) => KINDS.has(line.kind), every: 5000 });
  return (
    <>
      <div class="top">
        <h1>Systems</h1>
        <input class="filter" type="search" data-filter aria-label="Filter" placeholder="Filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} />
      </div>
      <Card title={namespace ? `Systems of ${namespace.slice(1)}` : 'Trees of services, run as one thing'} testid="systems" aside={found.data && <>{found.data.next ? 'the first ' : ''}{plural(found.data.systems.length, 'system')}</>}>
        <Shown of={found} rows={6}>
          {(data) => {
            const shown = data.systems.filter((one) => `${one.path} ${one.state}`.toLowerCase().includes(filter.value.trim().toLowerCase()));
            if (!data.systems.length) return <Empty title="There is no system yet" command="stead system create shop/site --lane local.one">Set one up, and deploy services to it:</Empty>;
            if (!shown.length) return <Empty title="Nothing fits the filter" />;
            return <Table of={shown} running={data.running} />;
          }}
        </Shown>
        {found.data?.next && <p style={{ marginTop: '10px' }}><button onClick={() => { wanted.value += SOME; }}>Show more systems</button></p>}
      </Card>
    </>
  );
}

function Table({ of, running }: { of: Resource[]; running: Map<string, Operation[]> }) {
  return (
    <table class="cards systems">
      <thead><tr><th>System</th><th>State</th><th>Services</th><th>Lanes</th><th>Under way</th><th>Changed</th></tr></thead>
      <tbody>
        {of.map((one) => {
          const lanes = Array.isArray(one.spec['lanes']) ? one.spec['lanes'].map(String) : [];
          const ops = running.get(one.path) ?? [];
          return (
            <tr key={one.path} data-system={one.path}>
              <td><Go to={toSystem(one.path)} class="path" data-item>{one.path}</Go></td>
              <td class="beside-first"><State state={one.state} kind="system" /></td>
              <td class="whole">{Object.values(one.members ?? {}).some(Boolean) ? <Stack counts={one.members ?? {}} kind="service" label={`Services of ${one.path}`} /> : <span class="dim">nothing runs in it</span>}</td>
              <td data-label="Lanes">{lanes.join(', ') || <span class="dim">none</span>}</td>
              <td class="whole">
                {ops.slice(0, NAMED).map((op) => <Way key={op.id} of={op} />)}
                {ops.length > NAMED && <span class="dim">and {number(ops.length - NAMED)} more</span>}
              </td>
              <td data-label="Changed"><When at={one.changed_at} /></td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Way({ of }: { of: Operation }) {
  const place = (of.place ?? of.path).slice(of.path.length);
  return (
    <div class="way">
      <Go to={toOperation(of.id)}>{of.action}</Go>{place && <> at <span class="path">{place}</span></>}
      {of.total > 0 && <Progress done={of.total - of.remaining} total={of.total} failed={of.failed} label={`${of.action} of ${of.place ?? of.path}`} />}
    </div>
  );
}
