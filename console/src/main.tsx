import { render } from 'preact';
import { unknown } from './api.ts';
import { App } from './app.tsx';
import { follow } from './live.ts';
import './style.css';
import { paint } from './theme.ts';
import { ask } from './who.ts';

paint();
// Who one is comes first: otherwise every part of the page would be told, each for itself, that nobody knows.
void ask().then(() => {
  if (!unknown.value) follow();
  render(<App />, document.getElementById('app') as HTMLElement);
});
