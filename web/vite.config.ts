// Builds the page of the control plane into web/dist, which is committed: `npm ci && npm start` builds nothing.
import { join } from 'node:path';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/gui/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // `npm run web:dev`: the page from its sources, with the answers of the global of `npm start`.
  server: { proxy: { '^/(?!gui)': 'http://127.0.0.1:5681' } },
  build: {
    outDir: join(import.meta.dirname, 'dist'),
    emptyOutDir: true,
    target: 'es2024',
    modulePreload: false,
    // The policy of the page has no place for files inside of others, but for small pictures.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  logLevel: 'warn',
});
