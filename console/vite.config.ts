// How the console is built: pages are split, nothing is inlined, because the content security policy allows neither inline
// scripts nor data: addresses other than images. The licences of all that goes into it are in licences.txt.
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'
import { licenceText, packageOf } from '../scripts/licences.mjs'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** The style names its file; scripts are found by their modules. */
const typeface = '@fontsource-variable/inter'

function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const files = Object.values(bundle).flatMap(each => (each.type === 'chunk' ? each.moduleIds : []))
      const names = files.flatMap(file => packageOf(file) ?? [])
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: licenceText([typeface, ...names]) })
    },
  }
}

export default defineConfig({
  root: path('.'),
  base: '/console/',
  plugins: [licences()],
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: path('dist'),
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
