/** What the server says, and how it is asked. */
import { signal } from '@preact/signals';

import type { Problem as ProblemBody, Resource, ResourcePage, TreeNode } from './schema.ts';

export type * from './schema.ts';

export type StateClass = Resource['state_class'];
export type Health = TreeNode['health'];
export type Counts = Record<string, number>;
/** A page of a list. */
export type Page<T> = Pick<ResourcePage, 'next'> & { items: T[] };

/** Everything that is not an answer (RFC 9457). */
export class Problem extends Error {
  constructor(readonly body: ProblemBody) {
    super(body.detail || body.title);
  }
}

/** The server does not know who asks: the way in is shown. */
export const unknown = signal(false);

/** The server cannot be reached. */
export class Away extends Error {}

type Query = Record<string, string | number | boolean | null | undefined>;

export async function call<T>(method: string, address: string, query: Query = {}, body?: unknown): Promise<T> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) words.set(name, String(value));
  }
  const url = words.size ? `${address}?${words}` : address;
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method === 'POST') headers['Idempotency-Key'] = key();
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  } catch {
    throw new Away('the server cannot be reached');
  }
  if (answer.ok) return (answer.status === 204 ? null : await answer.json()) as T;
  if (answer.status === 401) unknown.value = true;
  let said: ProblemBody;
  try {
    said = (await answer.json()) as ProblemBody;
  } catch {
    const detail = `status ${answer.status}`;
    said = { type: 'about:blank', title: answer.statusText, status: answer.status, detail, code: 'internal-error', request_id: '' };
  }
  if (answer.status === 502 || answer.status === 503 || answer.status === 504) throw new Away(said.detail);
  throw new Problem(said);
}

export const get = <T>(address: string, query: Query = {}): Promise<T> => call<T>('GET', address, query);

/** A path as part of an address. */
export const at = (path: string): string =>
  path.replace(/^\//, '').split('/').map(encodeURIComponent).join('/');

/** Works where `crypto.randomUUID` does not: on plain http from another host. */
function key(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, '0')).join('');
}
