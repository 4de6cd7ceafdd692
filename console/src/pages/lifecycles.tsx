/** The lifecycles that the server knows: drawn, with their states and actions, and what lint says. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { get, type LifecycleDetail, type LifecycleName } from '../api.ts';
import { healthOf, lifecycle } from '../kinds.ts';
import { useLive } from '../live.ts';
import type { Taken } from '../logic/edges.ts';
import { number, plural, span } from '../logic/words.ts';
import { Card, Command, Empty, Icon, Shown, State, When } from '../parts.tsx';
import { Go } from '../router.tsx';

const FAMILIES: Record<string, string> = {
  multicloud: 'Multi-cloud infrastructure', edge: 'Edge sites', datacenter: 'Private cloud', reservation: 'Leases', system: 'Systems of services', yours: 'Your own', '': 'Others',
};

export default function LifecyclesPage({ rest }: { rest: string }) {
  const kind = rest.replace(/^\//, '');
  return kind ? <One kind={kind} /> : <All />;
}

function All() {
  const filter = useSignal('');
  const all = useLive<{ items: LifecycleName[] }>('lifecycles', () => get('/v1/cells/-/lifecycles'));
  return (
    <>
      <div class="top"><h1>Lifecycles</h1><input class="filter" type="search" data-filter aria-label="Filter" placeholder="Filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} /></div>
      <Shown of={all} rows={10}>
        {({ items }) => {
          const fitting = items.filter((one) => `${one.kind} ${one.description}`.toLowerCase().includes(filter.value.trim().toLowerCase()));
          const families = [...new Set(fitting.map((one) => one.family))].sort((a, b) => Number(b === 'yours') - Number(a === 'yours'));
          if (!fitting.length) return <Empty title="None fits the filter" />;
          return (
            <div class="grid">
              {families.map((family) => (
                <Card key={family} title={FAMILIES[family] ?? family}>
                  <ul class="list">
                    {fitting.filter((one) => one.family === family).map((one) => (
                      <li key={one.kind}>
                        <Go to={`/lifecycles/${one.kind}`} class="item lc" style={{ gridTemplateColumns: '118px minmax(0, 1fr) auto' }} data-item>
                          <b>{one.kind}</b><span class="dim">{one.description}</span>
                          {one.findings ? <span class="state trouble"><Icon of="trouble" />{plural(one.findings, 'finding')}</span> : <span class="dim brief">{one.version === null ? '' : `registered, version ${one.version}; `}{one.states} states</span>}
                        </Go>
                      </li>
                    ))}
                  </ul>
                </Card>
              ))}
            </div>
          );
        }}
      </Shown>
    </>
  );
}

type DiagramType = ComponentType<{ of: LifecycleDetail; current?: string | undefined; taken?: Taken | undefined; all?: boolean }>;

export function Drawn(props: { of: LifecycleDetail; current?: string | undefined; taken?: Taken | undefined; all?: boolean }) {
  const drawing = useSignal<{ is: DiagramType } | null>(null);
  useEffect(() => { void import('../diagram.tsx').then((module) => { drawing.value = { is: module.default }; }); }, []);
  const Diagram = drawing.value?.is;
  return Diagram ? <Diagram {...props} /> : <div style={{ minHeight: '200px' }} />;
}

function One({ kind }: { kind: string }) {
  const all = useSignal(false);
  const found = useLive<LifecycleDetail>(`lifecycle ${kind}`, () => lifecycle(kind));
  return (
    <Shown of={found} rows={10}>
      {(of) => (
        <>
          <div class="top"><div class="crumbs"><Go to="/lifecycles">Lifecycles</Go> /</div><h1>{of.kind}</h1><span class="dim">{of.description}</span></div>
          <div class="grid">
            <Card wide title="Diagram" testid="diagram" aside={<label><input type="checkbox" checked={all.value} onChange={(event) => { all.value = event.currentTarget.checked; }} /> every move ({of.transitions.length})</label>}>
              <Drawn of={of} all={all.value} />
            </Card>
            <Card title="States" testid="states">
              <table><tbody>{of.states.map((state) => (
                <tr key={state.name}><td><State state={state.name} health={healthOf(state.state_class, state.unhealthy)} quiet /></td><td>{state.description}<div class="dim">{state.state_class}{state.timeout ? `, at most ${span(state.timeout)}` : ''}{state.awaits ? `, waits for ${state.awaits === 'agent' ? 'an agent' : state.awaits}` : ''}</div></td></tr>
              ))}</tbody></table>
            </Card>
            <div class="col">
              <Card title="Actions" testid="actions">
                <table><tbody>{of.actions.map((action) => (
                  <tr key={action.name}><td><b>{action.name}</b><div class="dim">{action.actors.join(', ')}</div></td><td>{action.description}<div class="dim">{action.signals ? `a word to ${action.signals}` : `${action.source.join(', ')} → ${[...action.via, action.target].join(' → ')}${action.on_failure ? `; fails: ${action.on_failure}` : ''}${action.rollback ? `; undone by ${action.rollback}` : ''}`}{action.forceable ? '; can be forced' : ''}</div></td></tr>
                ))}</tbody></table>
              </Card>
              <Card title="Lint" testid="findings" aside={of.findings.length ? plural(of.findings.length, 'finding') : undefined}>
                {of.findings.length ? of.findings.map((one) => (
                  <div class="line" key={one.rule + one.location} style={{ gridTemplateColumns: '120px 1fr' }}><span class="state trouble"><Icon of="trouble" />{one.rule}</span><div><b>{one.location}</b>: {one.message}<div class="dim">{one.fix}</div></div></div>
                )) : <p class="state well long"><Icon of="well" />No findings: every moving state has a deadline and a way out.</p>}
              </Card>
              {of.registered && <Registered of={of.registered} kind={of.kind} />}
              {of.explored && <Card title="Explored" testid="explored"><p class="state well long"><Icon of="well" />{number(of.explored.worlds)} worlds in {number(of.explored.steps)} steps: lost, repeated and late messages, crashes, agents that wake too late. Nothing was as it must not be.</p></Card>}
            </div>
          </div>
        </>
      )}
    </Shown>
  );
}

function Registered({ of, kind }: { of: NonNullable<LifecycleDetail['registered']>; kind: string }) {
  const bounds = Object.entries(of.explored.bounds ?? {}).map(([name, most]) => `${name.replace('_', ' ')} ${most}`);
  return (
    <Card title="Registered" testid="registered" aside={`version ${of.version}`}>
      <div class="col">
        <p>By {of.registered_by}, <When at={of.registered_at} />{bounds.length > 0 && <span class="dim">; explored within these bounds: {bounds.join(', ')}</span>}</p>
        <Command text={`stead resource create ${kind} NAMESPACE/NAME --lane LANE`} />
        <details><summary>Document</summary><pre class="path">{of.document.trim()}</pre></details>
      </div>
    </Card>
  );
}
