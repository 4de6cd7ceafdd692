/** Lanes: what they bear, what goes on there, who serves them; and what nobody owns. */
import { useSignal } from '@preact/signals';
import { call, get, type Accepted, type Lane, type Orphan, type Page } from '../api.ts';
import { useLive } from '../live.ts';
import { number } from '../logic/words.ts';
import { Card, Dialog, Empty, Icon, say, Shown, When } from '../parts.tsx';
import { toOperation } from '../router.tsx';

export default function LanesPage() {
  const filter = useSignal('');
  const lanes = useLive<Page<Lane>>('lanes', () => get('/v1/cells/-/lanes', { limit: 500 }), { concerns: () => true, every: 3000 });
  const orphans = useLive<{ items: Orphan[]; more: boolean }>('orphans', () => get('/v1/cells/-/orphans', { limit: 200 }), { every: 5000 });
  return (
    <>
      <div class="top">
        <h1>Lanes</h1>
        <input class="filter" type="search" data-filter aria-label="Filter" placeholder="Filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} />
      </div>
      <div class="col">
        <Card title="Places that orders go to" testid="lanes">
          <Shown of={lanes} rows={6}>
            {(page) => {
              const items = page.items.filter((lane) => lane.lane.includes(filter.value.trim()));
              if (!page.items.length) return <Empty title="Nobody serves a lane yet" command="stead agent run --lane aws.us-east-1 --set url=http://127.0.0.1:7780">Start an agent:</Empty>;
              return <Table of={items} reload={lanes.reload} />;
            }}
          </Shown>
        </Card>
        <Card title="What nobody owns" testid="orphans">
          <Shown of={orphans} rows={2}>{(page) => <Orphans of={page.items} reload={orphans.reload} />}</Shown>
        </Card>
      </div>
    </>
  );
}

