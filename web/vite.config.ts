import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The page is one program with its own root; what it knows of the store is the client, taken from its source. */
export default defineConfig({
  root: here('.'),
  plugins: [react()],
  resolve: { alias: { 'holdfast/client': here('../src/client/index.ts') } },
  build: {
    outDir: here('../dist/web'),
    emptyOutDir: true,
    target: 'es2023',
    // A policy that allows no inline script allows no polyfill that is one either.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    reportCompressedSize: false,
    manifest: 'manifest.json',
  },
})
