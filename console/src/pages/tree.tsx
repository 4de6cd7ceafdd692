/** Everything by its place, from namespaces to VMs, the worst first. What is not unfolded is not loaded. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { get, type JournalLine, type Page, type TreeNode } from '../api.ts';
import { health, learnt } from '../kinds.ts';
import { link, listen } from '../live.ts';
import { number, parent } from '../logic/words.ts';
import { Empty, Skeleton, Stack, State, Trouble } from '../parts.tsx';
import { go, Go, toResource, toThing } from '../router.tsx';
import { Rows } from '../rows.tsx';

const PAGE = 500;
/** Lists longer than this are not loaded again as a whole: their rows follow the events. */
const WHOLE = 1000;
const SOONEST = 250;

interface List {
  items: TreeNode[];
  next: string | null;
  loading: boolean;
  error: Error | null;
}

type Row = { node: TreeNode; depth: number } | { more: string; depth: number };

/** What is loaded and unfolded, and keeps itself up to date. */
class Folder {
  lists = new Map<string, List>();
  open = new Set<string>(['/']);
  private nodes = new Map<string, TreeNode>();
  private dirty = new Set<string>();
  private timer: number | undefined;
  private changed = false;

  constructor(private redraw: () => void) {}

  async load(path: string, more = false): Promise<void> {
    const list = this.lists.get(path) ?? { items: [], next: null, loading: false, error: null };
    if (list.loading) return;
    list.loading = true;
    this.lists.set(path, list);
    try {
      const limit = more ? PAGE : Math.min(WHOLE, Math.max(PAGE, list.items.length));
      const page = await get<Page<TreeNode>>('/v1/tree', { below: path, limit, cursor: more ? list.next : null });
      const items = more ? [...list.items, ...page.items.filter((node) => !this.nodes.has(node.path))] : page.items;
      this.lists.set(path, { items, next: page.next, loading: false, error: null });
      for (const node of page.items) this.nodes.set(node.path, node);
    } catch (error) {
      this.lists.set(path, { ...list, loading: false, error: error as Error });
    }
    this.redraw();
  }

  fold(path: string, open: boolean): void {
    if (open) {
      this.open.add(path);
      void this.load(path);
    } else {
      this.open.delete(path);
      // What is folded is forgotten, so that the page does not grow with what was once looked at.
      for (const known of [...this.lists.keys()]) {
        if (known !== '/' && (known === path || known.startsWith(`${path}/`))) {
          for (const node of this.lists.get(known)?.items ?? []) this.nodes.delete(node.path);
          this.lists.delete(known);
          this.open.delete(known);
        }
      }
    }
    this.redraw();
  }

  hear(line: JournalLine): void {
    if (line.rejections || line.source === line.target) return;
    const node = this.nodes.get(line.path);
    if (node && !node.total) {
      node.state = line.target;
      node.worst = line.target;
      node.health = health(line.kind, line.target);
      this.changed = true;
    }
    for (let at = line.path, first = true; at !== '/'; first = false) {
      at = parent(at);
      const list = this.lists.get(at);
      if (list && (!first || !node) && list.items.length <= WHOLE) this.dirty.add(at);
    }
    if (this.timer === undefined && (this.changed || this.dirty.size)) {
      this.timer = window.setTimeout(() => void this.flush(), SOONEST);
    }
  }

  anew(): void {
    for (const path of this.open) void this.load(path);
  }

  private async flush(): Promise<void> {
    const paths = [...this.dirty].filter((path) => this.open.has(path));
    this.dirty.clear();
    if (this.changed) this.redraw();
    this.changed = false;
    const began = performance.now();
    for (const path of paths) await this.load(path);
    await new Promise((done) => window.setTimeout(done, Math.min(5000, 3 * (performance.now() - began))));
    this.timer = undefined;
    if (this.dirty.size || this.changed) this.timer = window.setTimeout(() => void this.flush(), SOONEST);
  }

  end(): void {
    window.clearTimeout(this.timer);
  }

  rows(filter: string): Row[] {
    const found: Row[] = [];
    const word = filter.toLowerCase();
    const visit = (path: string, depth: number): boolean => {
      const list = this.lists.get(path);
      let any = false;
      for (const node of list?.items ?? []) {
        const at = found.length;
        found.push({ node, depth });
        const inside = this.open.has(node.path) && visit(node.path, depth + 1);
        const fits = !word || `${node.path} ${node.state ?? ''} ${node.kind ?? ''} ${node.worst}`.toLowerCase().includes(word);
        if (fits || inside) any = true;
        else found.length = at;
      }
      if (list?.next) found.push({ more: path, depth });
      return any;
    };
    visit('/', 0);
    return found;
  }
}

