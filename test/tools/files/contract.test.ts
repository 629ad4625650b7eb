// The tools of a workspace pass the suite that every tool passes.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json } from '../../../src/lib/json.ts'
import { toolContract } from '../../../src/testing/index.ts'
import { type WorkspaceTool, workspace } from '../../../src/tools/index.ts'

const inputs: Partial<Record<WorkspaceTool, [good: Json, refused: Json]>> = {
  read: [{ path: 'a.txt' }, { path: '../a.txt' }],
  list: [{}, { path: 'a.txt' }],
  search: [{ text: 'hello' }, { regex: '(' }],
  edit: [
    { path: 'a.txt', old_text: 'hello', new_text: 'hello' },
    { path: 'a.txt', old_text: 'none', new_text: 'x' },
  ],
  patch: ['*** Begin Patch\n*** Update File: a.txt\n@@\n-hello\n+hello\n*** End Patch', 'no patch'],
}

for (const [name, [good, refused]] of Object.entries(inputs))
  toolContract(`${name} of a workspace`, scenario => {
    if (!existsSync('/proc/self/fd')) return { skip: 'files are confined on Linux only' }
    if (scenario === 'slow') return { skip: 'work on one file is short' }
    if (scenario === 'fails') return { skip: 'what is wrong with a file is a refusal' }
    if (scenario === 'huge') return { skip: 'it bounds its own output: see workspace.test.ts' }
    if (scenario === 'wrong') return { skip: 'it promises no form of its result' }
    if (scenario === 'later') return { skip: 'work on one file is short' }
    if (scenario === 'reports') return { skip: 'it has no steps that could be counted' }
    const root = mkdtempSync(join(tmpdir(), 'turnwire-contract-'))
    writeFileSync(join(root, 'a.txt'), 'hello\n')
    const [tool] = workspace({ root, tools: [name as WorkspaceTool] }) // A key of `inputs`.
    const close = () => rmSync(root, { recursive: true, force: true })
    return { tool: tool!, input: scenario === 'refuses' ? refused : good, close }
  })
