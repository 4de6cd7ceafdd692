/** A lease: its times, what happened at them and how late, which hosts it has, and who was told. */
import { at, get, type Lease, type LeaseEvent, type Notice, type Reservation } from '../api.ts';
import { below, useLive } from '../live.ts';
import { address } from '../logic/calendar.ts';
import { clock, date, plural, span } from '../logic/words.ts';
import { Card, Icon, now, Shown, State } from '../parts.tsx';
import { Go, toResource } from '../router.tsx';

const MOMENTS: Record<string, string> = { start_lease: 'start', before_end_lease: 'before its end', end_lease: 'end' };
const ORDER = Object.keys(MOMENTS);

export function LeaseCard({ path }: { path: string }) {
  const lease = useLive<Lease>(`lease ${path}`, () => get(`/v1/leases/${at(path)}`), { concerns: below(path), every: 5000 });
  return (
    <Card title="Lease" testid="lease" aside={lease.data && <>{lease.data.degraded && <Flag of="degraded" says="Something of it is not as it was booked" />}<Go to={address('week', new Date(lease.data.start))}>In the calendar</Go></>}>
      <Shown of={lease} rows={6}>
        {(data) => (
          <>
            <dl class="values">
              <div><dt>start</dt><dd><Time of={data.start} /></dd></div>
              <div><dt>end</dt><dd><Time of={data.end} /></dd></div>
              <div><dt>before its end</dt><dd>{data.before_end ? <>told <Time of={data.before_end} /></> : 'nobody is told'}</dd></div>
            </dl>
            <h3>Events</h3><Events of={data.events} />
            <h3>Reservations</h3>{data.reservations.map((one) => <ReservedHosts key={one.id} of={one} />)}
            {!data.reservations.length && <p class="dim">It has no hosts.</p>}
            {data.notices.length > 0 && <><h3>Notices</h3>{data.notices.map((one) => <Told key={one.id} of={one} />)}</>}
          </>
        )}
      </Shown>
    </Card>
  );
}

/** A time, and how far away it is. */
function Time({ of }: { of: string }) {
  const away = (Date.parse(of) - now.value) / 1000;
  return <time dateTime={of} title={of}>{date(of)} <span class="dim">{away > 0 ? `in ${span(away)}` : `${span(-away)} ago`}</span></time>;
}

const Flag = ({ of, says }: { of: string; says: string }) => <span class="state trouble" title={says} data-flag={of}><Icon of="trouble" />{of}</span>;

/** How late it came, or is. */
function late(of: LeaseEvent): string {
  if (of.delay !== null) return of.delay < 0.001 ? 'on time' : `${span(of.delay)} late`;
  const due = (now.value - Date.parse(of.at)) / 1000;
  return due > 1 ? `due for ${span(due)}` : 'to come';
}

function Events({ of }: { of: LeaseEvent[] }) {
  const events = [...of].sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  return (
    <table class="cards" data-testid="lease-events">
      <thead><tr><th>Event</th><th>Status</th><th>At</th><th class="num">Came</th></tr></thead>
      <tbody>
        {events.map((one) => (
          <tr key={one.id} data-event={one.kind}>
            <td>{MOMENTS[one.kind] ?? one.kind}</td><td class="beside-first"><State state={one.status} kind="event" /></td>
            <td><time dateTime={one.at}>{clock(one.at)}</time></td><td class="num" title={one.fired_at ?? undefined}>{late(one)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ReservedHosts({ of }: { of: Reservation }) {
  const wants = Object.entries(of.properties).map(([name, value]) => `${name} ${String(value)}`).join(', ');
  return (
    <div class="reservation" data-reservation={of.name}>
      <p class="stack-legend"><Go to={toResource(of.path)} class="path">{of.name}</Go><State state={of.status} kind="reservation" />
        {of.missing_resources && <Flag of="missing" says="A host failed, and no other was found yet" />}
        {of.resources_changed && <span class="state rest" title="Another host took the place of one that failed" data-flag="changed"><Icon of="trouble" />changed</span>}</p>
      <p class="dim">{plural(of.count, 'host')}{of.lane && <> on <Go to="/lanes">{of.lane}</Go></>}{wants && `, each with ${wants}`}</p>
      <p class="chips">{of.hosts.map((host) => <span key={host} class="chip path">{host}</span>)}{!of.hosts.length && <span class="dim">It has none now.</span>}</p>
    </div>
  );
}

function Told({ of }: { of: Notice }) {
  const tries = of.attempts > 1 ? `, ${of.attempts} tries` : '';
  return (
    <div class="line">
      <span class="dim" title={of.created_at}>{clock(of.created_at)}</span>
      <div>
        {!of.url ? <span class="dim">noted, and told to nobody</span>
          : of.delivered_at ? <><span class="state well"><Icon of="well" />delivered</span> <span class="dim">to <span class="path">{of.url}</span>{tries}</span></>
          : <><span class={`state ${of.error ? 'trouble' : 'moving'}`}><Icon of={of.error ? 'trouble' : 'moving'} />not delivered</span> <span class="dim">to <span class="path">{of.url}</span>{tries}</span></>}
        {of.error && !of.delivered_at && <div class="err">{of.error}</div>}
      </div>
    </div>
  );
}
