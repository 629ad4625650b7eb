// The tools of a workspace pass the suite that every tool passes.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json } from '../../../src/lib/json/index.ts'
import { type ToolScene, toolContract } from '../../../src/testing/index.ts'
import { type WorkspaceTool, workspace } from '../../../src/tools/index.ts'

type Scenes = {
  answers: Json
  apart?: ToolScene['apart']
  refuses: [input: Json, says: string]
  /** An input whose result is longer than the tool's limit, or why there is none. */
  huge: { input: Json; prepare: (root: string) => void } | string
}

const long = (root: string): void =>
  writeFileSync(join(root, 'long.txt'), 'a line of the file\n'.repeat(20_000))
const oneLine = 'its result is one line'

const scenes: Record<string, [tool: WorkspaceTool, scenes: Scenes]> = {
  read: [
    'read',
    {
      answers: { path: 'a.txt' },
      refuses: [{ path: '../a.txt' }, 'outside'],
      huge: { input: { path: 'long.txt' }, prepare: long },
    },
  ],
  list: [
    'list',
    {
      answers: {},
      refuses: [{ path: 'a.txt' }, 'a.txt'],
      huge: {
        input: { path: 'many' },
        prepare: root => {
          mkdirSync(join(root, 'many'))
          for (let at = 0; at < 400; at++) writeFileSync(join(root, 'many', `${'n'.repeat(200)}${at}`), '')
        },
      },
    },
  ],
  search: [
    'search',
    {
      answers: { text: 'hello' },
      refuses: [{ regex: '(' }, 'regex'],
      huge: {
        input: { text: 'x' },
        prepare: root => {
          mkdirSync(join(root, 'd'.repeat(200)))
          writeFileSync(join(root, 'd'.repeat(200), 'lines'), `${'x'.repeat(300)}\n`.repeat(250))
        },
      },
    },
  ],
  write: [
    'write',
    {
      answers: { path: 'new/b.txt', content: 'bonjour\n' },
      apart: ['one', 'two', 'three'].map(name => ({
        input: { path: `${name}.txt`, content: name },
        says: `Made ${name}.txt.`,
      })),
      refuses: [{ path: 'a.txt', content: 'over it' }, 'read'],
      huge: oneLine,
    },
  ],
  edit: [
    'edit',
    {
      answers: { path: 'a.txt', old_text: 'hello', new_text: 'hello' },
      refuses: [{ path: 'a.txt', old_text: 'none', new_text: 'x' }, 'a.txt'],
      huge: oneLine,
    },
  ],
  patch: [
    'patch',
    {
      answers: '*** Begin Patch\n*** Update File: a.txt\n@@\n-hello\n+hello\n*** End Patch',
      refuses: ['no patch', 'Begin Patch'],
      huge: {
        input: `*** Begin Patch\n${Array.from({ length: 400 }, (_, at) => `*** Add File: ${'n'.repeat(200)}${at}\n+x\n`).join('')}*** End Patch`,
        prepare: () => {},
      },
    },
  ],
  move: [
    'move',
    {
      answers: { from: 'a.txt', to: 'b.txt' },
      apart: ['one', 'two', 'three'].map(name => ({
        input: { from: `from-${name}`, to: `to-${name}` },
        says: `Moved from-${name} to to-${name}.`,
      })),
      refuses: [{ from: 'a.txt', to: 'from-one' }, 'from-one'],
      huge: oneLine,
    },
  ],
  delete: [
    'delete',
    {
      answers: { path: 'a.txt' },
      apart: ['one', 'two', 'three'].map(name => ({
        input: { path: `from-${name}` },
        says: `Deleted from-${name}.`,
      })),
      refuses: [{ path: 'folder' }, 'folder'],
      huge: oneLine,
    },
  ],
  'editor (view)': [
    'editor',
    {
      answers: { command: 'view', path: 'a.txt' },
      refuses: [{ command: 'view', path: '../a.txt' }, 'outside'],
      huge: { input: { command: 'view', path: 'long.txt' }, prepare: long },
    },
  ],
  'editor (create)': [
    'editor',
    {
      answers: { command: 'create', path: 'b.txt', file_text: 'bonjour\n' },
      apart: ['one', 'two', 'three'].map(name => ({
        input: { command: 'create', path: `${name}.txt`, file_text: name },
        says: `${name}.txt`,
      })),
      refuses: [{ command: 'create', path: 'c.txt' }, 'file_text'],
      huge: oneLine,
    },
  ],
  'editor (str_replace)': [
    'editor',
    {
      answers: { command: 'str_replace', path: 'a.txt', old_str: 'hello', new_str: 'hello' },
      refuses: [{ command: 'str_replace', path: 'a.txt', old_str: 'none' }, 'a.txt'],
      huge: oneLine,
    },
  ],
}

for (const [name, [tool, { answers, apart, refuses, huge }]] of Object.entries(scenes))
  toolContract(`${name} of a workspace`, scenario => {
    if (!existsSync('/proc/self/fd')) return { skip: 'files are confined on Linux only' }
    if (scenario === 'slow') return { skip: 'its work is bounded in files, bytes and time, and is short' }
    if (scenario === 'fails') return { skip: 'what is wrong with a file is a refusal' }
    if (scenario === 'wrong') return { skip: 'it promises no form of its result' }
    if (scenario === 'later') return { skip: 'its result is there when its call ends' }
    if (scenario === 'reports') return { skip: 'it has no steps that could be counted' }
    if (scenario === 'huge' && typeof huge === 'string') return { skip: huge }
    const root = mkdtempSync(join(tmpdir(), 'turnwire-contract-'))
    const close = (): void => rmSync(root, { recursive: true, force: true })
    writeFileSync(join(root, 'a.txt'), 'hello\n')
    for (const file of ['from-one', 'from-two', 'from-three']) writeFileSync(join(root, file), `${file}\n`)
    mkdirSync(join(root, 'folder/inside'), { recursive: true })
    const [made] = workspace({ root, tools: [tool] })
    const scene = { tool: made!, close, ...(apart && { apart }) }
    if (scenario === 'refuses') return { ...scene, input: refuses[0], says: refuses[1] }
    if (scenario !== 'huge' || typeof huge === 'string') return { ...scene, input: answers }
    huge.prepare(root)
    return { ...scene, input: huge.input }
  })
