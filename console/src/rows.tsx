/** A long list of which only what can be seen is drawn; j and k go through it, Enter opens. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  count: number;
  height: number;
  label: string;
  row: (index: number) => ComponentChildren;
  keyOf: (index: number) => string;
  open?: (index: number) => void;
  /** Left and right, where rows unfold. */
  fold?: (index: number, open: boolean) => void;
  /** Called with the last row that is drawn. */
  reached?: (index: number) => void;
  role?: 'list' | 'tree';
  /** Of a row in a tree: how deep it is, and whether it is unfolded, if it can be. */
  branch?: (index: number) => { level: number; open: boolean | undefined };
  /** The row that is looked at first. */
  start?: number;
  testid?: string;
  tall?: boolean;
}

/** Rows that are drawn above and below what can be seen. */
const BEYOND = 12;

export function Rows({ count, height, label, row, keyOf, open, fold, reached, branch, role = 'list', start = -1, testid, tall }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(start);
  const [seen, setSeen] = useState({ top: 0, height: 0 });
  useLayoutEffect(() => {
    const frame = box.current as HTMLDivElement;
    const look = () => setSeen((was) => (was.top === frame.scrollTop && was.height === frame.clientHeight ? was : { top: frame.scrollTop, height: frame.clientHeight }));
    if (start >= 0) {
      frame.scrollTop = (start + 0.5) * height - frame.clientHeight / 2;
      frame.scrollIntoView({ block: 'nearest' });
    }
    look();
    frame.addEventListener('scroll', look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(frame);
    return () => { frame.removeEventListener('scroll', look); sized.disconnect(); };
  }, []);
  // All rows are equally high, so where one is follows from its number, however many there are.
  const first = Math.max(0, Math.floor(seen.top / height) - BEYOND);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / height) + BEYOND) - 1;
  const drawn = Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
  useEffect(() => { if (last >= 0) reached?.(last); }, [last, count]);

  const step = (by: number) => {
    const next = Math.min(count - 1, Math.max(0, at + by));
    setAt(next);
    const frame = box.current as HTMLDivElement;
    frame.scrollTop = Math.min(next * height, Math.max(frame.scrollTop, (next + 1) * height - frame.clientHeight));
  };
  const press = (event: KeyboardEvent) => {
    const from = event.target as HTMLElement;
    if (from !== box.current && from.matches('input, textarea, select')) return;
    const known: Record<string, () => void> = {
      j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
      PageDown: () => step(20), PageUp: () => step(-20), Home: () => step(-count), End: () => step(count),
      ArrowRight: () => fold?.(at, true), ArrowLeft: () => fold?.(at, false),
    };
    if (event.key === 'Enter' && from === box.current && at >= 0) open?.(at);
    else if (known[event.key] && !event.ctrlKey && !event.metaKey) known[event.key]?.();
    else return;
    event.preventDefault();
  };
  return (
    <div ref={box} class={`rows ${tall ? 'tall' : ''}`} tabIndex={0} role={role} aria-label={label} data-testid={testid}
      style={{ height: `${Math.min(tall ? Infinity : 448, Math.max(1, count) * height)}px` }} data-rows onKeyDown={press} onFocus={() => { if (at < 0 && count) setAt(0); }}>
      <div style={{ height: `${count * height}px`, position: 'relative' }}>
        {drawn.map((index) => (
          <div key={keyOf(index)} role={role === 'tree' ? 'treeitem' : 'listitem'} aria-posinset={index + 1}
            aria-setsize={count} aria-level={branch?.(index).level} aria-expanded={branch?.(index).open} class={`row ${index === at ? 'at' : ''}`}
            style={{ height: `${height}px`, transform: `translateY(${index * height}px)` }} onClick={() => setAt(index)}>
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
