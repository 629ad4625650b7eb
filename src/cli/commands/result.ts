// Gives the result of a call that its tool postponed, and waits until the turn stops. It uses the engine of a running server if
// there is one.

import { text as readAll } from 'node:stream/consumers'
import type { Json } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { runtimeOf, Turnwire } from '../../library/turnwire.ts'
import { type CliCommand, textValue, UsageError, type Values } from '../command.ts'
import { configOption, dataOption, noSuchSession, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'result',
  usage: '<session> <call> [text]',
  about: `Gives the result of a call that its tool left for later, once. Without a text, the result is read from the standard input.`,
  options: {
    data: dataOption,
    config: configOption,
    failed: { type: 'boolean', help: 'It failed: the text says why' },
    structured: { type: 'string', value: '<json>', help: 'The result as data' },
    details: { type: 'string', value: '<json>', help: 'Details for the application, which no model reads' },
  },
  words: 3,
  async run({ values, words: [session, callId, text] }) {
    if (session === undefined || callId === undefined)
      throw new UsageError('Say which: turnwire result <session> <call> [text]')
    const { output, options } = await readOutput(values, text)
    const { config, source } = await setUp(values)
    const turnwire = await Turnwire.open(config, { source })
    try {
      const { engine } = runtimeOf(turnwire)
      const owner = await engine.lookUp({ get: 'owner', session })
      if (owner === undefined) throw noSuchSession(session)
      const handle = await turnwire.resume(session, { owner })
      const reply = await handle.result(callId, output, options)
      process.stdout.write(`${reply.status}: ${printable(reply.text, { multiline: true })}\n`)
      return 0
    } finally {
      await turnwire.close()
    }
  },
}

type GivenOutput = {
  output: string
  options: { failed?: boolean; structured?: Json; details?: Json }
}

async function readOutput(values: Values, given: string | undefined): Promise<GivenOutput> {
  const [structured, details] = [jsonValue(values, 'structured'), jsonValue(values, 'details')]
  const output =
    given ?? (structured === undefined ? await readAll(process.stdin) : JSON.stringify(structured))
  return {
    output,
    options: { ...present({ structured, details }), ...(values['failed'] === true && { failed: true }) },
  }
}

function jsonValue(values: Values, name: string): Json | undefined {
  const text = textValue(values, name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Json // JSON text yields nothing but Json.
  } catch {
    throw new UsageError(`--${name} must be JSON.`)
  }
}
