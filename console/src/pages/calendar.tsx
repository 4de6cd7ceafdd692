/** Hosts by time: who has which, from when to when, and which of them failed. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { get, type Booking, type Calendar, type Host } from '../api.ts';
import { health, learnt } from '../kinds.ts';
import { useLive } from '../live.ts';
import { address, has, placed, share, spanOf, step, ticks, title, turned, UNITS, type Span } from '../logic/calendar.ts';
import { date, leaf, plural, tone } from '../logic/words.ts';
import { Card, Empty, Icon, now, Shown, State } from '../parts.tsx';
import { Go, toResource } from '../router.tsx';

/** Hosts that are shown at first, and that come with each further wish. */
const SOME = 100;
const KINDS = new Set(['lease', 'reservation', 'node']);
const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** So many hosts, with who has them in a span. */
async function load(span: Span, wanted: number): Promise<Calendar> {
  const query = { start: span.begin.toISOString(), end: span.end.toISOString(), limit: SOME };
  const whole = await get<Calendar>('/v1/calendar', query);
  while (whole.next && whole.hosts.length < wanted) {
    const page: Calendar = await get('/v1/calendar', { ...query, cursor: whole.next });
    whole.hosts.push(...page.hosts);
    whole.booked.push(...page.booked);
    whole.next = page.next;
  }
  return whole;
}

export default function CalendarPage({ rest }: { rest: string }) {
  const wanted = useSignal(SOME);
  const span = spanOf(rest, Date.now());
  const last = useRef<Calendar | null>(null);
  const found = useLive<Calendar>(`calendar ${span.begin.getTime()} ${span.end.getTime()} ${wanted.value}`, () => load(span, wanted.value), { concerns: (line) => KINDS.has(line.kind), every: 5000 });
  if (found.data) last.current = found.data;
  // While another span is on its way, what is known already lies where it belongs.
  const shown = { ...found, data: found.data ?? (found.error ? null : last.current) };
  const hosts = shown.data?.hosts ?? [];
  const failed = hosts.filter((host) => !host.healthy).length;
  const more = shown.data?.next;
  return (
    <>
      <div class="top">
        <h1>Calendar</h1>
        <div class="buttons choice" role="group" aria-label="How much time">
          {UNITS.map((unit) => <Go key={unit} to={turned(span, unit, Date.now())} class="button" aria-current={span.unit === unit ? 'true' : undefined} testid={`unit-${unit}`}>{unit}</Go>)}
        </div>
        <div class="buttons choice" role="group" aria-label="Which time">
          <Go to={step(span, -1)} class="button" aria-label={`The ${span.unit} before`} testid="earlier">‹</Go>
          <Go to={address(span.unit, new Date())} class="button" aria-current={has(span, Date.now()) ? 'date' : undefined} testid="today">today</Go>
          <Go to={step(span, 1)} class="button" aria-label={`The ${span.unit} after`} testid="later">›</Go>
        </div>
      </div>
      <Card title={<span data-testid="span" aria-live="polite">{title(span)}</span>} testid="calendar"
        aside={hosts.length > 0 && <><span>{more ? 'the first ' : ''}{plural(hosts.length, 'host')}{failed ? `, ${failed} failed` : ''}</span><span class="brief">{ZONE}</span></>}>
        <Shown of={shown} rows={8}>
          {(data) => !data.hosts.length ? <Empty title="There are no hosts to book yet" command="stead host add NAME --lane LANE">A host is added once. From then on leases can book it, and who has it when is shown here.</Empty>
            : <Drawing of={data} span={span} />}
        </Shown>
        {more && <p style={{ marginTop: '10px' }}><button onClick={() => { wanted.value += SOME; }}>Show more hosts</button></p>}
      </Card>
    </>
  );
}

