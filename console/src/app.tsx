/** The frame: where one can go, whether the server is there, and keys. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { unknown } from './api.ts';
import { link } from './live.ts';
import { LoginPage } from './pages/login.tsx';
import OverviewPage from './pages/overview.tsx';
import { Dialog, Icon, Skeleton, toast } from './parts.tsx';
import { Go, go, place } from './router.tsx';
import { theme, turn } from './theme.ts';
import { leave, me, short } from './who.ts';

type Lazy = () => Promise<{ default: ComponentType<{ rest: string }> }>;

const ICONS: Record<string, ComponentChildren> = {
  overview: <path d="M3 13a7 7 0 1 1 14 0M10 13l3.5-4.5" />,
  tree: <path d="M4 4h5v4H4zM11 12h5v4h-5zM6.5 8v6H11" />,
  systems: <path d="M10 4v4M4 12V8h12v4M10 8v4M2.5 12h3v3h-3zM8.5 12h3v3h-3zM14.5 12h3v3h-3z" />,
  operations: <path d="M3 5h9M6 10h9M5 15h12" />,
  calendar: <path d="M3 5h14v12H3zM3 9h14M7 3v3M13 3v3M6 13h5" />,
  lanes: <path d="M6 3v14M14 3v14M10 4v2M10 9v2M10 14v2" />,
  lifecycles: <path d="M10 4a6 6 0 1 1-5.6 4M4 4v4h4" />,
  create: <path d="M10 4v12M4 10h12" />,
};

/** Where most begin: it comes with the frame. */
const OVERVIEW: Lazy = () => Promise.resolve({ default: OverviewPage });

const PAGES: { at: string; name: string; key: string; load: Lazy; icon: string }[] = [
  { at: '/', name: 'Overview', key: 'o', icon: 'overview', load: OVERVIEW },
  { at: '/tree', name: 'Tree', key: 't', icon: 'tree', load: () => import('./pages/tree.tsx') },
  { at: '/systems', name: 'Systems', key: 's', icon: 'systems', load: () => import('./pages/systems.tsx') },
  { at: '/operations', name: 'Operations', key: 'p', icon: 'operations', load: () => import('./pages/operations.tsx') },
  { at: '/calendar', name: 'Calendar', key: 'a', icon: 'calendar', load: () => import('./pages/calendar.tsx') },
  { at: '/lanes', name: 'Lanes', key: 'l', icon: 'lanes', load: () => import('./pages/lanes.tsx') },
  { at: '/lifecycles', name: 'Lifecycles', key: 'c', icon: 'lifecycles', load: () => import('./pages/lifecycles.tsx') },
  { at: '/create', name: 'Create', key: 'n', icon: 'create', load: () => import('./pages/create.tsx') },
];
const RESOURCE: Lazy = () => import('./pages/resource.tsx');
const OPERATION: Lazy = () => import('./pages/operation.tsx');
const STUCK: Lazy = () => import('./pages/stuck.tsx');
const pages = new Map<Lazy, ComponentType<{ rest: string }>>([[OVERVIEW, OverviewPage]]);

function found(at: string): { load: Lazy; rest: string; nav: string } | null {
  if (at.startsWith('/r/')) return { load: RESOURCE, rest: at.slice(2), nav: '/tree' };
  if (at.startsWith('/operations/')) return { load: OPERATION, rest: at.slice('/operations/'.length), nav: '/operations' };
  if (at === '/stuck') return { load: STUCK, rest: '', nav: '/' };
  const page = PAGES.find((one) => one.at === at || (one.at !== '/' && at.startsWith(`${one.at}/`)));
  return page ? { load: page.load, rest: at.slice(page.at.length), nav: page.at } : null;
}

function View({ load, rest }: { load: Lazy; rest: string }) {
  const ready = useSignal(0);
  const broken = useSignal(false);
  const Page = pages.get(load);
  useEffect(() => {
    if (pages.has(load)) return;
    load().then((module) => { pages.set(load, module.default); ready.value += 1; }, () => { broken.value = true; });
  }, [load]);
  ready.value;
  if (broken.value) {
    return <div class="trouble-box" role="alert"><Icon of="trouble" /><div><b>This page could not be loaded</b><p>The server may have been upgraded.</p></div><button onClick={() => window.location.reload()}>Reload</button></div>;
  }
  return Page ? <Page rest={rest} /> : <Skeleton rows={8} />;
}

const typing = (event: KeyboardEvent): boolean =>
  (event.target as HTMLElement).matches('input, textarea, select, [contenteditable]') || event.ctrlKey || event.metaKey || event.altKey;

