// Every block of code in the docs is held by something: see blocks.ts.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { readArguments } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/main.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { parseRules } from '../../src/config/rules-file.ts'
import * as turnwire from '../../src/index.ts'
import { parseScript } from '../../src/models/scripted/index.ts'
import { readScript } from '../../src/testing/index.ts'
import { parseCases } from '../../src/verdicts/cases.ts'
import { folder } from '../cli/rig.ts'
import {
  type Block,
  blocks,
  classOf,
  type Doors,
  grantedTo,
  holders,
  placeOf,
  programs,
  typedSource,
} from './blocks.ts'

const givenFile = resolve('test/docs/given.ts')
const given = [...readFileSync(givenFile, 'utf8').matchAll(/^export (?:declare \w+|\{) (\w+)/gm)].map(
  ([, name = '']) => name,
)
const doors: Doors = { ours: Object.keys(turnwire), given, givenFile }

const inClass = (wanted: string): Block[] => blocks.filter(block => classOf(block) === wanted)

describe('every block of the docs', () => {
  test('has a class, which says what holds it', () => {
    assert.ok(blocks.length > 200)
    assert.deepEqual(blocks.filter(block => classOf(block) === undefined).map(placeOf), [])
    const strange = { page: 'docs/guide/new.md', line: 1, title: '', language: 'python', code: 'print(1)\n' }
    assert.equal(classOf(strange), undefined)
  })

  test('that a test of its page holds is read by that test', () => {
    for (const holder of holders) {
      const text = readFileSync(holder, 'utf8')
      const pages = new Set(
        blocks.filter(block => classOf(block) === `held by ${holder}`).map(({ page }) => page),
      )
      assert.ok(pages.size > 0, holder)
      for (const page of pages)
        assert.ok(
          text.includes(basename(page)) || text.includes('docs/migrate/*.md'),
          `${holder} reads ${page}`,
        )
    }
  })
})

function codeOf(is: (block: Block) => boolean): string {
  const found = blocks.find(is)
  assert.ok(found)
  return found.code
}

// ---- TypeScript -------------------------------------------------------------------------------------------------

test('TypeScript of the docs passes a strict check of types, as it does in a reader’s editor', {
  timeout: 600_000,
}, t => {
  const made = folder(t)
  symlinkSync(resolve('node_modules'), join(made, 'node_modules'))
  const write = ({ page, line }: Pick<Block, 'page' | 'line'>, ending: string, text: string): void =>
    writeFileSync(join(made, `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${line}.${ending}`), text)
  const typed = inClass('typed')
  assert.ok(typed.length > 45)
  for (const program of programs()) write(program, 'mts', `${program.code}\nexport {}\n`)
  for (const block of typed) write(block, block.language === 'tsx' ? 'tsx' : 'mts', typedSource(block, doors))
  // What blocks import from files beside them.
  mkdirSync(join(made, 'evals'))
  writeFileSync(
    join(made, 'evals/refunds.ts'),
    codeOf(({ code }) => code.startsWith('// evals/refunds.ts\n')),
  )
  writeFileSync(
    join(made, 'turnwire.config.ts'),
    codeOf(({ title }) => title === 'turnwire.config.ts'),
  )
  writeFileSync(join(made, 'styles.d.ts'), "declare module '*.css'\n")
  writeFileSync(join(made, 'package.json'), '{ "type": "module" }\n')
  const inner = ['', '/testing', '/client', '/extend', '/payments', '/react']
  const files: Record<string, string> = { '/extend': 'extend.ts', '/payments': 'client/payments.ts' }
  const paths = Object.fromEntries(
    inner.map(door => [`turnwire${door}`, [resolve('src', files[door] ?? `.${door}/index.ts`)]]),
  )
  // Our own sources are looked at too, under their own options.
  const compilerOptions = { types: ['node'], typeRoots: [resolve('node_modules/@types')], paths }
  const config = { extends: resolve('tsconfig.json'), compilerOptions, include: ['*.mts', '*.tsx', '*.d.ts'] }
  writeFileSync(join(made, 'tsconfig.json'), JSON.stringify(config))
  const tsc = [resolve('node_modules/typescript/bin/tsc'), '-p', made]
  const { stdout, status } = spawnSync(process.execPath, tsc, { encoding: 'utf8' })
  assert.deepEqual([stdout, status], ['', 0])
})

test('configurations of the docs that are whole are accepted by the check that serve makes', async t => {
  const whole = inClass('typed').filter(
    block => /^export default defineConfig\(/m.test(block.code) && grantedTo(block, given).length === 0,
  )
  assert.ok(whole.length >= 15)
  const made = folder(t)
  for (const [index, block] of whole.entries()) {
    const file = join(made, `${index}.config.mts`)
    // The folder of the reader's project.
    writeFileSync(file, block.code.replaceAll('/srv/project', made))
    await assert.doesNotReject(loadConfig(file), placeOf(block))
  }
})

// ---- commands ---------------------------------------------------------------------------------------------------

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

/** Programs of the system, and of others. */
const elsewhere =
  /^(?:#|apt-get|base64|cd|claude|codex|cp|curl|do|docker|done|echo|export|for|gemini|npm (?:create|i|init|install|start|test)\b|npx create-next-app|opencode|openssl|printf|su|tr|useradd)/

/** The simple commands of a block: one for each part of a line, without comments, variables and what goes elsewhere. */
function commandsOf(code: string): string[] {
  const lines = code.replaceAll('\\\n', ' ').split('\n')
  return (
    lines
      // Where lines begin with a prompt, the others are what was printed.
      .filter(line => (code.includes('$ turnwire') ? line.startsWith('$ ') : /^\S/.test(line)))
      .flatMap(line => line.replace(/(?:^| )#.*$/, '').split(/ (?:&&|\||;) |; /))
      .map(part =>
        part
          .trim()
          .replace(/^(?:\$ |- run: )/, '')
          .replace(/^(?:[A-Z_]+=\S* )+/, '')
          .replace(/ > \S+$/, ''),
      )
      .filter(part => part !== '')
  )
}

/** The words of a command, as a shell has them. `[…]` is around what may be left out, `<…>` for what the reader writes. */
function wordsOf(line: string): string[] {
  const found =
    line.replaceAll(/\[(?=-)|(?<=[\w>])\](?=\s|$)/g, '').match(/(?:"[^"]*"|'[^']*'|<[^>]*>|[^\s"'<])+/g) ?? []
  return found.map(word => word.replaceAll(/["']/g, ''))
}

/** Throws if there is no such command, action or option. */
async function checkCommand([name = '', ...args]: readonly string[]): Promise<void> {
  if (name === 'help') return void (await findCommand(args[0] ?? 'help'))
  const command = await findCommand(name)
  const end = args.indexOf('--')
  const { words } = readArguments(command, end === -1 ? args : args.slice(0, end))
  // `[folder]` is a word of the caller's.
  if (words[0] === undefined || /^\[\w+\]/.test(command.usage)) return
  const actions: readonly string[] =
    command.usage.replaceAll(/<[^>]*>/g, '').match(/(?<=^\[?|\| )[a-z]+/g) ?? []
  assert.ok(actions.length === 0 || actions.includes(words[0]), `${name} has no action ${words[0]}`)
}

async function check(line: string): Promise<void> {
  const [, ours] = /^(?:npx |npm run )?turnwire (?:-- )?(.*)$/.exec(line) ?? []
  if (ours !== undefined) return checkCommand(wordsOf(ours))
  const [, script] = /^npm run ([\w:]+)/.exec(line) ?? []
  if (script !== undefined)
    return assert.ok(scripts[script] !== undefined || script === 'dev', `npm run ${script}`)
  const [, file] = /^(?:npx )?node (\S+)/.exec(line) ?? []
  if (file !== undefined)
    return assert.ok(existsSync(file) || existsSync(`${file}.test.ts`) || file === 'ask.ts', line)
  assert.match(line, elsewhere, 'a command that nothing checks')
}

describe('commands of the docs are ones that there are, with options that they have', () => {
  test('in lines for the shell', async () => {
    const prompts = inClass('output').filter(({ code }) => code.startsWith('$ '))
    const lines = [...inClass('commands'), ...inClass('curl'), ...prompts].flatMap(block => {
      const isScript = /^(?:\w+='|\w+=\$\(|\w+\(\))|<<|'$/m.test(block.code)
      return isScript ? [] : commandsOf(block.code).map(line => ({ line, place: placeOf(block) }))
    })
    assert.ok(lines.length > 90)
    for (const { line, place } of lines)
      await assert.doesNotReject(check(line), (error: Error) =>
        assert.fail(`${place}: ${line}: ${error.message}`),
      )
  })

  test('in files of other programs', async () => {
    const found = [...inClass('data'), ...inClass('other program’s')].flatMap(({ code }) =>
      [...code.matchAll(/"turnwire"(?:,\s*"args":\s*\[|,\s*args = \{|,) ?(["][^\]}]*)[\]}]/g)].map(
        ([, list = '']) => [...list.matchAll(/"([^"]*)"/g)].map(([, word = '']) => word),
      ),
    )
    assert.ok(found.length >= 4)
    for (const words of found) await checkCommand(words)
  })

  test('and others are refused', async () => {
    await assert.rejects(check('turnwire serve --prot 1'), /has no option --prot/)
    await assert.rejects(check('turnwire keys made ana'), /has no action made/)
    await assert.rejects(check('npm run nothing'), /npm run nothing/)
    await assert.rejects(check('frobnicate'), /nothing checks/)
  })
})

// ---- data -------------------------------------------------------------------------------------------------------

/** The loader of each kind of YAML file that is ours, by what stands in it. */
const loaders: readonly { has: RegExp; load: (text: string) => unknown }[] = [
  { has: /^cases:/m, load: text => parseCases(text, 'cases.yaml') },
  { has: /^rules:/m, load: text => parseRules(text, 'policy.yaml') },
  { has: /^steps:/m, load: text => parseScript(text) },
  { has: /^- (?:calls|text|fault):/m, load: text => readScript(parse(text), 'turns.yaml') },
]

test('data of the docs is read: what is ours by its own loader', () => {
  const loaded = new Set<RegExp>()
  for (const block of inClass('data')) {
    const { language, code } = block
    const loader = loaders.find(({ has }) => language === 'yaml' && has.test(code))
    if (loader) loaded.add(loader.has)
    // `…` between members stands for more of them.
    const read =
      loader?.load ??
      (language === 'yaml' ? parse : (text: string) => JSON.parse(text.replaceAll(/, …(?= [\]}])/g, '')))
    assert.doesNotThrow(() => read(code), placeOf(block))
  }
  assert.equal(loaded.size, loaders.length)
})
