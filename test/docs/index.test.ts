// The index of the docs has every page, the pages are linked as the site links them, drawings are those of their sources, and the
// README's numbers are not above what the tests hold. The site itself is built by `npm run site:build`, with packages of its own.
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { drawings } from '../../scripts/drawings.mjs'
import { pageText } from '../../site/content.mjs'
import { allFiles, deadLinks, llmsFullText, llmsText, routeOf, sections } from '../../site/pages.mjs'
import { crashPoints } from '../../src/engine/ports/index.ts'
import * as compatible from '../../src/models/providers/compatible.ts'
import * as vendors from '../../src/models/providers/vendors.ts'
import { rehearsal } from '../../src/models/rehearsal/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import type { Manifest } from '../requirements/manifest.ts'

test('the index lists every page of the docs, once', () => {
  const listed = sections().flatMap(({ pages }) => pages.map(({ file }) => file))
  assert.deepEqual(listed.toSorted(), [...new Set(listed)].sort())
  const files = globSync('docs/**/*.md').filter(file => !file.startsWith('docs/decisions/'))
  assert.deepEqual(
    files.filter(file => file !== 'docs/index.md' && !listed.includes(file)),
    [],
  )
})

test('every link leads to a page, and to a heading that the page has', () => {
  assert.deepEqual(deadLinks(['README.md', ...allFiles()]), [])
})

test('the index of decisions has each by its number and title, and each says its date and whether it is in force', () => {
  const index = readFileSync('docs/decisions/README.md', 'utf8')
  const listed = [...index.matchAll(/^- (\[.+\]\(.+?\.md\))/gm)].map(([, link = '']) => link)
  const files = readdirSync('docs/decisions').filter(file => file !== 'README.md')
  const wanted = files.map(file => {
    const text = readFileSync(`docs/decisions/${file}`, 'utf8')
    const [, title] =
      /^# (\D.*)\n\nDate: \d{4}-\d{2}-\d{2}\. Status: (?:in force|overruled by \[)/.exec(text) ?? []
    assert.ok(title !== undefined, `${file} opens with a title, its date and its status`)
    return `[${Number(file.slice(0, 4))}. ${title}](${file})`
  })
  assert.ok(wanted.length > 70)
  assert.deepEqual(listed.toSorted(), wanted.toSorted())
})

test('no two pages have the same address on the site', () => {
  const routes = allFiles().map(routeOf)
  assert.deepEqual(routes.toSorted(), [...new Set(routes)].sort())
})

test('the page of each protocol that applications speak says what is not served', () => {
  const spoken = sections().find(({ title }) => title === 'Protocols that applications speak')?.pages ?? []
  // The operator's API is ours alone.
  const pages = spoken.map(({ file }) => file).filter(file => !file.endsWith('/operator.md'))
  assert.ok(pages.length >= 12)
  for (const file of pages) assert.match(readFileSync(file, 'utf8'), /\bnot served\b/i, file)
})

test('the page of the operator API has every route of it', () => {
  const page = readFileSync('docs/protocols/operator.md', 'utf8')
  const routes = globSync('src/**/*.ts').flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(/\bapp\.(?:get|post|put|delete)\(\s*'(\/operator[^']*)'/g)].map(
      ([, route = '']) => route,
    ),
  )
  assert.ok(routes.length > 30)
  assert.deepEqual(
    routes.filter(route => !page.includes(route)),
    [],
  )
})

test('every provider has a page, which names its key', () => {
  const pages = globSync('docs/models/*.md').map(file => readFileSync(file, 'utf8'))
  const providers = Object.keys({ ...compatible, ...vendors, rehearsal, scripted })
  assert.ok(providers.length >= 18)
  for (const name of providers)
    assert.ok(
      pages.some(page => page.includes(`\`${name}\``)),
      `no page names ${name}`,
    )
  const source = readFileSync('src/models/providers/compatible.ts', 'utf8')
  for (const [, key = ''] of source.matchAll(/keyVariable: '(\w+)'/g))
    assert.ok(
      pages.some(page => page.includes(`\`${key}\``)),
      key,
    )
})

