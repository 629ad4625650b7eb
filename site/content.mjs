// Writes the pages that VitePress builds into site/.content: docs/, the pages beside it and the examples, with links that lead to the
// site's addresses. `// runnable` marks of programs are for the tests and are left out.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allFiles, linksOf, llmsFullText, llmsText, markdownRoute, root, routeOf } from './pages.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
export const content = join(here, '.content')

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const repository = repositoryOf(manifest.repository)

/** `git+https://host/owner/name.git` as an address that a browser opens. Undefined: package.json names none. */
function repositoryOf(given) {
  const url = typeof given === 'string' ? given : given?.url
  return url?.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** `base`: where the site will be, for llms.txt. */
export function writeContent(base = '') {
  rmSync(content, { recursive: true, force: true })
  for (const folder of ['drawings', 'screenshots'])
    cpSync(join(root, 'docs', folder), join(content, folder), { recursive: true })
  for (const file of allFiles()) {
    const text = pageText(file)
    write(markdownRoute(file), text)
    write(join('public', markdownRoute(file)), text)
  }
  write('index.md', readFileSync(join(here, 'home.md'), 'utf8'))
  cpSync(join(root, 'console/public/icon.svg'), join(content, 'public/icon.svg'))
  for (const picture of ['session.png', 'session-dark.png'])
    cpSync(join(root, 'docs/screenshots', picture), join(content, 'public', picture))
  write('public/llms.txt', llmsText(base))
  write('public/llms-full.txt', llmsFullText())
}

function write(path, text) {
  const file = join(content, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** `source`: the address of the repository. Without one, links to files that are no page become plain text. */
export function pageText(file, source = repository) {
  const text = readFileSync(join(root, file), 'utf8')
  let done = ''
  let from = 0
  for (const { at, written, anchor, target } of linksOf(file, text)) {
    const end = at + `](${written})`.length
    const to = address(file, written, anchor, target, source)
    const start = openingBracket(text, at)
    done +=
      to === undefined
        ? text.slice(from, start) + text.slice(start + 1, at)
        : `${text.slice(from, at)}](${to})`
    from = end
  }
  return (done + text.slice(from)).replaceAll(/^(```ts.*\n)\/\/ runnable(?:: continued)?\n/gm, '$1')
}

function openingBracket(text, close) {
  for (let at = close - 1, depth = 0; ; at -= 1) {
    if (text[at] === ']') depth += 1
    if (text[at] === '[' && depth-- === 0) return at
  }
}

const pages = new Set(allFiles())

function address(file, written, anchor, target, source) {
  if (written.startsWith('#')) return written
  if (pages.has(target)) return routeOf(target) + anchor
  if (target === 'README.md') return '/'
  if (/^docs\/(?:drawings|screenshots)\//.test(target)) return target.slice('docs'.length)
  if (!existsSync(join(root, target))) throw new Error(`${file} links to ${written}, which is not there`)
  return source === undefined ? undefined : `${source}/blob/main/${target}`
}