function Drawing({ of, span }: { of: Calendar; span: Span }) {
  const marks = ticks(span);
  const booked = new Map<string, Booking[]>();
  for (const one of of.booked) {
    const others = booked.get(one.host);
    if (others) others.push(one);
    else booked.set(one.host, [one]);
  }
  return (
    <>
      <div class="calendar" role="table" aria-label={`Hosts by time, ${title(span)}`}>
        <div class="calendar-lines" aria-hidden="true">
          {marks.map((mark) => <i key={mark.left} class={mark.sparse ? '' : 'dense'} style={{ left: `${mark.left}%` }} />)}
        </div>
        <div class="calendar-row head" role="row">
          <span role="columnheader" class="calendar-name">Host</span>
          <span role="columnheader" class="calendar-track" aria-label="Booked">
            {marks.map((mark) => <span key={mark.left} class={`tick ${mark.sparse ? '' : 'dense'}`} aria-hidden="true" style={{ left: `${mark.left}%` }}>{mark.label}</span>)}
            <Now span={span} label />
          </span>
        </div>
        {of.hosts.map((host) => <HostRow key={host.name} host={host} booked={booked.get(host.name) ?? []} span={span} />)}
        <div class="calendar-lines" aria-hidden="true"><Now span={span} /></div>
      </div>
      <Legend of={of.booked} span={span} />
    </>
  );
}

/** Where now is. By itself, so that a second that passes draws nothing else. */
function Now({ span, label = false }: { span: Span; label?: boolean }) {
  const at = now.value;
  if (!has(span, at)) return null;
  const left = share(span, at);
  return <b class={`now ${left > 90 ? 'late' : ''}`} aria-hidden="true" data-testid={label ? 'now' : undefined} style={{ left: `${left}%` }}>{label && <small>now</small>}</b>;
}

function HostRow({ host, booked, span }: { host: Host; booked: Booking[]; span: Span }) {
  const here = booked.filter((one) => placed(span, one.start, one.end)).sort((a, b) => Date.parse(a.start) - Date.parse(b.start));
  return (
    <div class={`calendar-row ${host.healthy ? '' : 'failed'}`} role="row" data-host={host.name} data-works={host.healthy}>
      <span role="rowheader" class="calendar-name" title={`${host.name} on ${host.lane}`}>
        {host.node ? <Go to={toResource(host.node)} class="path">{host.name}</Go> : <span class="path">{host.name}</span>}
        {!host.healthy && <span class="state trouble long"><Icon of="trouble" /><span>failed{host.reason && `: ${host.reason}`}</span></span>}
      </span>
      <span role="cell" class="calendar-track">
        {here.map((one) => <Bar key={one.lease + one.start} of={one} span={span} />)}
        {!here.length && <span class="unseen">{host.healthy ? 'free' : 'not booked'}</span>}
      </span>
    </div>
  );
}

function Bar({ of, span }: { of: Booking; span: Span }) {
  learnt.value;
  const where = placed(span, of.start, of.end);
  if (!where) return null;
  const time = `${date(of.start)} to ${date(of.end)}`;
  const cut = `${where.before ? 'before' : ''} ${where.after ? 'after' : ''}`;
  const style = { left: `${where.left}%`, width: `${where.width}%` };
  if (!of.lease) return <span class={`booking others ${cut}`} style={style} title={`Booked by somebody else, ${time}`} data-booked=""><span aria-hidden="true">booked</span><span class="unseen">booked by somebody else, {time}</span></span>;
  const how = tone(of.status, health('lease', of.status));
  return (
    <Go to={toResource(of.lease)} class={`booking ${how} ${cut}`} style={style} title={`${of.lease}, ${of.status}, ${time}`} aria-label={`${of.lease}, ${of.status}, ${time}`} data-item="" data-booked={of.lease} data-state={of.status}>
      <Icon of={how} /><span>{leaf(of.lease)}</span>
    </Go>
  );
}

/** What the colours mean: never by colour alone. */
function Legend({ of, span }: { of: Booking[]; span: Span }) {
  const here = of.filter((one) => placed(span, one.start, one.end));
  const states = [...new Set(here.filter((one) => one.lease).map((one) => one.status))].sort();
  const others = here.some((one) => !one.lease);
  return (
    <p class="stack-legend" data-testid="legend">
      {!here.length && <span class="dim">Nothing is booked then.</span>}
      {states.map((state) => <State key={state} state={state} kind="lease" />)}
      {others && <span class="state empty"><i class="booking others sample" aria-hidden="true" />booked by somebody else</span>}
    </p>
  );
}
