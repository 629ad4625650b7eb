// The programs of docs/migrate: each page has the same program twice, theirs and ours. They speak to a strict double of OpenAI's API.
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { startDouble, type VendorName } from '../../src/testing/index.ts'

export type MigrateProgram = { page: string; of: string; code: string }

/** Blocks that open with the name of their framework. */
export function migratePrograms(): MigrateProgram[] {
  return globSync('docs/migrate/*.md')
    .sort()
    .flatMap(page =>
      [...readFileSync(page, 'utf8').matchAll(/^```ts\n\/\/ (.+)\n([\s\S]*?)^```$/gm)].map(
        ([, of = '', code = '']) => ({ page: basename(page, '.md'), of, code }),
      ),
    )
}

/** What it prints, what it should, and how many requests the double refused. */
export async function played({ of, code }: MigrateProgram, cwd: string) {
  const vendor: VendorName = of === 'LangGraph' ? 'openai-chat' : 'openai-responses'
  const order = { order: 17 }
  const calls = ['look_up_order', 'refund_order'].map(name => ({ name, input: order }))
  const script = [{ calls }, { text: 'Order 17 was packed, and is refunded.' }]
  const double = await startDouble({ vendor, script })
  try {
    const env = {
      ...process.env,
      NO_COLOR: '1',
      OPENAI_BASE_URL: `${double.url}/v1`,
      OPENAI_API_KEY: 'any',
      // Their own reports of use would leave the machine.
      OPENAI_AGENTS_DISABLE_TRACING: '1',
      MASTRA_TELEMETRY_DISABLED: '1',
    }
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', code], { cwd, env })
    let [printed, complaints] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
    const status = await new Promise(resolve => child.once('close', resolve))
    const expected = [...code.matchAll(/^ *\/\/ → (.*)$/gm)].map(([, line]) => line)
    return {
      status,
      printed: printed.trimEnd().split('\n'),
      complaints,
      expected,
      refused: double.rejections().length,
    }
  } finally {
    await double.close()
  }
}