export function App() {
  const help = useSignal(false);
  useEffect(() => {
    let going = 0;
    const press = (event: KeyboardEvent) => {
      if (typing(event)) return;
      const page = performance.now() - going < 1200 ? PAGES.find((one) => one.key === event.key) : undefined;
      going = 0;
      if (page) go(page.at);
      else if (event.key === 'g') { going = performance.now(); return; }
      else if (event.key === '?') help.value = !help.value;
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus();
      else if ((event.key === 'j' || event.key === 'k') && !document.activeElement?.closest('[data-rows]')) step(event.key === 'j' ? 1 : -1);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
  const here = found(place.value);
  const said = toast.value;
  const name = PAGES.find((one) => one.at === here?.nav)?.name ?? 'Not found';
  useEffect(() => { document.title = `${/^\/(r|systems)\/./.test(place.value) ? place.value.replace(/^\/\w+/, '') : name} · Stead`; }, [place.value]);
  if (unknown.value) return <LoginPage />;
  return (
    <div class="frame">
      <a class="skip" href="#main">To the content</a>
      <nav aria-label="Pages">
        <Go to="/" class="brand" aria-label="Stead, to the overview"><svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect width="32" height="32" rx="8" fill="var(--brand)" /><path d="M8 21h16M11 21v-5a5 5 0 0 1 10 0v5" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" /><circle cx="16" cy="9" r="1.8" fill="#8fe0c8" /></svg><span>Stead</span></Go>
        <ul>
          {PAGES.map((page) => (
            <li key={page.at}>
              <Go to={page.at} aria-current={here?.nav === page.at ? 'page' : undefined} title={`g ${page.key}`} testid={`nav-${page.icon}`}>
                <svg viewBox="0 0 20 20" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{ICONS[page.icon]}</svg>
                <span>{page.name}</span>
              </Go>
            </li>
          ))}
        </ul>
        <footer>
          <span class={`link ${link.value}`} data-testid="link"><i />{link.value === 'live' ? 'Live' : link.value === 'away' ? 'Reconnecting' : 'Connecting'}</span>
          {me.value && !me.value.open && (
            <button class="small ghost who" onClick={() => void leave()} title={`${me.value.name}: log out`} aria-label={`Log out, ${me.value.name}`} data-testid="who">{short(me.value.name)} ⎋</button>
          )}
          <button class="small ghost" onClick={turn} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} data-testid="theme">{theme.value === 'dark' ? '☾' : theme.value === 'light' ? '☀' : '◐'}</button>
          <button class="small ghost" onClick={() => { help.value = true; }} aria-label="Keys and help" title="Keys (?)">?</button>
        </footer>
      </nav>
      <main id="main" tabIndex={-1}>
        {link.value === 'away' && <div class="banner" role="status" data-testid="reconnecting"><Icon of="moving" /> Reconnecting to the server. What you see is the last that was known.</div>}
        {here ? <View key={here.load === RESOURCE ? `r${here.rest}` : here.nav} load={here.load} rest={here.rest} />
          : <div class="nothing"><p><b>There is no such page</b></p><p><Go to="/">To the overview</Go></p></div>}
      </main>
      {said && <div class={`toast ${said.bad ? 'bad' : ''}`} role="status" data-testid="toast">{said.text} {said.to && <Go to={said.to}>Show</Go>}<button class="small ghost" aria-label="Close" onClick={() => { toast.value = null; }}>✕</button></div>}
      {help.value && <Help close={() => { help.value = false; }} />}
    </div>
  );
}

/** To the next or the last thing in a plain list. */
function step(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>('[data-rows], [data-item]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

function Help({ close }: { close: () => void }) {
  const keys: [string, string][] = [
    ...PAGES.map((page): [string, string] => [`g ${page.key}`, page.name]),
    ['/', 'Filter'], ['j k', 'Down and up in a list'], ['Enter', 'Open'], ['← →', 'Fold and unfold in the tree'], ['?', 'This help'], ['Esc', 'Close'],
  ];
  return (
    <Dialog title="Keys" close={close} testid="help">
      <dl class="keys">{keys.map(([key, says]) => <div key={key}><dt>{key.split(' ').map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{says}</dd></div>)}</dl>
      <h3>Signs</h3>
      <p class="signs">
        {([['well', 'runs, or rests as wanted'], ['rest', 'rests without working'], ['moving', 'is on its way'], ['trouble', 'failed, or nobody knows'], ['ended', 'has come to its end']] as const)
          .map(([of, says]) => <span key={of} class={`state ${of}`}><Icon of={of} />{says}</span>)}
      </p>
    </Dialog>
  );
}
