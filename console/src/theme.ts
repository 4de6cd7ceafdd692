/** Light or dark: as the system says, until somebody says otherwise. */
import { signal } from '@preact/signals';

type Theme = 'system' | 'light' | 'dark';
const KEY = 'stead-theme';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

function kept(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === 'light' || found === 'dark' ? found : 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(kept());

export function paint(): void {
  const dark = theme.value === 'dark' || (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
}

export function turn(): void {
  theme.value = NEXT[theme.value];
  try {
    localStorage.setItem(KEY, theme.value);
  } catch { /* it holds until the page is left */ }
  paint();
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
