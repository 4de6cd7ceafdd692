/** What the server says, and how it is asked. */
import { signal } from '@preact/signals';

export type StateClass = 'settled' | 'moving' | 'final' | 'absent';
export type Health = 'trouble' | 'moving' | 'well' | 'ended' | 'empty';
export type Counts = Record<string, number>;

/** For how long something has been where it is, beside how long it may and usually does last, in seconds. */
export interface Lasting {
  since: string; declared: number | null; deadline: string | null; usual: number | null; p99: number | null;
  moves: number; lane: string; late: boolean; overdue: boolean;
}
export interface Running {
  id: string; action: string; phase: string; origin: string; aims_at: string; attempt: number; by: string;
  since: string | null; cancelled: boolean; lasts: Lasting | null;
}
export interface Resource {
  path: string; kind: string; state: string; state_class: StateClass; tag: string; lane: string;
  spec: Record<string, unknown>; next_spec: Record<string, unknown> | null; facts: Record<string, unknown>;
  operation: Running | null; hidden: Running | null; timers: Record<string, string>; seen_at: string | null;
  changed_at: string | null; created_at: string | null; members: Counts | null; failure: string;
}
export interface Past {
  path: string; kind: string; at: string; state: string; state_class: StateClass | null; since: string | null;
  spec: Record<string, unknown> | null; facts: Record<string, unknown>; operation: string | null; principal: string;
  through: number;
}
export interface Reason { code: string; says: string }
export interface Operation {
  id: string; action: string; kind: string; path: string; principal: string; reason: string; total: number;
  remaining: number; failed: number; outcome: string | null; created_at: string; ended_at: string | null;
  state: string | null; phase: string | null; attempt: number | null; cancelled: boolean; queued: boolean;
  position: number | null; reasons: Reason[]; says: string; orders: number; place: string | null;
  skipped: Counts; lasts: Lasting | null;
}
export interface Stuck {
  path: string; kind: string; state: string; lane: string; operation: string; action: string; by: string;
  phase: string | null; outcome: string | null; since: string; lasts: Lasting | null; why: Reason[];
  probed: { at: string; seen: string }[]; misses: number; decided: string;
  steps: { what: string; says: string; operation: string; actions: string[] }[];
}
export interface Line {
  position: number; at: string; path: string; kind: string; operation: string | null; principal: string; actor: string;
  trigger: string; word: string; source: string; target: string; change: Record<string, unknown>; refused: number;
}
export interface Holder { operation: string; action: string; path: string; by: string; since: string | null }
export interface Remedy { what: string; says: string; actions: string[]; operation: string }
export interface Explanation {
  path: string; kind: string; action: string; state: string; allowed: boolean; joins: boolean; idle: boolean;
  waits: boolean; reasons: Reason[]; holders: Holder[]; allowed_actions: string[]; remedies: Remedy[];
}
export interface Rehearsal {
  moves: { source: string; target: string }[]; orders: { verb: string; lane: string; members: number }[];
  way: string[]; fails: string; members: { state: string; members: number; does: string; target: string }[];
}
export interface Accepted {
  operation: { id: string; action: string; kind: string; path: string } | null; joined: boolean; idle: boolean;
  queued: boolean; position: number | null;
}
export interface KindCount { kind: string; state: string; state_class: StateClass; health: Health; members: number }
export interface Troubled { path: string; kind: string; state: string; state_class: StateClass; since: string; why: string }
export interface Overview {
  at: string; position: number; counts: KindCount[]; classes: Counts; under_way: number; waiting: number;
  trouble: Troubled[]; more_trouble: boolean; calls_made: number | null; calls_saved: number | null;
  moves: number[] | null; agents_there: number | null; agents_away: number | null; throttled: { lane: string; calls: number; at: string }[];
}
export interface TreeNode {
  name: string; path: string; kind: string | null; state: string | null; state_class: StateClass | null;
  health: Health; worst: string; total: number; counts: Record<string, Counts>;
}
export interface Page<T> { items: T[]; next: string | null }
export interface Bar {
  path: string; kind: string; begin: string; end: string | null; origin: string;
  phases: { state: string; at: string }[]; outcome: string | null; says: string;
}
export interface Timeline {
  operation: Operation; now: string; total: number; items: Bar[]; next: string | null;
  errors: { outcome: string; says: string; members: number; path: string }[];
}
export interface LifecycleName {
  kind: string; family: string; says: string; parent: string; members: string; version: number | null; states: number;
  actions: number; moves: number; findings: number;
}
export interface LifecycleState {
  name: string; state_class: StateClass; says: string; bad: boolean; deadline: number | null; awaits: string | null;
}
export interface LifecycleAction {
  name: string; says: string; starts: string[]; through: string[]; ends: string; fails: string; by: string[];
  undo: string; forceable: boolean; respec: boolean; steers: string; observes: boolean; needs_reason: boolean;
}
export interface LifecycleMove {
  source: string; trigger: string; on: string; actor: string; target: string; forced: boolean;
}
export interface Lifecycle {
  kind: string; family: string; says: string; parent: string; members: string; states: LifecycleState[];
  actions: LifecycleAction[]; moves: LifecycleMove[];
  findings: { rule: string; where: string; says: string; mend: string }[];
  explored: { worlds: number; steps: number } | null;
  registered: { version: number; by: string; at: string; document: string; explored: { bounds?: Record<string, number> } } | null;
}
export interface Part { name: string; lane: string; text: string; counts: Counts }
export interface Standing {
  resource: Resource; text: string; counts: Counts; settled: boolean; target_action: string; target_status: string;
  operation: Operation | null; groups: Part[]; lanes: Part[];
  worst: { path: string; state: string; since: string; says: string } | null;
}
export interface Truth {
  path: string; lane: string; believed: string; expects: string; seen: string | null; agrees: boolean | null;
  why: string | null; seen_at: string | null;
}
export interface Lane {
  lane: string; agents: { name: string; version: string; there: boolean; last_seen: string }[]; limit: number | null;
  regions: number | null; in_flight: number; waiting: number; untaken: number; throttled: number;
  throttled_at: string | null;
}
export interface Orphan {
  lane: string; token: string; path: string; state: string; facts: Record<string, unknown>; since: string;
  seen_at: string;
}
export interface Queue {
  path: string; stopping: boolean; waiting: number; running: string | null; items: Operation[]; more: boolean;
}
export interface Host {
  name: string; lane: string; properties: Record<string, unknown>; node: string | null; works: boolean; why: string;
  added_at: string;
}
/** Whose it is is empty where that is not for whoever asks. */
export interface Booked { host: string; lease: string; start: string; end: string; status: string }
export interface Calendar { start: string; end: string; hosts: Host[]; booked: Booked[]; next: string | null }
export interface Reserved {
  id: string; path: string; name: string; status: string; count: number; properties: Record<string, unknown>;
  hosts: string[]; lane: string; missing_resources: boolean; resources_changed: boolean;
}
export interface Moment {
  id: string; kind: string; at: string; status: string; fired_at: string | null; late: number | null;
}
export interface Notice {
  id: string; event: string; made_at: string; url: string; tries: number; delivered_at: string | null; error: string;
}
export interface Lease {
  id: string; path: string; name: string; status: string; degraded: boolean; operation: string | null; start: string;
  end: string; before_end: string | null; made_at: string | null; changed_at: string | null;
  labels: Record<string, string>; reservations: Reserved[]; events: Moment[]; notices: Notice[];
}
/** A service or a job. */
export interface SystemPart {
  path: string; kind: string; state: string; lane: string; count: number; up: number | null; operation: string | null;
}
/** A deploy or a teardown that is under way, with the place that it has. */
export interface Beside {
  id: string; action: string; place: string; by: string; since: string; total: number; remaining: number; failed: number;
  asked: boolean; cancelled: boolean;
}
export interface System {
  path: string; state: string; operation: string | null; lanes: string[]; parts: SystemPart[]; running: Beside[];
}
export interface Log { path: string; lines: string[]; position: string }
export interface Journal { items: Line[]; next: number; end: number }

/** Everything that is not an answer (RFC 9457). */
export interface ProblemBody {
  title: string; status: number; detail: string; code: string; request_id?: string; reasons?: Reason[];
  holders?: Holder[]; errors?: { where: string; says: string }[]; allowed_actions?: string[];
}

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
    said = { title: answer.statusText, status: answer.status, detail: `status ${answer.status}`, code: 'fault' };
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
