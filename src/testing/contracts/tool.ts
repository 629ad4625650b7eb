// What every Tool must do, wherever it is carried out. An adapter's test says how its tool is brought to play each
// scenario, or why it cannot; the suite knows no adapter.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  InvalidInput,
  type Progress,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../../engine/ports.ts'
import type { ResultPart } from '../../language/content.ts'
import { toolHash, toolKinds } from '../../language/tools.ts'
import { compileGrammar } from '../../lib/grammar/index.ts'
import type { Json } from '../../lib/json.ts'
import { compileSchema } from '../../lib/schema.ts'

export const toolScenarios = [
  /** Gives a result, the same each time it is run with this input. */
  'answers',
  /** Fails, and says why. */
  'fails',
  /** Takes far longer than a test may, unless it is told to stop. */
  'slow',
  /** Refuses, by its own finer check, an input that fits its schema. */
  'refuses',
  /** Reports progress before it ends. */
  'reports',
] as const
export type ToolScenario = (typeof toolScenarios)[number]

export type ToolScene = {
  tool: Tool
  input: Json
  /** Must stand in the text of the result, or of the failure. */
  says?: string
  close?: () => void | Promise<void>
}

export type MakeTool = (
  scenario: ToolScenario,
) => ToolScene | { skip: string } | Promise<ToolScene | { skip: string }>

/** Runs the suite. `make` is asked once per test. */
export function toolContract(name: string, make: MakeTool): void {
  const scene = (title: string, scenario: ToolScenario, run: (scene: ToolScene) => Promise<void>) =>
    test(`${title} (${scenario})`, { timeout: 20_000 }, async (context: TestContext) => {
      const made = await make(scenario)
      if ('skip' in made) return context.skip(made.skip)
      try {
        await run(made)
      } finally {
        await made.close?.()
      }
    })

  describe(`tool contract: ${name}`, () => {
    declaration(scene)
    running(scene)
    stopping(scene)
  })
}

type Scene = (
  title: string,
  scenario: ToolScenario,
  run: (scene: ToolScene) => Promise<void>,
) => Promise<void>

function declaration(scene: Scene): void {
  scene('it declares itself whole', 'answers', async ({ tool }) => {
    assert.ok(tool.name.length > 0 && tool.name.length <= 128)
    assert.notEqual(tool.description.trim(), '')
    assert.equal(tool.side, 'server')
    assert.ok(toolKinds.includes(tool.kind))
    for (const flag of [tool.readOnly, tool.idempotent, tool.destructive, tool.exposed])
      assert.equal(typeof flag, 'boolean')
    assert.ok(['trusted', 'ask', 'deny'].includes(tool.trust))
    assert.ok(tool.timeoutMs > 0 && tool.timeoutMs < 2 ** 31)
    assert.ok(tool.outputLimit > 0)
  })

  scene('it is run again only when that is harmless', 'answers', async ({ tool }) => {
    assert.ok(Number.isInteger(tool.retries) && tool.retries >= 0)
    assert.ok(tool.retries === 0 || tool.readOnly || tool.idempotent)
    assert.ok(!(tool.readOnly && tool.destructive))
  })

  scene('its schemas can be used, and its input fits', 'answers', async ({ tool, input }) => {
    if (tool.input.form === 'json') assert.equal(compileSchema(tool.input.schema).check(input), null)
    else {
      assert.ok(typeof input === 'string')
      const { grammar } = tool.input
      if (grammar) assert.equal(compileGrammar(grammar.syntax, grammar.definition).match(input), null)
    }
    if (tool.output !== undefined) compileSchema(tool.output).prepare()
  })

  scene('its identity is that of what it shows', 'answers', async ({ tool }) => {
    const copy: Tool = { ...tool }
    assert.equal(toolHash(copy), toolHash(tool))
    assert.notEqual(toolHash({ ...tool, description: `${tool.description} And more.` }), toolHash(tool))
  })
}

