/** What can be asked of a resource: what is allowed acts, what is refused says why and what would help. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { at, call, get, type Accepted, type Explanation, type LifecycleDetail, type LifecycleAction, type JournalLine, type DryRun, type Resource } from '../api.ts';
import { below, useLive } from '../live.ts';
import { number } from '../logic/words.ts';
import { Dialog, Icon, say, Skeleton, When } from '../parts.tsx';
import { Go, toOperation } from '../router.tsx';
import { NAMING } from './datacenter.tsx';

const GRAVE = /terminate|teardown|delete|destroy|withdraw|decommission|rollback/;
/** Those that say more than their name. */
const SIZED = new Set(['scale-out', 'scale-in', 'create', 'update', 'upgrade']);

/** Whether nothing has to be said beside it. */
function plain(action: LifecycleAction, lifecycle: LifecycleDetail, state: string): boolean {
  if (!lifecycle.registered) return !SIZED.has(action.name);
  return !action.updates_spec && (action.name !== 'create' || action.source.includes(state));
}

async function ask(path: string, action: string, body: Record<string, unknown> = {}): Promise<boolean> {
  try {
    const taken = await call<Accepted>('POST', `/v1/resources/${at(path)}`, { action }, body);
    if (!taken.operation) say('There was nothing to do');
    else say(taken.queued ? `${action} waits its turn` : taken.joined ? `${action} is under way already` : `${action}: let in`, false, toOperation(taken.operation.id));
    return true;
  } catch (error) {
    say((error as Error).message, true);
    return false;
  }
}

interface Props { of: Resource; lifecycle: LifecycleDetail; reload: () => void }

export function Actions({ of, lifecycle, reload }: Props) {
  const first = (lifecycle.actions.find((action) => action.name === 'delete') ?? lifecycle.actions[0])?.name ?? 'create';
  // One question for all buttons. The answer changes with the members of a group, and with whoever holds what is above it.
  const near = (line: JournalLine) => below(of.path)(line) || of.path.startsWith(`${line.path}/`);
  const explained = useLive<Explanation>(`allowed ${of.path}`, () => get('/v1/explain', { path: of.path, action: first }), { concerns: near });
  const confirming = useSignal<LifecycleAction | null>(null);
  const refused = useSignal<LifecycleAction | null>(null);
  const busy = useSignal('');
  const said = explained.data;
  const allowed = new Set(said?.allowed_actions ?? []);
  const mine = lifecycle.actions.filter((action) => (action.actors.includes('user') || action.actors.includes('admin')) && plain(action, lifecycle, of.state) && !NAMING[of.kind]?.includes(action.name));
  const click = async (action: LifecycleAction) => {
    if (!allowed.has(action.name)) refused.value = action;
    else if (GRAVE.test(action.name) || lifecycle.members || action.needs_reason) confirming.value = action;
    else {
      busy.value = action.name;
      await ask(of.path, action.name);
      busy.value = '';
      reload();
    }
  };
  return (
    <div class="buttons" style={{ marginBottom: '14px' }} data-testid="actions" aria-label="Actions" role="group">
      {mine.map((action) => {
        const may = allowed.has(action.name);
        const refuses = explained.data && !may;
        return (
          <button key={action.name} class={`${refuses ? 'refused' : ''} ${GRAVE.test(action.name) && may ? 'danger' : ''}`} disabled={!explained.data || busy.value === action.name}
            aria-describedby={refuses ? 'why-refused' : undefined} title={!refuses ? action.description : `${action.description} Not now: click to see why.`} data-action={action.name} data-allowed={may} onClick={() => void click(action)}>
            {action.name}
          </button>
        );
      })}
      <span id="why-refused" hidden>Not allowed now; opens an explanation</span>
      {confirming.value && <Confirm of={of} action={confirming.value} close={() => { confirming.value = null; reload(); }} />}
      {refused.value && <Why of={of} action={refused.value} close={() => { refused.value = null; reload(); }} />}
    </div>
  );
}

