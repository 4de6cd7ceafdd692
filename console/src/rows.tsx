/** A long list of which only what can be seen is drawn; j and k go through it, Enter opens. */
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

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
  testid?: string;
  tall?: boolean;
}

export function Rows({ count, height, label, row, keyOf, open, fold, reached, branch, role = 'list', testid, tall }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [at, setAt] = useState(-1);
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>({
    count, getScrollElement: () => box.current, estimateSize: () => height, overscan: 12,
    scrollToFn: elementScroll, observeElementRect, observeElementOffset, onChange: () => redraw(0),
  }));
  virtual.setOptions({ ...virtual.options, count, estimateSize: () => height });
  useEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => { virtual._willUpdate(); });
  useLayoutEffect(() => { virtual.measure(); }, [count, height]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => { if (last >= 0) reached?.(last); }, [last, count]);

  const step = (by: number) => {
    const next = Math.min(count - 1, Math.max(0, at + by));
    setAt(next);
    virtual.scrollToIndex(next);
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
      <div style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
        {items.map((item) => (
          <div key={keyOf(item.index)} role={role === 'tree' ? 'treeitem' : 'listitem'} aria-posinset={item.index + 1}
            aria-setsize={count} aria-level={branch?.(item.index).level} aria-expanded={branch?.(item.index).open} class={`row ${item.index === at ? 'at' : ''}`}
            style={{ height: `${height}px`, transform: `translateY(${item.start}px)` }} onClick={() => setAt(item.index)}>
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
