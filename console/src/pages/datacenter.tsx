/** The private cloud: what is on a node, how long deleted things stay, and what needs more than a click. */
import { get, type Page, type Resource } from '../api.ts';
import { useLive } from '../live.ts';
import { leaf, number, span } from '../logic/words.ts';
import { Card, Command, Empty, now, Shown, State } from '../parts.tsx';
import { Go, toResource } from '../router.tsx';

/** Actions that say more than their name, by kind: they make something, or name something else. */
export const NAMING: Record<string, readonly string[]> = {
  cloudspace: ['deploy'],
  machine: ['deploy', 'migrate', 'add-disk', 'attach-disk', 'detach-disk'],
  disk: ['assign', 'attach'],
  system: ['deploy'],
};
/** How they are asked for all the same. */
const COMMANDS: Record<string, string> = { machine: 'stead machine migrate PATH --to NODE', disk: 'stead disk attach PATH --machine NAME', system: 'stead system deploy PATH -f FILE' };
/** Machines that are looked through, and those that are shown. */
const PAGE = 1000;
const PAGES = 10;
const MOST = 100;

interface On { machines: Resource[]; more: boolean }

/** Machines on a node, on their way to it or away from it. */
async function on(node: string): Promise<On> {
  const machines: Resource[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < PAGES; pages++) {
    const page: Page<Resource> = await get('/v1/resources', { kind: 'machine', limit: PAGE, cursor, specs: true });
    machines.push(...page.items.filter((one) => [one.spec['node'], one.next_spec?.['node']].includes(node) && !['VIRTUAL', 'DESTROYED'].includes(one.state)));
    cursor = page.next;
    if (!cursor) break;
  }
  return { machines, more: cursor !== null };
}

export function MachinesCard({ of }: { of: Resource }) {
  const found = useLive<On>(`on ${of.path}`, () => on(of.path), { concerns: (line) => line.kind === 'machine', every: 10_000 });
  const way = (one: Resource) => {
    const to = one.next_spec?.['node'];
    if (!to || to === one.spec['node']) return '';
    return to === of.path ? `comes from ${leaf(String(one.spec['node']))}` : `goes to ${leaf(String(to))}`;
  };
  return (
    <Card title="Machines" testid="machines" aside={found.data ? number(found.data.machines.length) : undefined}>
      <Shown of={found}>
        {({ machines, more }) => (
          <>
            {!machines.length && <Empty title="No machine is on it" />}
            {machines.slice(0, MOST).map((one) => <div class="kind-row" key={one.path}><Go to={toResource(one.path)} class="path">{one.path}</Go><State state={one.state} kind="machine" /><span class="dim">{way(one)}</span></div>)}
            {(more || machines.length > MOST) && <p class="dim">There are others.</p>}
          </>
        )}
      </Shown>
    </Card>
  );
}

/** Until when something lies in the recycle bin. */
export function Expiry({ of }: { of: Resource }) {
  const until = of.timers['expiry'];
  return until ? <span data-testid="expiry">, destroyed in {span((Date.parse(until) - now.value) / 1000)} unless it is restored</span> : null;
}

/** A change that needs more than a click. */
export function Naming({ of }: { of: Resource }) {
  const command = COMMANDS[of.kind];
  return command ? <Command text={command.replace('PATH', of.path.slice(1))} /> : null;
}
