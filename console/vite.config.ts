// How the console is built: pages are split, nothing is inlined, because the content security policy allows neither inline
// scripts nor data: addresses other than images.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

// Small files that nearly all pages use weigh less as one.
const shared =
  /\/src\/(?:lib\/(?:text\/(?:index|dollars|error-message)|json\/\w+)|react\/(?:words|forms|use-reconnected|is-typing|view|later)|lib\/(?:attempt|event-link|narrow|tab-in-sight|mount-path|parts|table|menu))\.tsx?$|\/node_modules\/react\//

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
      output: { codeSplitting: { groups: [{ name: 'shared', test: shared }] } },
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
