/** Small things that all pages are made of. */
import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Away, Problem, type Counts, type Health, type Elapsed } from './api.ts';
import { health, learnt } from './kinds.ts';
import type { Loaded } from './live.ts';
import { ago, clock, lasting, number, tone, worse, type Tone } from './logic/words.ts';

/** Now, a second at a time, for whatever shows how long ago something was. */
export const now = signal(Date.now());
window.setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);

const SHAPES: Record<Tone, ComponentChildren> = {
  well: <path d="M3 8.5 6.5 12 13 4.5" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" />,
  rest: <path d="M5.5 4v8M10.5 4v8" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" />,
  moving: <path d="M13 8a5 5 0 1 1-2-4" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />,
  trouble: <path d="M8 2 15 14H1ZM8 6.5v3.2M8 11.8v.2" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round" />,
  ended: <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />,
  empty: <circle cx="8" cy="8" r="4.5" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2.4 2" />,
};

export const Icon = ({ of }: { of: Tone }) => (
  <svg class={`icon ${of}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">{SHAPES[of]}</svg>
);

interface StateProps { state: string; kind?: string | null | undefined; health?: Health | undefined; quiet?: boolean }

/** A state with its sign and its name: never by colour alone. */
export function State({ state, kind, health: known, quiet }: StateProps) {
  learnt.value;
  const of = tone(state, known ?? (kind ? health(kind, state) : 'empty'));
  return <span class={`state ${of} ${quiet ? 'quiet' : ''}`} data-state={state}><Icon of={of} />{state}</span>;
}

interface StackProps { counts: Counts; kind: string | ((state: string) => string); label: string; legend?: boolean }

/** Members by state as one bar, the worst first, with the numbers beside it. */
export function Stack({ counts, kind, label, legend = true }: StackProps) {
  learnt.value;
  const parts = Object.entries(counts).filter(([, n]) => n > 0)
    .map(([state, n]) => ({ state, n, of: tone(state, health(typeof kind === 'string' ? kind : kind(state), state)) }))
    .sort((a, b) => worse(a.of, b.of) || b.n - a.n);
  const all = parts.reduce((sum, part) => sum + part.n, 0);
  const said = parts.map((part) => `${part.state} ${number(part.n)}`).join(', ');
  return (
    <div class="stack">
      <div class="stack-bar" role="img" aria-label={`${label}: ${said || 'nothing'}`} title={said}>
        {parts.map((part) => (
          <i key={part.state} class={`fill ${part.of}`} style={{ flexGrow: Math.max(part.n, all / 150) }} />
        ))}
      </div>
      {legend && (
        <div class="stack-legend">
          {parts.map((part) => (
            <span key={part.state} class={`state ${part.of}`}><Icon of={part.of} />{part.state} <b>{number(part.n)}</b></span>
          ))}
        </div>
      )}
    </div>
  );
}

interface ProgressProps { done: number; total: number; failed?: number; label: string; given?: boolean }

/** How far something has come; what was `given` up is no trouble. */
export function Progress({ done, total, failed = 0, label, given = false }: ProgressProps) {
  const part = total ? (100 * done) / total : 0;
  const bad = total ? (100 * failed) / total : 0;
  return (
    <div class="progress" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done}>
      <i class={`fill ${done < total ? 'moving' : 'well'}`} style={{ width: `${Math.max(0, part - bad)}%` }} />
      <i class={`fill ${given ? 'ended' : 'trouble'}`} style={{ width: `${bad}%` }} />
    </div>
  );
}

export function When({ at }: { at: string | null }) {
  return at ? <time dateTime={at} title={clock(at)}>{ago(at, now.value)}</time> : <span class="dim">never</span>;
}

/** For how long it has been where it is, beside how long that usually takes. */
export function Lasts({ of }: { of: Elapsed | null | undefined }) {
  if (!of) return null;
  const bad = of.overdue ? 'overdue' : of.late ? 'late' : '';
  return <p class="dim" data-testid="lasts" data-late={bad}>{lasting(of, now.value)}{bad && <>: <span class="state trouble">{bad}</span></>}</p>;
}

export const Skeleton = ({ rows = 4 }: { rows?: number }) => (
  <div class="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, i) => <i key={i} style={{ width: `${92 - ((i * 17) % 40)}%` }} />)}
  </div>
);

/** A command that can be copied. */
export function Command({ text }: { text: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      copied.value = true;
      window.setTimeout(() => { copied.value = false; }, 1500);
    } catch { /* it stays selectable */ }
  };
  return (
    <div class="command">
      <code tabIndex={0}>{text}</code>
      <button class="small" onClick={copy} aria-label={`Copy: ${text}`}>{copied.value ? 'Copied' : 'Copy'}</button>
    </div>
  );
}

export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="nothing" data-testid="empty">
      <Icon of="empty" />
      <p><b>{title}</b></p>
      {children && <p class="dim">{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Trouble({ error, retry }: { error: Error; retry?: () => void }) {
  const away = error instanceof Away;
  return (
    <div class="trouble-box" role="alert">
      <Icon of="trouble" />
      <div>
        <b>{away ? 'The server cannot be reached' : error instanceof Problem ? error.body.title : 'Something went wrong here'}</b>
        <p>{error.message}</p>
        {error instanceof Problem && error.body.request_id && <p class="dim">Request {error.body.request_id}</p>}
      </div>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}

/** A view's data, or what is there instead of it. */
export function Shown<T>({ of, rows, children }: { of: Loaded<T>; rows?: number; children: (data: T) => ComponentChildren }) {
  if (of.data !== null) {
    return <div class={of.old ? 'old' : ''} data-old={of.old || undefined}>{children(of.data)}</div>;
  }
  if (of.error) return <Trouble error={of.error} retry={of.reload} />;
  return <Skeleton rows={rows ?? 4} />;
}

interface CardProps { title: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; testid?: string; wide?: boolean }

export function Card({ title, aside, children, testid, wide }: CardProps) {
  const id = useId();
  return (
    <section class={`card ${wide ? 'wide' : ''}`} aria-labelledby={id} data-testid={testid}>
      <header><h2 id={id}>{title}</h2>{aside && <div class="aside">{aside}</div>}</header>
      {children}
    </section>
  );
}

/** A dialog over the page; Escape and a click beside it close it, and the focus goes back to where it was. */
export function Dialog({ title, close, children, testid }: { title: string; close: () => void; children: ComponentChildren; testid?: string }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={box} aria-labelledby={id} data-testid={testid}
      onCancel={(event) => { event.preventDefault(); close(); }}
      onClick={(event) => { if (event.target === box.current) close(); }}>
      <div class="dialog">
        <header><h2 id={id}>{title}</h2><button class="small ghost" aria-label="Close" onClick={close}>✕</button></header>
        {children}
      </div>
    </dialog>
  );
}

/** A word about what was just asked for; it goes by itself. */
export const toast = signal<{ text: string; bad: boolean; to?: string } | null>(null);
let fading: number | undefined;
export function say(text: string, bad = false, to?: string): void {
  window.clearTimeout(fading);
  toast.value = to ? { text, bad, to } : { text, bad };
  fading = window.setTimeout(() => { toast.value = null; }, bad ? 9000 : 5000);
}

/** A value on a few lines: a list has one for each thing. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join('\n');
  if (value !== null && typeof value === 'object') return Object.entries(value).map(([name, inner]) => `${name}: ${inner !== null && typeof inner === 'object' ? JSON.stringify(inner) : String(inner)}`).join(', ');
  return String(value);
}

export function Values({ of }: { of: Record<string, unknown> }) {
  const rows = Object.entries(of);
  if (!rows.length) return <p class="dim">Nothing on record.</p>;
  return (
    <dl class="values">
      {rows.map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{plain(value)}</dd></div>
      ))}
    </dl>
  );
}