function Confirm({ of, action, close }: { of: Resource; action: LifecycleAction; close: () => void }) {
  const plan = useSignal<DryRun | Error | null>(null);
  const reason = useSignal('');
  const busy = useSignal(false);
  useEffect(() => {
    const why = action.needs_reason ? { reason: 'dry run' } : {};
    call<DryRun>('POST', `/v1/resources/${at(of.path)}`, { action: action.name, dry_run: true }, why).then(
      (found) => { plan.value = found; }, (error: Error) => { plan.value = error; },
    );
  }, []);
  const go = async () => {
    busy.value = true;
    if (await ask(of.path, action.name, reason.value.trim() ? { reason: reason.value.trim() } : {})) close();
    busy.value = false;
  };
  const found = plan.value;
  const grave = GRAVE.test(action.name);
  return (
    <Dialog title={`${action.name} ${of.path}`} close={close} testid="confirm">
      <p>{action.description}</p>
      {found === null ? <Skeleton rows={2} /> : found instanceof Error ? <p class="state trouble long"><Icon of="trouble" />{found.message}</p> : (
        <div>
          {found.states.length > 0 && <p class="dim">{found.states.join(' → ')}{found.failure_state ? `; if it fails: ${found.failure_state}` : ''}</p>}
          {found.members.length > 0 && <ul>{found.members.map((part) => <li key={part.state + part.effect}><b>{number(part.members)}</b> in {part.state}: {part.effect === 'acts' ? `go to ${part.target}` : part.effect === 'skipped' ? 'are skipped' : part.effect === 'joins' ? 'are at it already' : 'nothing to do'}</li>)}</ul>}
        </div>
      )}
      {(grave || action.needs_reason) && <label class="field">{action.needs_reason ? 'Reason, kept in the journal' : 'Reason, for the record'}<input data-testid="reason" value={reason.value} onInput={(event) => { reason.value = event.currentTarget.value; }} /></label>}
      <div class="buttons"><button class={`primary ${grave ? 'danger' : ''}`} disabled={busy.value || found instanceof Error || (action.needs_reason && !reason.value.trim())} data-testid="confirm-yes" onClick={() => void go()}>{action.name}</button><button onClick={close}>Leave it</button></div>
    </Dialog>
  );
}

function Why({ of, action, close }: { of: Resource; action: LifecycleAction; close: () => void }) {
  const reason = useSignal('');
  const why = useLive<Explanation>(`why ${of.path} ${action.name}`, () => get('/v1/explain', { path: of.path, action: action.name }), { concerns: (line) => line.path === of.path });
  const said = why.data;
  const force = said?.remedies.some((one) => one.kind === 'force');
  const go = async (body: Record<string, unknown>) => { if (await ask(of.path, action.name, body)) close(); };
  return (
    <Dialog title={`Why not ${action.name}?`} close={close} testid="explain">
      {!said ? why.error ? <p class="state trouble">{why.error.message}</p> : <Skeleton rows={3} /> : (
        <>
          {said.allowed ? <p class="state well"><Icon of="well" />It would be let in now.</p> : <ul data-testid="reasons">{said.reasons.map((one) => <li key={one.message}>{one.message}</li>)}</ul>}
          {said.holders.length > 0 && <div><h3>Who holds it</h3>{said.holders.map((one) => <p key={one.operation}><Go to={toOperation(one.operation)}><b>{one.action || 'operation'}</b></Go> on <span class="path">{one.path}</span> by {one.principal || 'nobody'}, <When at={one.since} /></p>)}</div>}
          {said.remedies.length > 0 && <div><h3>What would help</h3><ul>{said.remedies.map((one) => <li key={one.description}>{one.description}</li>)}</ul></div>}
          <div class="buttons">
            {said.allowed && <button class="primary" onClick={() => void go({})}>{action.name}</button>}
            {said.holders.length > 0 && <button onClick={() => void go({ on_conflict: 'queue' })}>Wait its turn</button>}
          </div>
          {force && !said.allowed && (
            <div class="col" style={{ gap: '8px' }}>
              <label class="field">Force it, whatever the state says; reason<input data-testid="force-reason" value={reason.value} onInput={(event) => { reason.value = event.currentTarget.value; }} /></label>
              <div class="buttons"><button class="danger" data-testid="force" disabled={!reason.value.trim()} onClick={() => void go({ force: true, reason: reason.value.trim() })}>Force {action.name}</button></div>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}

export function Scale({ of, reload }: { of: Resource; reload: () => void }) {
  const have = Object.values(of.members ?? {}).reduce((a, b) => a + b, 0);
  const to = useSignal<string | null>(null);
  const wanted = Number(to.value ?? have);
  const go = async (event: Event) => {
    event.preventDefault();
    if (await ask(of.path, wanted > have ? 'scale-out' : 'scale-in', { kind: 'subgroup', spec: { size: wanted } })) to.value = null;
    reload();
  };
  return (
    <form class="buttons" onSubmit={(event) => void go(event)} data-testid="scale">
      <input type="number" min="0" aria-label="VMs" value={to.value ?? String(have)} onInput={(event) => { to.value = event.currentTarget.value; }} />
      <button class="primary" disabled={to.value === null || !Number.isInteger(wanted) || wanted === have}>Scale{to.value !== null && wanted !== have ? ` ${wanted > have ? 'out' : 'in'} by ${number(Math.abs(wanted - have))}` : ''}</button>
    </form>
  );
}
