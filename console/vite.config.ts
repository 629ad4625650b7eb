// How the console is built: pages are split, nothing is inlined, because the content security policy allows neither inline
// scripts nor data: addresses other than images.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  root: path('.'),
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: path('dist'),
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Our modules do nothing by being loaded, so a page gets only those that it uses of a list of exports.
    rolldownOptions: {
      treeshake: {
        moduleSideEffects: [
          { test: /\/src\/(?:react|client|language|lib)\/.*\.tsx?$/, sideEffects: false },
          { test: /node_modules\/(?:marked|@tanstack\/virtual-core|sugar-high)\//, sideEffects: false },
        ],
      },
    },
  },
  // Files of the build find one another wherever the console is mounted. The server writes the mount's path into the page.
  experimental: {
    renderBuiltUrl: (name, { hostType }) => (hostType === 'html' ? `/console/${name}` : { relative: true }),
  },
})