export default function TreePage({ rest }: { rest: string }) {
  const version = useSignal(0);
  const filter = useSignal('');
  const folder = useMemo(() => new Folder(() => { version.value += 1; }), []);
  useEffect(() => {
    void (async () => {
      await folder.load('/');
      // A place in the address is unfolded, with all above it.
      const parts = rest.split('/').filter(Boolean);
      for (let i = 1; i <= parts.length; i++) folder.fold(`/${parts.slice(0, i).join('/')}`, true);
      const top = folder.lists.get('/')?.items ?? [];
      if (!parts.length && top.length <= 6) for (const node of top) folder.fold(node.path, true);
    })();
    const stop = listen({ hear: (line) => folder.hear(line), anew: () => folder.anew() });
    return () => { stop(); folder.end(); };
  }, []);
  version.value;
  learnt.value;
  const top = folder.lists.get('/');
  const rows = folder.rows(filter.value.trim());
  const open = (index: number) => {
    const row = rows[index];
    if (!row || 'more' in row) return;
    if (row.node.kind) go(toThing(row.node.path, row.node.kind));
    else folder.fold(row.node.path, !folder.open.has(row.node.path));
  };
  const enter = (event: KeyboardEvent) => {
    const text = filter.value.trim();
    if (event.key === 'Escape') filter.value = '';
    else if (event.key === 'Enter' && /^\/\w.*\/\w/.test(text)) go(toResource(text));
    else if (event.key === 'Enter' || event.key === 'ArrowDown') document.querySelector<HTMLElement>('[data-testid=tree]')?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="top">
        <h1>Tree</h1>
        <input class="filter" type="search" placeholder="Filter what is unfolded, or go to /a/path" aria-label="Filter" data-filter
          data-testid="tree-filter" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} onKeyDown={enter} />
        <span class="dim">{number(rows.length)} rows</span>
      </div>
      <section class={`card ${link.value === 'away' ? 'old' : ''}`}>
        {!top || (top.loading && !top.items.length) ? <Skeleton rows={8} />
          : top.error && !top.items.length ? <Trouble error={top.error} retry={() => void folder.load('/')} />
          : !top.items.length ? <Empty title="Nothing is here yet" command="stead mci create shop/web -f mci.yaml"><Go to="/create">Create an infrastructure</Go> here, or from a terminal:</Empty>
          : !rows.length ? <Empty title="Nothing that is unfolded fits the filter">Unfold more, or type a whole path and press Enter.</Empty>
          : (
            <Rows count={rows.length} height={36} tall label="Resources" role="tree" testid="tree" open={open}
              branch={(i) => { const row = rows[i] as Row; return { level: row.depth + 1, open: 'more' in row || !row.node.total ? undefined : folder.open.has(row.node.path) }; }}
              keyOf={(i) => { const row = rows[i] as Row; return 'more' in row ? `more ${row.more}` : row.node.path; }}
              fold={(i, unfold) => { const row = rows[i]; if (row && !('more' in row) && row.node.total) folder.fold(row.node.path, unfold); }}
              reached={(last) => { const row = rows[last]; for (const one of [row, rows[last - 6]]) if (one && 'more' in one) void folder.load(one.more, true); }}
              row={(i) => <TreeRow row={rows[i] as Row} folder={folder} />} />
          )}
      </section>
    </>
  );
}

function TreeRow({ row, folder }: { row: Row; folder: Folder }) {
  const indent = { paddingLeft: `${row.depth * 18}px` };
  if ('more' in row) return <div style={indent} class="dim">Loading more…</div>;
  const { node } = row;
  const open = folder.open.has(node.path);
  const main = ['vm', 'appinst', 'clusterinst', 'machine', 'node', 'service'].find((kind) => node.counts[kind]) ?? Object.keys(node.counts)[0];
  return (
    <div class="tree-row" data-path={node.path} data-health={node.health}>
      <div class="tree-name" style={indent}>
        {node.total
          ? <button class="twist" aria-expanded={open} aria-label={`${open ? 'Fold' : 'Unfold'} ${node.path}`} tabIndex={-1} onClick={() => folder.fold(node.path, !open)}>{open ? '▾' : '▸'}</button>
          : <span class="twist" />}
        {node.kind ? <Go to={toThing(node.path, node.kind)} tabIndex={-1}>{node.name}</Go> : <b>{node.name}</b>}
        <span class="kind">{node.kind ?? ''}</span>
      </div>
      <State state={node.state && !node.total ? node.state : node.worst} health={node.health} kind={node.kind} />
      {main ? <Stack counts={node.counts[main] as Record<string, number>} kind={main} label={`${node.path}, ${main}`} /> : <span class="stack" />}
      <span class="num dim">{main ? `${number(Object.values(node.counts[main] ?? {}).reduce((a, b) => a + b, 0))} ${main}` : ''}</span>
    </div>
  );
}
