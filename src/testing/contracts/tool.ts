// The contract of every Tool, in any process. The caller makes a tool for each scenario, or says why that scenario does
// not apply. The suite runs under `node --test`.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  InvalidInput,
  type Progress,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../../engine/ports/index.ts'
import type { ResultPart } from '../../language/content.ts'
import { toolHash, toolKinds } from '../../language/tools.ts'
import { compileGrammar } from '../../lib/grammar/index.ts'
import type { Json } from '../../lib/json/index.ts'
import { compileSchema } from '../../lib/schema/index.ts'
import { callTests, outputTests, stopTests } from './tool-calls.ts'

export const toolScenarios = [
  /** Gives the same result each time it runs with this input. */
  'answers',
  /** Fails with a message. */
  'fails',
  /** Runs far longer than a test may, unless its signal aborts. */
  'slow',
  /** Refuses an input that passed its schema, by a check of its own. */
  'refuses',
  /** Reports progress while it runs. */
  'reports',
  /** Gives more text than its `outputLimit`. */
  'huge',
  /** Gives a result that does not fit its output schema. */
  'wrong',
  /** Leaves its result for later. */
  'later',
] as const
export type ToolScenario = (typeof toolScenarios)[number]

export type ToolScene = {
  tool: Tool
  input: Json
  /** The text of the result, or of the failure, must contain it. */
  says?: string
  /** Arguments, as text, that do not fit. Default: of another kind than the tool takes. */
  invalid?: string
  /**
   * Of the scenario `answers`, for a tool that answers otherwise when it has run before: an input for each of several
   * concurrent runs, and what the text of its result must contain.
   */
  apart?: readonly { input: Json; says: string }[]
  /** Of the scenario `later`: the result that comes. Default: a text. */
  later?: ToolOutput
  close?: () => void | Promise<void>
}

export type MakeTool = (
  scenario: ToolScenario,
) => ToolScene | { skip: string } | Promise<ToolScene | { skip: string }>

/**
 * `make` is called once for each test. The tests run the tool alone, and then as calls of a session: checked, denied, timed
 * out, cancelled, after a crash, with huge and wrong results, with progress, and with a result that comes later.
 */
export function toolContract(name: string, make: MakeTool): void {
  const play: PlayScene = (title, scenario, run) =>
    test(`${title} (${scenario})`, { timeout: 300_000 }, async (context: TestContext) => {
      const made = await make(scenario)
      if ('skip' in made) return context.skip(made.skip)
      try {
        await run(made)
      } finally {
        await made.close?.()
      }
    })

  describe(`tool contract: ${name}`, () => {
    declarationTests(play)
    runTests(play)
    abortTests(play)
    callTests(play)
    stopTests(play)
    outputTests(play)
  })
}

export type PlayScene = (
  title: string,
  scenario: ToolScenario,
  run: (scene: ToolScene) => Promise<void>,
) => Promise<void>

