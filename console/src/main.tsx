import { render } from 'preact';
import { App } from './app.tsx';
import { follow } from './live.ts';
import './style.css';
import { paint } from './theme.ts';
import { ask } from './who.ts';

paint();
follow();
void ask();
render(<App />, document.getElementById('app') as HTMLElement);
