/** Make an infrastructure from a file, checked as it is written and again by the server, line by line. */
import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { at, call, Problem, type Accepted, type DryRun } from '../api.ts';
import { read, type Mistake } from '../logic/lines.ts';
import { number, plural } from '../logic/words.ts';
import { Card, Command, Icon, say } from '../parts.tsx';
import { go, toOperation } from '../router.tsx';

const EXAMPLE = `# An infrastructure over three clouds.
defaults:
  spec: small
  image: ubuntu-22.04
subgroups:
  - name: front
    provider: aws
    region: us-east-1
    size: 3
  - name: back
    provider: azure
    region: koreacentral
    size: 2
  - name: cache
    provider: gcp
    region: asia-northeast3
`;

export default function CreatePage() {
  const text = useSignal(EXAMPLE);
  const path = useSignal('shop/web');
  const hold = useSignal(false);
  const later = useSignal(false);
  const partial = useSignal('continue');
  const busy = useSignal(false);
  const told = useSignal<{ for: string; errors: { location: string; message: string }[]; detail: string } | null>(null);
  const planned = useSignal<DryRun | null>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const found = useMemo(() => read(text.value), [text.value]);
  const from = told.value?.for === text.value + path.value ? told.value : null;
  const mistakes: (Mistake & { where?: string })[] = found.mistakes.length ? found.mistakes
    : (from?.errors ?? []).map((error) => ({ line: error.location.startsWith('spec') ? found.lineOf(error.location) : 0, says: error.message, where: error.location }));
  const bad = new Set(mistakes.map((mistake) => mistake.line));
  const lines = text.value.split('\n').length;
  const ask = async (dry: boolean) => {
    busy.value = true;
    told.value = null;
    planned.value = null;
    const body = { kind: 'mci', spec: found.value, hold: hold.value, on_partial: partial.value, expect_agent: later.value };
    try {
      const answer = await call<Accepted & DryRun>('POST', `/v1/resources/${at(path.value)}`, { action: 'create', ...(dry ? { dry_run: true } : {}) }, body);
      if (dry) planned.value = answer;
      else if (answer.operation) {
        say('It is being made');
        go(toOperation(answer.operation.id));
      }
    } catch (error) {
      const said = error instanceof Problem ? error.body : null;
      told.value = { for: text.value + path.value, errors: said?.errors ?? [], detail: (error as Error).message };
    } finally {
      busy.value = false;
    }
  };
  const fit = /^[\w.-]+\/[\w.-]+$/.test(path.value.replace(/^\//, ''));
  return (
    <>
      <div class="top"><h1>Create an infrastructure</h1></div>
      <div class="grid">
        <Card title="File" testid="file">
          <div class="editor">
            <div class="gutter" ref={gutter} aria-hidden="true">{Array.from({ length: lines }, (_, i) => <div key={i} class={bad.has(i + 1) ? 'bad' : ''}>{i + 1}</div>)}</div>
            <textarea aria-label="The file, as YAML" data-testid="yaml" spellcheck={false} rows={Math.min(36, Math.max(22, lines + 2))} value={text.value}
              aria-invalid={bad.size > 0} aria-describedby="mistakes"
              onScroll={(event) => { if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop; }}
              onInput={(event) => { text.value = event.currentTarget.value; planned.value = null; }} />
          </div>
        </Card>
        <div class="col">
          <Card title="Where and how">
            <div class="col">
              <label class="field">Namespace and name<input value={path.value} data-testid="path" onInput={(event) => { path.value = event.currentTarget.value; }} placeholder="shop/web" /></label>
              <label class="field">When only some VMs come up
                <select value={partial.value} onChange={(event) => { partial.value = event.currentTarget.value; }}>
                  <option value="continue">keep what runs</option><option value="refine">take out what failed</option><option value="rollback">take everything back</option>
                </select>
              </label>
              <label><input type="checkbox" checked={hold.value} onChange={(event) => { hold.value = event.currentTarget.checked; }} /> Prepare, then wait for a word</label>
              <label><input type="checkbox" data-testid="expect-agent" checked={later.value} onChange={(event) => { later.value = event.currentTarget.checked; }} /> The agent of a region comes later</label>
              <div class="buttons">
                <button class="primary" data-testid="create" disabled={busy.value || !fit || found.mistakes.length > 0} onClick={() => void ask(false)}>Create</button>
                <button data-testid="check" disabled={busy.value || !fit || found.mistakes.length > 0} onClick={() => void ask(true)}>Check only</button>
              </div>
              {!fit && <p class="state trouble">A namespace and a name, such as shop/web.</p>}
            </div>
          </Card>
          <div id="mistakes" aria-live="polite">
            {mistakes.length > 0 && (
              <Card title="What is wrong" testid="mistakes">
                <ul class="errors">{mistakes.map((mistake) => <li key={`${mistake.line} ${mistake.says}`}><Icon of="trouble" /><span>{mistake.line > 0 && <b>Line {mistake.line}: </b>}{mistake.says} {mistake.where && <code class="dim">{mistake.where}</code>}</span></li>)}</ul>
              </Card>
            )}
            {from && !mistakes.length && <Card title="It was refused" testid="refused"><p class="state trouble long"><Icon of="trouble" />{from.detail}</p></Card>}
            {planned.value && <Plan of={planned.value} />}
          </div>
          <Card title="The same from a terminal"><Command text={`stead mci create ${path.value.replace(/^\//, '')} -f mci.yaml`} /></Card>
        </div>
      </div>
    </>
  );
}

function Plan({ of }: { of: DryRun }) {
  const members = of.members.reduce((sum, part) => sum + part.members, 0);
  return (
    <Card title="It would be let in" testid="plan">
      <p class="state well"><Icon of="well" />{of.states.join(' → ')}</p>
      {members > 0 && <p class="dim">{plural(members, 'member')}</p>}
      {of.orders.map((order) => <p key={order.lane + order.verb} class="dim">{order.verb} on {order.lane}: {number(order.members)}</p>)}
    </Card>
  );
}
