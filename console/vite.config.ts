import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';

const server = 'http://127.0.0.1:7770';

export default defineConfig({
  base: '/console/',
  plugins: [preact({ prefreshEnabled: false, devToolsEnabled: false })],
  build: {
    outDir: '../src/stead/console/static',
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: 'es2022',
  },
  server: { proxy: { '/v1': server } },
});
