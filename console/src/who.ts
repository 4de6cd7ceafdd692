/** Who one is to the server, and the way in where it does not know. */
import { signal } from '@preact/signals';
import { call, get, unknown } from './api.ts';

export interface Whoami {
  name: string; groups: string[]; roles: { role: string; namespace: string }[]; open: boolean; until: string | null;
}
export interface Login { open: boolean; issuer: string | null; client: string | null }

export const me = signal<Whoami | null>(null);

/** Ask who one is; where nobody can tell, the way in is shown. */
export async function ask(): Promise<void> {
  try {
    me.value = await get<Whoami>('/v1/whoami');
    unknown.value = false;
  } catch {
    me.value = null;
  }
}

/** Show a token once: from then on a cookie stands for it, which no script can read. */
export async function show(token: string): Promise<void> {
  me.value = await call<Whoami>('POST', '/v1/session', {}, { token });
  unknown.value = false;
}

export async function leave(): Promise<void> {
  await call<null>('DELETE', '/v1/session');
  me.value = null;
  unknown.value = true;
}

/** What a name stands for, without the word before it. */
export const short = (name: string): string => name.replace(/^(user|token):/, '');
