// The site: its sidebar is docs/index.md, its search is local, nothing is fetched from elsewhere.
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig } from 'vitepress'
import { content } from '../content.mjs'
import { routeOf, sections, slugOf } from '../pages.mjs'

const base = process.env.SITE_BASE ?? '/'

const guide = sections().map(({ title, pages }) => ({
  text: title,
  collapsed: false,
  items: pages.map(page => ({
    text: page.title,
    link: routeOf(page.file),
  })),
}))

/** One page for each import; those list the rest. All names in every page would make the site ten times as large. */
function reference() {
  const folder = join(content, 'api')
  const found = existsSync(folder) ? globSync('**/index.md', { cwd: folder }) : []
  const items = found
    .map(file => dirname(file))
    .filter(name => name !== '.')
    .sort()
    .map(name => ({ text: name, link: `/api/${name}/` }))
  return [{ text: 'API', link: '/api/', items }, ...guide]
}

export default defineConfig({
  title: 'Turnwire',
  description: 'A runtime for the tool calls of language models.',
  lang: 'en',
  base,
  srcDir: '.content',
  outDir: 'dist',
  srcExclude: ['public/**'],
  cleanUrls: true,
  lastUpdated: false,
  metaChunk: true,
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  // Text such as <name> in prose is text. Anchors are those that GitHub makes, so that links hold in both places.
  markdown: {
    html: false,
    anchor: { slugify: slugOf },
    theme: { light: 'github-light', dark: 'github-dark' },
  },
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/guide/getting-started' },
      { text: 'Concepts', link: '/concepts/how-it-works' },
      { text: 'Contents', link: '/contents' },
      { text: 'API', link: '/api/' },
      { text: 'Errors', link: '/operations/errors' },
    ],
    sidebar: { '/api/': reference(), '/': guide },
    notFound: {
      title: 'There is no such page',
      quote: 'It may have moved. Search for it, or look through all pages under Contents.',
      linkText: 'To the first page',
    },
    docFooter: { prev: 'Before', next: 'Next' },
    footer: {
      message: `MIT license. For programs: <a href="${base}llms.txt">llms.txt</a>, <a href="${base}llms-full.txt">llms-full.txt</a>.`,
    },
  },
})