function Table({ of, reload }: { of: Lane[]; reload: () => void }) {
  const editing = useSignal<Lane | null>(null);
  return (
    <div class="scroll">
      <table class="cards">
        <thead><tr><th>Lane</th><th>Served by</th><th class="num">At once</th><th class="num">In flight</th><th class="num">Waiting</th><th class="num">Untaken</th><th class="num">Throttled</th><th /></tr></thead>
        <tbody>
          {of.map((lane) => (
            <tr key={lane.lane} data-lane={lane.lane}>
              <td><b>{lane.lane}</b></td>
              <td data-label="">{lane.agents.length ? lane.agents.map((agent) => (
                <span key={agent.name} class={`state ${agent.connected ? 'well' : 'trouble'}`} title={`version ${agent.version}`} style={{ marginRight: '10px' }}>
                  <Icon of={agent.connected ? 'well' : 'trouble'} />{agent.name}{agent.connected ? '' : <>, away, seen <When at={agent.last_seen} /></>}
                </span>
              )) : <span class="state trouble"><Icon of="trouble" />nobody</span>}</td>
              <td class="num" data-label="At once">{lane.limit ?? <span class="dim">no limit</span>}</td>
              <td class="num" data-label="In flight">{number(lane.in_flight)}</td>
              <td class="num" data-label="Waiting">{number(lane.waiting)}</td>
              <td class="num" data-label="Untaken">{number(lane.untaken)}</td>
              <td class="num" data-label="Throttled" title={lane.throttled_at ?? ''}>{lane.throttled ? <>{number(lane.throttled)} <small class="dim"><When at={lane.throttled_at} /></small></> : <span class="dim">0</span>}</td>
              <td class="num"><button class="small" aria-label={`Limit ${lane.lane}`} onClick={() => { editing.value = lane; }}>Limit</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      {editing.value && <Limit of={editing.value} close={() => { editing.value = null; reload(); }} />}
    </div>
  );
}

function Limit({ of, close }: { of: Lane; close: () => void }) {
  const provider = of.lane.split('.')[0] as string;
  const members = useSignal(of.limit === null ? '' : String(of.limit));
  const regions = useSignal(of.regions === null ? '' : String(of.regions));
  const all = useSignal(false);
  const save = async () => {
    const number_ = (text: string) => (text.trim() ? Number(text) : null);
    try {
      if (all.value) await call('PUT', `/v1/cells/-/providers/${provider}/limits`, {}, { members: number_(members.value), regions: number_(regions.value) });
      else await call('PUT', `/v1/cells/-/lanes/${of.lane}/limit`, {}, { members: number_(members.value) });
      say(`${all.value ? provider : of.lane} bears ${members.value || 'any number of'} members at once`);
      close();
    } catch (error) {
      say((error as Error).message, true);
    }
  };
  return (
    <Dialog title={`What ${all.value ? provider : of.lane} bears`} close={close} testid="limit">
      <label class="field">Members at once<input type="number" min="1" value={members.value} placeholder={all.value ? 'no limit' : 'as its provider says'} onInput={(event) => { members.value = event.currentTarget.value; }} /></label>
      <label><input type="checkbox" checked={all.value} onChange={(event) => { all.value = event.currentTarget.checked; }} /> For all regions of {provider}</label>
      {all.value && <label class="field">Regions at once<input type="number" min="1" value={regions.value} placeholder="no limit" onInput={(event) => { regions.value = event.currentTarget.value; }} /></label>}
      <div class="buttons"><button class="primary" onClick={() => void save()}>Save</button><button onClick={close}>Leave it</button></div>
    </Dialog>
  );
}

function Orphans({ of, reload }: { of: Orphan[]; reload: () => void }) {
  const asked = useSignal<{ orphan: Orphan; action: 'adopt' | 'remove' } | null>(null);
  const path = useSignal('');
  if (!of.length) return <Empty title="Nothing is orphaned" command="stead orphan list">What a provider has with our tag, and nobody owns, is listed here once it was found twice.</Empty>;
  const deal = async () => {
    const wish = asked.value;
    if (!wish) return;
    try {
      const at = wish.action === 'adopt' ? path.value.trim() || null : null;
      const taken = await call<Accepted>('POST', `/v1/cells/-/orphans/${wish.orphan.lane}/${encodeURIComponent(wish.orphan.token)}`, { action: wish.action, path: at });
      say(`${wish.action}: let in`, false, taken.operation ? toOperation(taken.operation.id) : undefined);
      asked.value = null;
      reload();
    } catch (error) {
      say((error as Error).message, true);
    }
  };
  return (
    <div class="scroll">
      <table class="cards">
        <thead><tr><th>Made for</th><th>Lane</th><th>State</th><th>Found</th><th>Token</th><th /></tr></thead>
        <tbody>
          {of.map((one) => (
            <tr key={one.lane + one.token}>
              <td class="path">{one.path || <span class="dim">nobody knows</span>}</td><td>{one.lane}</td><td>{one.state}</td><td><When at={one.first_observed_at} /></td><td class="path">{one.token.slice(0, 13)}</td>
              <td class="num"><span class="buttons end"><button class="small" onClick={() => { path.value = one.path; asked.value = { orphan: one, action: 'adopt' }; }}>Adopt</button><button class="small danger" onClick={() => { asked.value = { orphan: one, action: 'remove' }; }}>Remove</button></span></td>
            </tr>
          ))}
        </tbody>
      </table>
      {asked.value && (
        <Dialog title={asked.value.action === 'adopt' ? 'Adopt it' : 'Remove it at the provider'} close={() => { asked.value = null; }} testid="orphan">
          <p>On {asked.value.orphan.lane}, made for <span class="path">{asked.value.orphan.path || 'nobody knows what'}</span>.</p>
          {asked.value.action === 'adopt' && <label class="field">At the path<input value={path.value} onInput={(event) => { path.value = event.currentTarget.value; }} placeholder="/shop/web/front/7" /></label>}
          <div class="buttons"><button class={`primary ${asked.value.action === 'remove' ? 'danger' : ''}`} onClick={() => void deal()}>{asked.value.action === 'adopt' ? 'Adopt' : 'Remove'}</button><button onClick={() => { asked.value = null; }}>Leave it</button></div>
        </Dialog>
      )}
    </div>
  );
}
