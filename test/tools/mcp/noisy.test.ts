// A server that makes noise: what it can make this process keep, write and do is limited.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { joinText } from '../../../src/language/content.ts'
import type { ToolDeclaration } from '../../../src/language/tools.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../../src/tools/mcp/index.ts'

const program = fileURLToPath(new URL('./stub.ts', import.meta.url))

test('the log, the definitions and the updates that a noisy server causes are limited', async t => {
  // One minute, however long it takes.
  t.mock.method(performance, 'now', () => 5_000)
  const lines: string[] = []
  let kept: readonly ToolDeclaration[] = []
  let updates = 0
  const connection = await mcpServer(
    { name: 'noisy', command: process.execPath, args: [program, 'noisy'] },
    {
      log: (_, message, fields) => void lines.push(`${message} ${JSON.stringify(fields ?? {})}`),
      definitions: {
        load: () => kept,
        save: next => {
          kept = next
        },
      },
    },
  )
  t.after(() => connection.close())
  const progress = (): void => {
    updates += 1
  }
  const run = () =>
    connection.tools.find(({ name }) => name === 'noisy__one')?.run({}, { ...contextFor(), progress })
  let said = ''
  // Each of its calls ends with a notice that the tools have changed.
  for (let count = 0; count < 5; count += 1) said = joinText((await run())?.parts ?? [])
  assert.match(said, /^lists \d$/)
  const about = (words: RegExp) => lines.filter(line => words.test(line)).length
  assert.ok(about(/wrote to its log|sent a log message/) <= 120)
  assert.ok(about(/broke the protocol|is left out:/) <= 120)
  assert.ok(about(/caused more than 120 lines/) >= 1)
  assert.ok(lines.length <= 3 * 121, `${lines.length} lines`)
  assert.ok(updates <= 5 * 600 && updates > 0, `${updates} updates`)
  assert.ok(kept.length <= 1_000 && kept.length > 300, `${kept.length} definitions`)
  assert.ok(JSON.stringify(kept).length < 9 * 1024 * 1024)
  assert.ok(!connection.tools.some(({ name }) => name === 'noisy__large'))
  assert.ok(connection.warnings.some(words => /"?large"? .*more than 256 KiB/.test(words)))
})
