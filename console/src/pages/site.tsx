/** Edge sites: who is there, what is on them, and what apps wrote. */
import { useEffect, useRef } from 'preact/hooks';
import { at, get, type Log, type Page, type Resource, type TreeNode } from '../api.ts';
import { below, useLive } from '../live.ts';
import { leaf, number } from '../logic/words.ts';
import { Card, Command, Empty, Shown, Stack, State, Values, When } from '../parts.tsx';
import { Go, toResource } from '../router.tsx';

/** Kinds of what is at sites, each with its noun on the command line. */
export const NOUNS: Record<string, string> = { cloudlet: 'cloudlet', clusterinst: 'cluster', appinst: 'app' };
const LINES = 200;
const MOST = 100;

/** The agent of a site: who it is, which version, and since when it is there or away. */
export function PresenceCard({ of }: { of: Resource }) {
  const { agent, version, kinds, objects } = of.facts;
  const there = of.state === 'Ready';
  return (
    <Card title="Agent" testid="presence" aside={<><State state={of.state} kind={of.kind} /> since <When at={of.changed_at} /></>}>
      {agent === undefined ? <Empty title="No agent has ever connected" command={`stead cloudlet invite ${of.path.slice(1)}`}>Invite one, and run it there:</Empty> : (
        <>
          <Values of={{ agent, version, makes: kinds, found: objects }} />
          {!there && <p class="dim" style={{ marginTop: '8px' }}>What is on the site is changed only while its agent is there. What runs, runs on.</p>}
        </>
      )}
    </Card>
  );
}

/** What is directly on a site, or in a cluster, the worst first. */
export function WithinCard({ of }: { of: Resource }) {
  const site = of.kind === 'cloudlet';
  const noun = site ? 'cluster' : 'app';
  const found = useLive<Page<TreeNode>>(`within ${of.path}`, () => get('/v1/tree', { below: of.path, limit: MOST }), { concerns: below(of.path), every: 10_000 });
  return (
    <Card title={site ? 'Clusters' : 'Apps'} testid="within" aside={<Go to={`/tree${of.path}`}>In the tree</Go>}>
      <Shown of={found}>
        {(page) => !page.items.length ? <Empty title={`There is no ${noun} yet`} command={`stead ${noun} create ${of.path.slice(1)}/one${site ? '' : ' -- COMMAND'}`} /> : (
          <>
            {page.items.map((node) => (
              <div class="kind-row" key={node.path}>
                <Go to={toResource(node.path)}>{leaf(node.path)}</Go>
                {node.counts['appinst'] ? <Stack counts={node.counts['appinst']} kind="appinst" label={node.path} /> : <State state={node.state ?? node.worst} kind={node.kind} />}
                <span>{node.total ? number(node.total) : ''}</span>
              </div>
            ))}
            {page.next && <p class="dim">There are others.</p>}
          </>
        )}
      </Shown>
    </Card>
  );
}

/** The end of what an app wrote, as its agent says it. */
export function LogsCard({ path }: { path: string }) {
  const log = useLive<Log>(`logs ${path}`, () => get(`/v1/logs/${at(path)}`, { lines: LINES }), { concerns: (line) => line.path === path, every: 5000 });
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [log.data?.position]);
  return (
    <Card wide title="Logs" testid="logs" aside={<button class="small" onClick={log.reload}>Look again</button>}>
      <Shown of={log} rows={3}>
        {(data) => data.lines.length ? <pre ref={box} class="logs" tabIndex={0} aria-label="Log">{data.lines.join('\n')}</pre> : <Empty title="It has written nothing" />}
      </Shown>
    </Card>
  );
}

/** A change that needs more than a click. */
export function Respec({ of }: { of: Resource }) {
  const more = of.kind === 'cloudlet' ? 'upgrade' : 'update';
  const how = of.kind === 'cloudlet' ? '--to VERSION' : of.kind === 'appinst' ? '--env NAME=VALUE' : '--set NAME=VALUE';
  return <Command text={`stead ${NOUNS[of.kind]} ${more} ${of.path.slice(1)} ${how}`} />;
}
