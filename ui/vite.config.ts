import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The build of the console: static files for `src/admin/console`, which puts the nonce of a response in its place. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/ui/',
  plugins: [react()],
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The policy of the page allows no inlined files but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.txt' },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
  },
});