test('llms.txt names every page of the index, and llms-full.txt has the text of each that users read', () => {
  const text = llmsText('https://docs.example')
  assert.match(text, /^# Turnwire\n\n> .+\n\n## Start\n/)
  for (const { pages } of sections())
    for (const { title, file } of pages) assert.ok(text.includes(`[${title}](https://docs.example/`), file)
  const full = llmsFullText()
  for (const file of ['docs/guide/policy.md', 'docs/operations/errors.md', 'docs/protocols/aap.md'])
    assert.ok(full.includes(readFileSync(file, 'utf8').trim()), file)
  assert.doesNotMatch(full, /<!-- docs\/decisions/)
})

test('on the site, links lead to its own pages, and files that are no page to the repository or nowhere', () => {
  const page = pageText('docs/index.md', 'https://code.example/turnwire')
  assert.match(page, /\[Policy\]\(\/guide\/policy\)/)
  assert.match(page, /\[Our words\]\(\/project\/context\)/)
  assert.match(page, /\[Decisions\]\(\/decisions\/\)/)
  const linked = pageText('examples/README.md', 'https://code.example/turnwire')
  assert.match(
    linked,
    /\[library\.ts\]\(https:\/\/code\.example\/turnwire\/blob\/main\/examples\/library\.ts\)/,
  )
  assert.match(pageText('examples/README.md'), /\| (?:library\.ts|\[library\.ts\]\(https:[^)]+\)) \|/)
  assert.match(pageText('docs/concepts/how-it-works.md'), /\]\(\/drawings\/cycle\.svg\)/)
  for (const file of allFiles()) assert.doesNotMatch(pageText(file), /^\/\/ runnable/m, file)
})

test('drawings are drawn from their sources', () => {
  assert.ok(drawings().length >= 3)
  for (const { file, svg } of drawings())
    assert.equal(readFileSync(file, 'utf8'), svg, `run: npm run drawings (${file})`)
})

test('the numbers of the README are not above what the tests hold', async () => {
  const readme = readFileSync('README.md', 'utf8')
  const stated = (pattern: RegExp): number => {
    const found = pattern.exec(readme)?.[1]
    assert.ok(found !== undefined, `the README has no ${pattern}`)
    return Number(found.replaceAll(',', ''))
  }
  assert.ok(crashPoints.length >= stated(/killed at each of (\d+) named points/))
  const manifests = readdirSync('test/requirements').filter(file => !/manifest|\.test\./.test(file))
  let clauses = 0
  for (const file of manifests) {
    const loaded = (await import(`../requirements/${file}`)) as { default: Manifest } // requirements.test.ts checks it
    clauses += loaded.default.clauses.length
  }
  assert.ok(clauses >= stated(/([\d,]+) clauses of/), `there are ${clauses} clauses`)
  assert.match(
    readme,
    new RegExp(
      `clauses of ${['', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'][manifests.length]} protocols`,
    ),
  )
  const tries = /const tries = ([\d_]+)/.exec(readFileSync('test/tools/files/race.test.ts', 'utf8'))?.[1]
  assert.equal(stated(/([\d,]+) tries to get out/), Number(tries?.replaceAll('_', '')))
  const seeds = /SIM_SEEDS: '(\d+)'/.exec(readFileSync('scripts/faults.mjs', 'utf8'))?.[1]
  assert.equal(stated(/([\d,]+) simulated runs/), Number(seeds))
  // The operator's API is ours alone.
  const spoken = sections().find(({ title }) => title === 'Protocols that applications speak')?.pages ?? []
  assert.equal(spoken.length - 1, 12)
  assert.match(readme, /\[twelve protocols\]/)
})

test('as long as the package is private, the pages that speak of a repository say that there is none yet', () => {
  const isPrivate = readFileSync('package.json', 'utf8').includes('"private": true')
  for (const page of [
    'README.md',
    'SECURITY.md',
    'CODE_OF_CONDUCT.md',
    'CONTRIBUTING.md',
    'docs/concepts/boundary.md',
  ])
    assert.equal(readFileSync(page, 'utf8').includes('no public repository yet'), isPrivate, page)
})
