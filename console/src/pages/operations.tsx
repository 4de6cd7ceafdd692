/** Operations: those under way and waiting, and those that ended, the latest first. */
import { useSignal } from '@preact/signals';
import { get, type Operation, type Page } from '../api.ts';
import { useLive } from '../live.ts';
import { number, span } from '../logic/words.ts';
import { Card, Empty, Shown, When } from '../parts.tsx';
import { Go, toOperation, toThing } from '../router.tsx';
import { Operations } from './overview.tsx';

type Listed = Page<Operation> & { more: boolean };

export default function OperationsPage() {
  const pages = useSignal<Listed[]>([]);
  const busy = useSignal(false);
  const running = useLive<Listed>('running', () => get('/v1/operations', { running: true, limit: 50 }), { concerns: () => true, every: 5000 });
  const ended = useLive<Listed>('ended', () => get('/v1/operations', { running: false, limit: 50 }), { concerns: (line) => line.trigger !== 'request', every: 5000 });
  const more = async (cursor: string) => {
    busy.value = true;
    try {
      const page = await get<Listed>('/v1/operations', { running: false, limit: 100, cursor });
      pages.value = [...pages.value, page].slice(-20);
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <div class="top"><h1>Operations</h1></div>
      <div class="col">
        <Card title="Under way" testid="under-way"><Shown of={running}>{(page) => <Operations of={page.items} more={page.more} />}</Shown></Card>
        <Card title="Ended" testid="ended">
          <Shown of={ended} rows={8}>
            {(first) => {
              const all = new Map([...first.items, ...pages.value.flatMap((page) => page.items)].map((op) => [op.id, op]));
              const next = pages.value.length ? pages.value.at(-1)?.next : first.next;
              return (
                <>
                  {all.size ? <Table of={[...all.values()]} /> : <Empty title="Nothing has ended lately" command="stead operation list">Ask for something, such as:</Empty>}
                  {next && <p><button disabled={busy.value} onClick={() => void more(next)}>Earlier ones</button></p>}
                </>
              );
            }}
          </Shown>
        </Card>
      </div>
    </>
  );
}

const TONES: Record<string, string> = { succeeded: 'well', failed: 'trouble', rolled_back: 'trouble', unknown: 'trouble', rejected: 'trouble', cancelled: 'ended', preempted: 'ended' };

export function Outcome({ of }: { of: Operation }) {
  if (!of.outcome) return <span class="state moving">{of.queued ? `waits, place ${of.position}` : of.phase ?? 'under way'}</span>;
  return <span class={`state ${TONES[of.outcome] ?? 'ended'}`} data-outcome={of.outcome}>{of.outcome}</span>;
}

export function Table({ of }: { of: Operation[] }) {
  return (
    <div class="scroll">
      <table class="cards">
        <thead><tr><th>Action</th><th>On</th><th>Outcome</th><th class="num">Members</th><th class="num">Failed</th><th class="num">Took</th><th>By</th><th>Ended</th></tr></thead>
        <tbody>
          {of.map((op) => (
            <tr key={op.id}>
              <td><Go to={toOperation(op.id)} data-item><b>{op.action}</b></Go></td>
              <td class="whole"><Go to={toThing(op.path, op.kind)} class="path">{op.place ?? op.path}</Go></td>
              <td class="beside-first"><Outcome of={op} /></td>
              <td class="num" data-label="Members">{number(op.total)}</td>
              <td class="num" data-label="Failed">{op.failed ? number(op.failed) : <span class="dim">0</span>}</td>
              <td class="num" data-label="Took">{op.ended_at ? span((Date.parse(op.ended_at) - Date.parse(op.created_at)) / 1000) : ''}</td>
              <td data-label="By">{op.principal}</td>
              <td><When at={op.ended_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