function declarationTests(play: PlayScene): void {
  play('its declaration is complete', 'answers', async ({ tool }) => {
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

  play('it has retries only if it is read-only or idempotent', 'answers', async ({ tool }) => {
    assert.ok(Number.isInteger(tool.retries) && tool.retries >= 0)
    assert.ok(tool.retries === 0 || tool.readOnly || tool.idempotent)
    assert.ok(!(tool.readOnly && tool.destructive))
  })

  play('its schemas compile, and the input passes', 'answers', async ({ tool, input }) => {
    if (tool.input.form === 'json') assert.equal(compileSchema(tool.input.schema).check(input), null)
    else {
      assert.ok(typeof input === 'string')
      const { grammar } = tool.input
      if (grammar) assert.equal(compileGrammar(grammar.syntax, grammar.definition).match(input), null)
    }
    if (tool.output !== undefined) compileSchema(tool.output).prepare()
  })

  play('its hash changes with its declaration and nothing else', 'answers', async ({ tool }) => {
    const copy: Tool = { ...tool }
    assert.equal(toolHash(copy), toolHash(tool))
    assert.notEqual(toolHash({ ...tool, description: `${tool.description} And more.` }), toolHash(tool))
  })
}

function runTests(play: PlayScene): void {
  play(
    'its result has parts, and data that passes its output schema',
    'answers',
    async ({ tool, input, says }) => {
      const output = await tool.run(input, contextFor())
      checkToolOutput(output)
      assert.notEqual(output.failed, true)
      if (says !== undefined) assert.ok(outputText(output).includes(says), outputText(output))
      if (tool.output !== undefined) assert.equal(compileSchema(tool.output).check(output.structured), null)
    },
  )

  play('a preview is plain data, and nothing has run', 'answers', checkPreview)

  play('it does not change its input', 'answers', async ({ tool, input }) => {
    const before = structuredClone(input)
    await tool.run(input, contextFor())
    assert.deepEqual(input, before)
  })

  play('concurrent runs do not mix', 'answers', async ({ tool, input, apart }) => {
    if (apart) return runApart(tool, apart)
    const alone = await tool.run(input, contextFor())
    const runs = await Promise.all(
      [1, 2, 3].map(async n => tool.run(input, contextFor({ callId: `call-${n}` }))),
    )
    for (const output of runs) assert.deepEqual(output, alone)
  })

  play('a failure is thrown or marked as failed, with a message', 'fails', async ({ tool, input, says }) => {
    const words = await contractFailureText(tool, input)
    assert.notEqual(words.trim(), '')
    if (says !== undefined) assert.ok(words.includes(says), words)
  })

  play('a refused input throws InvalidInput with a message', 'refuses', async ({ tool, input, says }) => {
    await assert.rejects(
      async () => tool.run(input, contextFor()),
      (error: unknown) => {
        assert.ok(error instanceof InvalidInput)
        assert.ok(error.message.includes(says ?? '') && error.message !== '')
        return true
      },
    )
  })

  play('progress is reported before the run ends, and not after', 'reports', async ({ tool, input }) => {
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

async function runApart(tool: Tool, runs: NonNullable<ToolScene['apart']>): Promise<void> {
  const outputs = await Promise.all(
    runs.map(async ({ input }, n) => tool.run(input, contextFor({ callId: `call-${n}` }))),
  )
  for (const [at, output] of outputs.entries()) {
    checkToolOutput(output)
    assert.notEqual(output.failed, true)
    for (const [other, { says }] of runs.entries())
      assert.equal(outputText(output).includes(says), other === at, `run ${at}: ${outputText(output)}`)
  }
}

function abortTests(play: PlayScene): void {
  play('it ends when its signal aborts', 'slow', async ({ tool, input }) => {
    const controller = new AbortController()
    const run = runToEnd(tool, input, contextFor({ signal: controller.signal }))
    setImmediate(() => controller.abort(new Error('stop')))
    await run
    assert.ok(controller.signal.aborted, 'it ended without the abort, so the scenario is not slow')
  })

  play('it ends at once when its signal is already aborted', 'slow', async ({ tool, input }) => {
    await runToEnd(tool, input, contextFor({ signal: AbortSignal.abort(new Error('stop')) }))
  })
}

async function runToEnd(tool: Tool, input: Json, context: ToolContext): Promise<void> {
  try {
    checkToolOutput(await tool.run(input, context))
  } catch (error) {
    assert.ok(error instanceof Error)
  }
}

async function contractFailureText(tool: Tool, input: Json): Promise<string> {
  let output: ToolOutput
  try {
    output = await tool.run(input, contextFor())
  } catch (error) {
    assert.ok(error instanceof Error && !(error instanceof InvalidInput))
    return error.message
  }
  checkToolOutput(output)
  assert.equal(output.failed, true)
  return outputText(output)
}

/** Only a tool that has one. It is plain data, and the call gives the same afterwards. */
async function checkPreview({ tool, input }: ToolScene): Promise<void> {
  if (!tool.preview) return
  const report = await tool.preview(input, contextFor())
  assert.deepEqual(JSON.parse(JSON.stringify(report)), report)
  for (const { path } of [...(report.locations ?? []), ...(report.diffs ?? [])]) assert.notEqual(path, '')
}

function checkToolOutput(output: ToolOutput): void {
  assert.ok(Array.isArray(output.parts))
  for (const part of output.parts) checkPart(part)
  if (output.report) assert.deepEqual(JSON.parse(JSON.stringify(output.report)), output.report)
  if (output.structured !== undefined)
    assert.deepEqual(JSON.parse(JSON.stringify(output.structured)), output.structured)
}

function checkPart(part: ResultPart): void {
  if (part.type === 'text') assert.equal(typeof part.text, 'string')
  else assert.match(part.url, /^(https:|data:)/)
}

function outputText(output: ToolOutput): string {
  return output.parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

/** A context like the engine's, for running a tool without one. */
export function contextFor(changes: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    session: 'session-1',
    owner: 'owner-1',
    callId: 'call-1',
    idempotencyKey: 'key-1',
    attempt: 1,
    progress: () => {},
    report: () => {},
    refer: () => Promise.resolve(),
    options: {},
    app: {} as ToolContext['app'], // A test of a tool that reads it gives its own.
    sample: () => Promise.reject(new Error('This test gives its tool no model.')),
    ask: () => Promise.resolve({ action: 'cancel' }),
    callback: () => 'http://127.0.0.1/callbacks/test',
    fetch: () => Promise.reject(new Error('This test gives its tool nothing to fetch with.')),
    tools: { shared: [], find: () => undefined },
    ...changes,
  }
}
