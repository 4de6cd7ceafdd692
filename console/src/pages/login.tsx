/** The way in: with the issuer, or with a token. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get } from '../api.ts';
import { place } from '../router.tsx';
import { type Login, show } from '../who.ts';

export function LoginPage() {
  const way = useSignal<Login | null>(null);
  const wrong = useSignal('');
  const busy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => { get<Login>('/v1/login').then((found) => { way.value = found; }, () => undefined); }, []);
  const enter = async (event: Event) => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? '';
    if (!token) return;
    busy.value = true;
    try {
      await show(token);
    } catch (error) {
      wrong.value = (error as Error).message;
    }
    busy.value = false;
  };
  const to = encodeURIComponent(`/console${place.value}`);
  return (
    <main class="login" data-testid="login">
      <h1>Stead</h1>
      <p class="dim">This server asks who you are.</p>
      {way.value?.issuer && (
        <a class="button primary" href={`/v1/session/login?to=${to}`} data-testid="log-in">Log in with {new URL(way.value.issuer).host}</a>
      )}
      <form onSubmit={enter}>
        <label for="token">{way.value?.issuer ? 'Or show a token' : 'Show a token'}</label>
        <input id="token" ref={field} type="password" autocomplete="off" spellcheck={false} autofocus data-testid="token" />
        {wrong.value && <p class="wrong" role="alert" data-testid="wrong">{wrong.value}</p>}
        <button type="submit" disabled={busy.value} data-testid="enter">Go in</button>
      </form>
      <p class="dim">An admin makes tokens: <code>stead token create NAME --role viewer</code></p>
    </main>
  );
}
