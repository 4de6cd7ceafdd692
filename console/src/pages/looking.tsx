/** What a look shows beside what is believed, and what a resource was at any time. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { at, get, Problem, type Page, type HistoricalResource, type Resource, type DriftReport } from '../api.ts';
import { useLive } from '../live.ts';
import { clock } from '../logic/words.ts';
import { Card, Icon, Shown, State, Values, When } from '../parts.tsx';
import { Go, toOperation } from '../router.tsx';

const WHY: Record<string, string> = {
  moving: 'it is on its way', unasked: 'nobody was asked', 'no-agent': 'nobody who serves the lane answered',
  'no-provider': 'the provider could not be asked', unsaid: 'the state says nothing of the provider',
};

export function TruthCard({ path, state }: { path: string; state: string }) {
  const truth = useLive<DriftReport | null>(`truth ${path} ${state}`, async () => (await get<Page<DriftReport>>('/v1/drift', { below: path, limit: 1 })).items[0] ?? null);
  return (
    <Card title="Belief beside truth" testid="truth" aside={<button class="small" onClick={truth.reload}>Look again</button>}>
      <Shown of={truth} rows={3}>
        {(one) => one && (
          <>
            <div class="beside">
              <div><small>believed</small><b>{one.recorded}</b></div>
              <span class={`state ${one.matches === null ? 'empty' : one.matches ? 'well' : 'trouble'}`}><Icon of={one.matches === null ? 'empty' : one.matches ? 'well' : 'trouble'} />{one.matches === null ? 'unsure' : one.matches ? 'agree' : 'differ'}</span>
              <div><small>seen now</small><b>{one.observed ?? 'nothing'}</b></div>
            </div>
            <p class="dim" style={{ marginTop: '8px' }}>{one.reason ? `${WHY[one.reason] ?? one.reason}; ` : ''}on record as seen <When at={one.observed_at} />. A look changes nothing; what differs is found and believed by looks from time to time.</p>
          </>
        )}
      </Shown>
    </Card>
  );
}

export function PastCard({ of, first }: { of: Resource; first: string | null }) {
  const place = useSignal(1000);
  const past = useSignal<HistoricalResource | Error | null>(null);
  const asked = useRef(0);
  const begin = first ? Date.parse(first) : Date.parse(of.created_at ?? new Date().toISOString());
  const when = begin + ((Date.now() - begin) * place.value) / 1000;
  useEffect(() => {
    if (place.value === 1000) {
      past.value = null;
      return undefined;
    }
    const turn = ++asked.current;
    const timer = window.setTimeout(() => {
      get<HistoricalResource>(`/v1/resources/${at(of.path)}`, { at: new Date(when).toISOString() }).then(
        (found) => { if (turn === asked.current) past.value = found; },
        (error: Error) => { if (turn === asked.current) past.value = error; },
      );
    }, 120);
    return () => window.clearTimeout(timer);
  }, [place.value]);
  const found = past.value;
  return (
    <Card title="As it was" testid="past" aside={place.value === 1000 ? 'now' : clock(when)}>
      <input type="range" min="0" max="1000" value={place.value} aria-label="Time" aria-valuetext={place.value === 1000 ? 'now' : clock(when)} onInput={(event) => { place.value = Number(event.currentTarget.value); }} />
      <div class="dim" style={{ display: 'flex', justifyContent: 'space-between', fontSize: '12px' }}><span>{clock(begin)}</span><span>now</span></div>
      {found instanceof Error ? <p class="dim">{found instanceof Problem && found.body.status === 404 ? 'There was nothing then.' : found.message}</p>
        : found && (
          <div style={{ marginTop: '8px' }}>
            <p><State state={found.state} kind={found.kind} /> <span class="dim">since {found.since ? clock(found.since) : '?'}, by {found.principal}{found.operation && <>, <Go to={toOperation(found.operation)}>operation</Go></>}</span></p>
            {Object.keys(found.facts).length > 0 && <><h3>What the provider had said</h3><Values of={found.facts} /></>}
          </div>
        )}
      {!found && <p class="dim" style={{ marginTop: '6px' }}>Move it to see the resource at any time.</p>}
    </Card>
  );
}
