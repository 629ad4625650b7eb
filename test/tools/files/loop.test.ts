// Work on files that costs much is done in threads, within limits: the event loop of the server goes on. What the thread of
// the loop spends is compared with what it spends on small work of the same kind.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import type { Tool } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { Json } from '../../../src/lib/json/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { workspace } from '../../../src/tools/index.ts'

const skip = existsSync('/proc/self/fd') ? false : 'files are confined on Linux only'
const base = mkdtempSync(join(tmpdir(), 'turnwire-loop-'))
after(() => rmSync(base, { recursive: true, force: true }))
let root = ''
let tools = new Map<string, Tool>()

beforeEach(() => {
  root = mkdtempSync(join(base, 'w-'))
  tools = new Map(workspace({ root }).map(each => [each.name, each]))
})

/** Seconds on a line of 40,000 characters. */
const slow = '([ab]*a){400}$'

/** What it says, or why not. */
async function run(name: string, input: Json): Promise<string> {
  try {
    return joinText((await tools.get(name)!.run(input, contextFor())).parts)
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** Milliseconds of CPU that the thread of the loop spends until it is done. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Work that takes seconds costs the loop little, and no more than a multiple of what small work does. */
async function cheap(small: () => Promise<unknown>, large: () => Promise<unknown>): Promise<void> {
  await small()
  const reference = Math.max(await costOf(small), await costOf(small))
  const cost = await costOf(large)
  assert.ok(cost < 150 + 20 * reference, `${cost} ms, the small one ${reference} ms`)
}

describe('the loop goes on', { skip }, () => {
  test('while a regular expression is searched in a long line', async () => {
    writeFileSync(join(root, 'a.txt'), 'short\n')
    writeFileSync(join(root, 'long.txt'), `${'ab'.repeat(20_000)}\n`)
    const search = (glob: string) => () => run('search_files', { regex: slow, glob })
    await cheap(search('a.txt'), search('long.txt'))
  })

  test('while a patch looks for its lines', async () => {
    writeFileSync(join(root, 'large.txt'), 'same\n'.repeat(20_000))
    writeFileSync(join(root, 'small.txt'), 'same\nend\n')
    const patch = (file: string, body: string) => async () => {
      const text = `*** Begin Patch\n*** Update File: ${file}\n@@\n${body}-end\n+fresh\n*** End Patch`
      return tools.get('apply_patch')!.preview!(text, contextFor())
    }
    // At each line of the file the first 8,000 lines fit, and the next one does not.
    const large = patch('large.txt', ' same\n'.repeat(8_000))
    await cheap(patch('small.txt', ' same\n'), () =>
      assert.rejects(large, { name: 'InvalidInput', message: /these lines are not in "large.txt"/ }),
    )
    // Many small changes of one file: the loop turns between them.
    const many = Array.from({ length: 500 }, () => '*** Update File: large.txt\n@@\n-same\n+x\n').join('')
    let turns = 0
    const turn = (): void => {
      turns += 1
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    await run('apply_patch', `*** Begin Patch\n${many}*** End Patch`)
    clearImmediate(next)
    assert.ok(turns > 50, `${turns} turns`)
    const done = readFileSync(join(root, 'large.txt'), 'utf8')
    assert.equal(done, `${'x\n'.repeat(500)}${'same\n'.repeat(19_500)}`)
  })

  test('while a text is replaced that is almost everywhere', async () => {
    writeFileSync(join(root, 'a.txt'), 'a'.repeat(1_000_000))
    const edit = (old_text: string) => () => run('edit_file', { path: 'a.txt', old_text, new_text: 'x' })
    await cheap(edit('b'), edit(`${'a'.repeat(25_000)}b${'a'.repeat(25_000)}`))
  })

  test('while many nested folders are walked', async () => {
    let deep = root
    for (let depth = 0; depth < 900; depth += 1) {
      deep = join(deep, 'd')
      if (deep.length > 3_900) break
      mkdirSync(deep)
    }
    writeFileSync(join(root, 'd/near.txt'), 'needle\n')
    mkdirSync(join(root, 'small'))
    const walk = (path: string) => () => run('search_files', { text: 'needle', path })
    await cheap(walk('small'), walk('.'))
    assert.equal(
      await run('search_files', { text: 'needle' }),
      'd/near.txt:1: needle\n(There is more: narrow the search.)',
    )
  })
})

describe('limits', { skip }, () => {
  test('a replacement that would make a file too large is refused before it is made', async () => {
    writeFileSync(join(root, 'a.txt'), 'a'.repeat(500_000))
    const said = await run('edit_file', {
      path: 'a.txt',
      old_text: 'a',
      new_text: 'b'.repeat(500_000),
      all: true,
    })
    assert.match(said, /would have 250000000000 characters/)
  })

  test('a file of many lines can be patched', async () => {
    writeFileSync(join(root, 'a.txt'), `${'\n'.repeat(500_000)}last\n`)
    assert.match(
      await run('apply_patch', '*** Begin Patch\n*** Update File: a.txt\n@@\n-last\n+end\n*** End Patch'),
      /M a.txt/,
    )
  })

  test('a search that is cancelled is given up', async () => {
    writeFileSync(join(root, 'long.txt'), `${'ab'.repeat(400_000)}\n`)
    const stop = new AbortController()
    const input = { regex: slow, glob: 'long.txt' }
    const running = tools.get('search_files')!.run(input, contextFor({ signal: stop.signal }))
    setImmediate(() => stop.abort(new Error('enough')))
    await assert.rejects(async () => running, /enough/)
  })
})
