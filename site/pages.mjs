// The pages of the documentation, in the order of docs/index.md: the one list from which the site's sidebar, llms.txt and
// llms-full.txt are made. It needs no package, so that a test of the product can read it.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const index = 'docs/index.md'

/** `[{ title, pages: [{ title, file, about }] }]`, files from the root of the repository. */
export function sections() {
  const text = readFileSync(join(root, index), 'utf8')
  return text
    .split(/^## /m)
    .slice(1)
    .map(part => ({
      title: part.slice(0, part.indexOf('\n')),
      pages: [...part.matchAll(/^- \[([^\]]+)\]\(([^)]+)\): (.+)$/gm)].map(([, title, link, about]) => ({
        title,
        about,
        file: normalize(join(dirname(index), link)),
      })),
    }))
}

/**
 * Where a page is on the site, without its ending; a folder ends with a slash. The index is at /contents, since the site opens with a
 * page of its own. Pages beside docs/ are under /project, examples under /examples; a README is the page of its folder.
 */
export function routeOf(file) {
  if (file === index) return '/contents'
  if (file === 'examples/README.md') return '/examples/'
  if (file === 'docs/decisions/README.md') return '/decisions/'
  if (file.startsWith('examples/')) return `/${dirname(file)}`
  if (file.startsWith('docs/')) return file.slice('docs'.length).replace(/\.md$/, '')
  return `/project/${file.replace(/\.md$/, '').toLowerCase()}`
}

/** Every page of the site: those of the index, the index itself, each decision, and the examples of the gallery. */
export function allFiles() {
  const listed = sections().flatMap(({ pages }) => pages.map(({ file }) => file))
  const others = globSync(['docs/decisions/*.md', 'examples/*/README.md'], { cwd: root }).sort()
  return [...new Set([index, ...listed, ...others])]
}

/** The links of a page that stay in the repository, as they are written, with the file that each leads to. */
export function linksOf(file, text = readFileSync(join(root, file), 'utf8')) {
  const prose = text.replaceAll(/^(```+)[\s\S]*?^\1$/gm, block => block.replaceAll(/[^\n]/g, ' '))
  return [...prose.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g)].map(found => {
    const [, path, anchor = ''] = found
    return {
      at: found.index,
      written: path + anchor,
      anchor,
      target: path === '' ? file : normalize(join(dirname(file), path)),
    }
  })
}

/** The anchors of a page, as GitHub and the site make them of its headings. */
export function anchorsOf(file) {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^(```+)[\s\S]*?^\1$/gm, '')
  const seen = new Map()
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => {
    const slug = slugOf(heading)
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  })
}

export function slugOf(heading) {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/** Links that lead to no file, or to no heading of the page that they name. */
export function deadLinks(files = allFiles()) {
  return files.flatMap(file =>
    linksOf(file).flatMap(({ written, anchor, target }) => {
      if (!existsSync(join(root, target))) return [`${file} -> ${written}`]
      if (anchor === '' || !target.endsWith('.md')) return []
      return anchorsOf(target).includes(decodeURIComponent(anchor.slice(1))) ? [] : [`${file} -> ${written}`]
    }),
  )
}

const about =
  'A runtime for the tool calls of language models: it checks each call, decides whether it may run, runs it, and records it. ' +
  'A server, a library and a command, for any model, over the protocols that applications already speak.'

/** https://llmstxt.org: the index, with whole addresses of the pages as Markdown. */
export function llmsText(base = '') {
  const parts = sections().map(({ title, pages }) => {
    const lines = pages.map(page => `- [${page.title}](${base}${markdownRoute(page.file)}): ${page.about}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  return `# Turnwire\n\n> ${about}\n\n${parts.join('\n')}`
}

/** Pages are served as Markdown too, beside their HTML. */
export function markdownRoute(file) {
  const route = routeOf(file)
  return route.endsWith('/') ? `${route}index.md` : `${route}.md`
}

/** The text of every page that a user of Turnwire reads: without decisions and the changelog. */
export function llmsFullText() {
  const files = sections()
    .filter(({ title }) => title !== 'Inside')
    .flatMap(({ pages }) => pages.map(({ file }) => file))
  const texts = files.map(file => `<!-- ${file} -->\n\n${readFileSync(join(root, file), 'utf8').trim()}\n`)
  return `# Turnwire\n\n> ${about}\n\n${texts.join('\n---\n\n')}`
}
