// Calls that may have taken effect: lists those of a session, asks their tools what became of them, and has calls undone. It uses the
// engine of a running server if there is one.
import { printable } from '../../lib/text/index.ts'
import { runtimeOf, Turnwire } from '../../library/turnwire.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { configOption, dataOption, noSuchSession, setUp } from '../setup.ts'

type Handle = Awaited<ReturnType<Turnwire['resume']>>

const words = {
  ran: 'It took effect.',
  'did-not-run': 'It did not take effect.',
  unknown: 'It is still not known whether it took effect.',
} as const

export const command: CliCommand = {
  name: 'calls',
  usage: '<session> [check <call> | undo <call>]',
  about:
    'Lists the calls of a session that may have taken effect. With check, asks the tool what became of one; with undo, has one undone, by a call of its own that policy decides about.',
  options: { data: dataOption, config: configOption },
  words: 3,
  async run({ values, words: [session, action, callId] }) {
    const isKnown =
      action === undefined || ((action === 'check' || action === 'undo') && callId !== undefined)
    if (session === undefined || !isKnown)
      throw new UsageError('Say which: turnwire calls <session> [check <call> | undo <call>]')
    const { config, source } = await setUp(values)
    const turnwire = await Turnwire.open(config, { source })
    try {
      const owner = await runtimeOf(turnwire).engine.lookUp({ get: 'owner', session })
      if (owner === undefined) throw noSuchSession(session)
      const handle = await turnwire.resume(session, { owner })
      process.stdout.write(`${await act(handle, action, callId ?? '')}\n`)
      return 0
    } finally {
      await turnwire.close()
    }
  },
}

async function act(handle: Handle, action: string | undefined, callId: string): Promise<string> {
  if (action === 'check') return words[await handle.reconcile(callId, { by: 'command' })]
  if (action === 'undo') {
    const reply = await handle.undo(callId, { by: 'command' })
    if (reply.status === 'waiting') return `waiting: a person has to allow ${reply.pending[0]?.callId}`
    const [last] = (await handle.history()).slice(-1)
    const outcome = last?.role === 'tool' ? last.results[0]?.outcome : undefined
    const text = (outcome?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
    return `${outcome?.kind ?? reply.status}: ${printable(text, { multiline: true })}`
  }
  const doubts = await handle.doubts()
  if (doubts.length === 0) return 'No call of this session may have taken effect without being known.'
  return doubts.map(({ callId: id, tool }) => `${id}  ${printable(tool, 128)}`).join('\n')
}
