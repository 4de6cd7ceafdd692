/** Where one is, in the address of the page, so that any view can be sent to somebody. */
import { signal } from '@preact/signals';
import type { ComponentChildren, HTMLAttributes } from 'preact';

const BASE = '/console';

const read = (): string => decodeURI(window.location.pathname).slice(BASE.length) || '/';

export const place = signal(read());

export function go(to: string, replace = false): void {
  if (to === place.value) return;
  window.history[replace ? 'replaceState' : 'pushState'](null, '', BASE + encodeURI(to));
  place.value = read();
  window.scrollTo(0, 0);
}

window.addEventListener('popstate', () => { place.value = read(); });

export const toResource = (path: string): string => `/r${path}`;
export const toSystem = (path: string): string => `/systems${path}`;
/** Where somebody goes who wants to see one: systems have a page of their own. */
export const toThing = (path: string, kind: string | null): string => (kind === 'system' ? toSystem(path) : toResource(path));
export const toOperation = (id: string): string => `/operations/${id}`;

type Props = Omit<HTMLAttributes<HTMLAnchorElement>, 'href' | 'role'> & { to: string; children?: ComponentChildren; testid?: string };

export function Go({ to, children, testid, ...rest }: Props) {
  const click = (event: MouseEvent) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return <a href={BASE + encodeURI(to)} onClick={click} data-testid={testid} {...rest}>{children}</a>;
}
