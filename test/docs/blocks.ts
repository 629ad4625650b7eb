// The blocks of code in the docs, and for each what holds it: it is run, loaded, type-checked, read by the loader of its format, or its
// commands are compared with the command's own options. A block that nothing holds has no class, and blocks.test.ts fails.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'

export type Block = { page: string; line: number; language: string; title: string; code: string }

export const pages = globSync(['*.md', '{docs,examples,create-turnwire}/**/*.md', 'site/home.md'], {
  exclude: ['**/node_modules/**'],
}).sort()

export const blocks: readonly Block[] = pages.flatMap(blocksOf)

export function blocksOf(page: string): Block[] {
  const text = readFileSync(page, 'utf8')
  return [...text.matchAll(/^```(\w*)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: language = '', 2: title = '', 3: code = '' }) => {
      return { page, line: text.slice(0, index).split('\n').length, language, title, code }
    },
  )
}

export const placeOf = ({ page, line }: Pick<Block, 'page' | 'line'>): string => `${page}:${line}`

export type Class =
  | 'program'
  | 'typed'
  | 'commands'
  | 'curl'
  | 'data'
  | 'output'
  | 'other program’s'
  | `held by ${string}`

/** Tests that read a page themselves, and use all its blocks in these languages but for those that are marked runnable. */
const held: readonly { pages: RegExp; languages: readonly string[]; by: string }[] = [
  {
    pages: /^docs\/guide\/connect\.md$/,
    languages: ['ts', 'sh', 'json', 'toml'],
    by: 'test/clients/page.test.ts',
  },
  { pages: /^docs\/guide\/payments\.md$/, languages: ['ts', 'sh', ''], by: 'test/payments/guide.test.ts' },
  { pages: /^docs\/guide\/mount\.md$/, languages: ['ts', 'js'], by: 'test/installs/frameworks.ts' },
  { pages: /^docs\/guide\/vue\.md$/, languages: ['vue'], by: 'test/browser/vue.test.ts' },
  { pages: /^docs\/guide\/relay\.md$/, languages: ['sh'], by: 'test/cli/attach.test.ts' },
  { pages: /^docs\/guide\/code\.md$/, languages: ['js'], by: 'test/docs/docs.test.ts' },
  { pages: /^docs\/migrate\//, languages: ['ts'], by: 'test/docs/migrate-programs.ts' },
  { pages: /^examples\/use-chat\/README\.md$/, languages: ['tsx'], by: 'test/installs/frameworks.ts' },
]

export const holders = [...new Set(held.map(({ by }) => by))]

/** Files of programs that are not ours. What they say of `turnwire` is compared as commands are. */
const others = ['lua', 'nginx', 'ini']

export function classOf(block: Block): Class | undefined {
  const { page, language, code } = block
  if (/^\/\/ runnable(?:: continued)?\n/.test(code)) return 'program'
  const holder = held.find(each => each.pages.test(page) && each.languages.includes(language))
  if (holder) return `held by ${holder.by}`
  if (['ts', 'tsx'].includes(language)) return 'typed'
  if (['sh', 'bash'].includes(language))
    return code.includes('curl ') && pagesWithCurl.includes(page) ? 'curl' : 'commands'
  if (['json', 'yaml'].includes(language)) return 'data'
  if (others.includes(language)) return 'other program’s'
  // Words without a language are what something prints, or a drawing.
  return language === '' ? 'output' : undefined
}

// ---- programs ---------------------------------------------------------------------------------------------------

export type Program = { page: string; line: number; code: string }

/** Pages whose lines with curl are run on the demonstration. */
export const pagesWithCurl = ['README.md', ...globSync('docs/{protocols,concepts}/*.md')]

/** A block that opens with `// runnable` is a program; `// runnable: continued` goes on with the one before it. */
export function programs(): Program[] {
  const found: Program[] = []
  for (const { page, line, code } of blocks) {
    const [, continued, rest = ''] = /^\/\/ runnable(: continued)?\n([\s\S]*)$/.exec(code) ?? []
    const last = found.at(-1)
    if (rest === '') continue
    if (continued === undefined) found.push({ page, line, code: rest })
    else if (last?.page === page) last.code += rest
    else assert.fail(`${page}:${line} continues, but there is no program before it`)
  }
  return found
}

// ---- types ------------------------------------------------------------------------------------------------------

/** Where a part of a configuration, an agent or a tool stands, by its first member. */
const around: Readonly<Record<string, (part: string) => string>> = {
  agents: part => `defineConfig({ models: { smart: model }, ${part} })`,
  models: part => `defineConfig({ agents: [], ${part} })`,
  rules: part => `defineConfig({ agents: [], policy: { ${part} } })`,
  tools: part => `defineConfig({ agents: [{ name: 'desk', model, ${part} }] })`,
  code: part => `defineConfig({ agents: [{ name: 'desk', model, tools, ${part} }] })`,
  run: part => `tool({ name: 'book', description: 'Books seats.', input: { type: 'object' }, ${part} })`,
}

/** Whether code uses a name that it does not make itself. */
function uses(code: string, name: string): boolean {
  const isMade = new RegExp(`(?:const|function|class|import.*) (?:\\{[^}]*\\b)?${name}\\b`).test(code)
  const isUsed = new RegExp(`(?<![.\\w'/])${name}\\b(?!['\\w]|\\??:)`).test(
    code.replaceAll(/\/\/ .*|'[^']*'/g, ''),
  )
  return isUsed && !isMade
}

export type Doors = { ours: readonly string[]; given: readonly string[]; givenFile: string }

/** The names of the reader's own that a block takes for granted. */
export const grantedTo = ({ code }: Pick<Block, 'code'>, given: readonly string[]): string[] =>
  given.filter(name => uses(code, name))

/**
 * The block as a file. A block that imports nothing from `turnwire` is a piece of a file that does: it has our names, and stands in
 * what it is a part of.
 */
export function typedSource({ code }: Pick<Block, 'code'>, { ours, given, givenFile }: Doors): string {
  const [, member = ''] = /^(\w+): /.exec(code) ?? []
  const body = around[member]?.(`\n${code}`) ?? code
  const isPiece = !/^import .* from 'turnwire/m.test(body)
  const names = isPiece ? ours.filter(name => uses(body, name)) : []
  return [
    `import { ${names.join(', ')} } from 'turnwire'`,
    `import { ${grantedTo({ code: body }, given).join(', ')} } from ${JSON.stringify(givenFile)}`,
    body.replace("from '@ai-sdk/react'", `from ${JSON.stringify(givenFile)}`),
    'export {}\n',
  ].join('\n')
}
