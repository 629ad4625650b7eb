// The process that gets killed, and the one that goes on: a session with a secret in a call's arguments. Run as
// `node hidden-arguments.ts <folder> ask|<session>`; it prints what it saw as JSON.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, Turnwire, TurnwireError, tool } from '../../src/index.ts'
import { announce } from '../announce.ts'

const [, , folder = '', what] = process.argv
const secret = 'sk-abcdefghij0123456789'
const requests: string[] = []

const turnwire = await Turnwire.open({
  data: folder,
  policy: { redact: ['secrets'] },
  agents: [
    {
      name: 'helper',
      model: scripted((request, at) => {
        requests.push(JSON.stringify(request.history))
        return at === 0 ? { calls: [{ name: 'login', input: { key: secret } }] } : { text: 'In.' }
      }),
      tools: [
        tool({
          name: 'login',
          description: 'Logs in.',
          input: { type: 'object', properties: { key: { type: 'string' } } },
          idempotent: true,
          run: input => {
            appendFileSync(join(folder, 'effects'), `${JSON.stringify(input)}\n`)
            return 'Welcome.'
          },
        }),
      ],
    },
  ],
})

if (what === 'ask') {
  const session = await turnwire.session('helper')
  const reply = await session.send('Log in.')
  const pending = reply.status === 'waiting' ? reply.pending : []
  announce(JSON.stringify({ id: session.id, pending }))
  await session.approve(pending[0]?.callId ?? '')
} else {
  const session = await turnwire.resume(what ?? '')
  try {
    await session.resume()
  } catch (error) {
    // The turn went on by itself, and may have ended before it was looked at.
    if (!(error instanceof TurnwireError) || error.code !== 'bad_request') throw error
  }
  const reply = await session.send('Well?')
  announce(JSON.stringify({ text: reply.text, requests }))
}
await turnwire.close()