function running(scene: Scene): void {
  scene(
    'its result is parts, and data that fits its output schema',
    'answers',
    async ({ tool, input, says }) => {
      const output = await tool.run(input, contextFor())
      checkOutput(output)
      assert.notEqual(output.failed, true)
      if (says !== undefined) assert.ok(textOf(output).includes(says), textOf(output))
      if (tool.output !== undefined) assert.equal(compileSchema(tool.output).check(output.structured), null)
    },
  )

  scene('it does not change its input', 'answers', async ({ tool, input }) => {
    const before = structuredClone(input)
    await tool.run(input, contextFor())
    assert.deepEqual(input, before)
  })

  scene('runs at the same time do not mix', 'answers', async ({ tool, input }) => {
    const alone = await tool.run(input, contextFor())
    const runs = await Promise.all(
      [1, 2, 3].map(async n => tool.run(input, contextFor({ callId: `call-${n}` }))),
    )
    for (const output of runs) assert.deepEqual(output, alone)
  })

  scene('a failure is thrown or marked, and says why', 'fails', async ({ tool, input, says }) => {
    const words = await failureOf(tool, input)
    assert.notEqual(words.trim(), '')
    if (says !== undefined) assert.ok(words.includes(says), words)
  })

  scene('an input that it refuses is InvalidInput, with words', 'refuses', async ({ tool, input, says }) => {
    await assert.rejects(
      async () => tool.run(input, contextFor()),
      (error: unknown) => {
        assert.ok(error instanceof InvalidInput)
        assert.ok(error.message.includes(says ?? '') && error.message !== '')
        return true
      },
    )
  })

  scene('progress is reported before the end', 'reports', async ({ tool, input }) => {
    const updates: Progress[] = []
    await tool.run(input, contextFor({ progress: update => updates.push(update) }))
    const before = updates.length
    assert.ok(before > 0)
    for (const update of updates)
      if ('output' in update) assert.equal(typeof update.output, 'string')
      else assert.ok(update.message !== undefined || update.done !== undefined)
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(updates.length, before)
  })
}

function stopping(scene: Scene): void {
  scene('it ends when its signal aborts', 'slow', async ({ tool, input }) => {
    const controller = new AbortController()
    const run = settle(tool, input, contextFor({ signal: controller.signal }))
    setImmediate(() => controller.abort(new Error('stop')))
    await run
    assert.ok(controller.signal.aborted, 'it ended by itself, so the scenario is not slow')
  })

  scene('it does not linger when its signal was aborted before', 'slow', async ({ tool, input }) => {
    await settle(tool, input, contextFor({ signal: AbortSignal.abort(new Error('stop')) }))
  })
}

async function settle(tool: Tool, input: Json, context: ToolContext): Promise<void> {
  try {
    checkOutput(await tool.run(input, context))
  } catch (error) {
    assert.ok(error instanceof Error)
  }
}

async function failureOf(tool: Tool, input: Json): Promise<string> {
  let output: ToolOutput
  try {
    output = await tool.run(input, contextFor())
  } catch (error) {
    assert.ok(error instanceof Error && !(error instanceof InvalidInput))
    return error.message
  }
  checkOutput(output)
  assert.equal(output.failed, true)
  return textOf(output)
}

function checkOutput(output: ToolOutput): void {
  assert.ok(Array.isArray(output.parts))
  for (const part of output.parts) checkPart(part)
  if (output.structured !== undefined)
    assert.deepEqual(JSON.parse(JSON.stringify(output.structured)), output.structured)
}

function checkPart(part: ResultPart): void {
  if (part.type === 'text') assert.equal(typeof part.text, 'string')
  else assert.match(part.url, /^(https:|data:)/)
}

function textOf(output: ToolOutput): string {
  return output.parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

/** A context as the engine gives it, for a tool that is run by itself. */
export function contextFor(changes: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    session: 'session-1',
    owner: 'owner-1',
    callId: 'call-1',
    idempotencyKey: 'key-1',
    attempt: 1,
    progress: () => {},
    options: {},
    ...changes,
  }
}
