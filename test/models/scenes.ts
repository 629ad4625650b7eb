// Scenes that any vendor can play: everything that a model, a person, a tool or a crash can do to a history. Each
// leaves the session idle or waiting.
import assert from 'node:assert/strict'
import type { Session } from '../../src/engine/index.ts'
import type { Entry } from '../../src/language/history.ts'
import { tool } from '../../src/tools/index.ts'
import { clientTool, until } from '../engine/rig.ts'
import { say, type Table, type Tool, tell, type Vendor, type Vendors } from './rig.ts'

export const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const anything = { type: 'object', properties: { p: { type: 'string' } } }
const trusted = { trust: 'trusted', exposed: false } as const

export const tools: readonly Tool[] = [
  tool({ name: 'read', description: 'Reads.', input: anything, ...trusted, run: () => 'it says so' }),
  tool({ name: 'fs.read', description: 'Reads too.', input: anything, ...trusted, run: () => 'dotted' }),
  tool({
    name: 'fs_read',
    description: 'Reads as well.',
    input: anything,
    ...trusted,
    run: () => 'underscored',
  }),
  tool({ name: 'fs/read', description: 'Reads still.', input: anything, ...trusted, run: () => 'slashed' }),
  tool({
    name: 'web_search',
    description: 'Named like one of theirs.',
    input: anything,
    ...trusted,
    run: () => 'x',
  }),
  tool({
    name: 'write',
    description: 'Writes.',
    input: { ...anything, required: ['p'] },
    trust: 'ask',
    exposed: false,
    run: () => 'done',
  }),
  tool({
    name: 'fail',
    description: 'Fails.',
    input: anything,
    ...trusted,
    run: () => {
      throw new Error('no \ud800 luck')
    },
  }),
  tool({
    name: 'slow',
    description: 'Takes long.',
    input: anything,
    ...trusted,
    timeoutMs: 5,
    run: () => new Promise(() => {}),
  }),
  tool({
    name: 'stuck',
    description: 'Never ends.',
    input: anything,
    ...trusted,
    run: () => new Promise(() => {}),
  }),
  tool({ name: 'quiet', description: 'Says nothing.', input: anything, ...trusted, run: () => '' }),
  tool({
    name: 'halves',
    description: 'Half a pair.',
    input: anything,
    ...trusted,
    run: () => 'left \ud83d right \udc00',
  }),
  tool({
    name: 'picture',
    description: 'Shows.',
    input: anything,
    ...trusted,
    run: () => ({
      parts: [
        { type: 'image', url: PNG },
        { type: 'file', url: 'data:text/plain;base64,aGk=', mediaType: 'text/plain', name: 'a.txt' },
      ],
    }),
  }),
  tool({ name: 'patch', description: 'Takes text.', input: 'text', ...trusted, run: () => 'patched' }),
  tool({
    name: 'never',
    description: 'Is refused.',
    input: anything,
    trust: 'deny',
    exposed: false,
    run: () => 'no',
  }),
]

export const longId = `call-${'x'.repeat(495)}`

/** A history from elsewhere: long ids, odd names, halves of surrogate pairs, instructions in its middle. */
export const seed: Entry[] = [
  { role: 'system', text: 'From before.' },
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'half \ud83d' },
      { type: 'image', url: PNG },
    ],
  },
  {
    role: 'assistant',
    parts: [
      { type: 'thinking', text: 'unsigned' },
      { type: 'call', id: longId, name: 'gone.tool/v1', form: 'json', text: '{"p":"\ud800"}' },
      { type: 'call', id: 'b c', name: 'fs_read', form: 'json', text: '[]' },
      { type: 'call', id: 'c', name: 'patch', form: 'text', text: '*** \udc00' },
    ],
  },
  {
    role: 'tool',
    results: [
      {
        callId: longId,
        name: 'gone.tool/v1',
        outcome: { kind: 'ok', parts: [{ type: 'image', url: PNG }], from: { source: 'client' } },
      },
      {
        callId: 'b c',
        name: 'fs_read',
        outcome: { kind: 'invalid', parts: [{ type: 'text', text: '' }], from: { source: 'runtime' } },
      },
      { callId: 'c', name: 'patch', outcome: { kind: 'ok', parts: [], from: { source: 'client' } } },
    ],
  },
  { role: 'system', text: 'From now on, be brief.' },
  { role: 'user', parts: [{ type: 'text', text: '' }] },
  { role: 'assistant', parts: [{ type: 'text', text: '' }] },
  { role: 'user', parts: [] },
]

export type Scene = {
  name: string
  play(stage: { table: Table; session: Session; vendors: Vendors; vendor: Vendor }): Promise<Session>
}

const hosted: Record<Vendor, unknown[]> = {
  anthropic: [
    { type: 'server_tool_use', id: 'srvtoolu_a1', name: 'web_search', input: { query: 'q' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_a1',
      content: [
        { type: 'web_search_result', url: 'https://e.com', title: 'E', encrypted_content: 'ZW5jcnlwdGVk' },
      ],
    },
  ],
  'openai-responses': [
    { type: 'web_search_call', id: 'ws_a1', status: 'completed', action: { type: 'search', query: 'q' } },
  ],
  'openai-chat': [],
  gemini: [
    { executableCode: { language: 'PYTHON', code: 'print(1)' } },
    { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
  ],
  'gemini-interactions': [
    { type: 'google_search_call', id: 'gs_a1', arguments: { queries: ['q'] } },
    { type: 'google_search_result', call_id: 'gs_a1', result: [{ search_suggestions: 'x' }] },
  ],
}

const pendingOf = (session: Session, stage: 'asking' | 'handed'): string[] =>
  session.state.batch.flatMap(call => (call.stage === stage ? call.part.id : []))

const decide = (session: Session, decisions: Parameters<Session['respond']>[0]['decisions']) =>
  until(session, () => session.respond({ results: [], decisions }))

/** Waits for an item in the session's feed. */
const seen = (
  session: Session,
  what: (item: Parameters<Parameters<Session['feed']['watch']>[0]>[0]) => boolean,
) =>
  new Promise<void>(resolve => {
    const unwatch = session.feed.watch(item => {
      if (!what(item)) return
      unwatch()
      resolve()
    })
  })

export const scenes: readonly Scene[] = [
  {
    name: 'parallel calls of every outcome',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, {
        thinking: 'Many at once. \u{1f600}',
        text: 'Let me see.',
        calls: [
          'read',
          'fs.read',
          'fs_read',
          'fs/read',
          'fail',
          'slow',
          'quiet',
          'halves',
          'picture',
          'web_search',
          'never',
        ].map(name => ({ name, input: { p: 'x' } })),
      })
      say(vendors, session, vendor, {
        thinking: 'And again.',
        calls: [
          { name: 'nowhere', input: {} },
          { name: 'write', input: { q: 1 } },
          { name: 'read', input: [] },
        ],
      })
      await tell(session, 'Try everything.')
      return session
    },
  },
  {
    name: 'a person denies, edits and approves',
    async play({ session, vendors, vendor }) {
      const write = (p: string) => ({ name: 'write', input: { p } })
      say(vendors, session, vendor, {
        thinking: 'Ask.',
        calls: [write('a'), write('b'), { name: 'read', input: {} }, write('c')],
      })
      await tell(session, 'Write.')
      const [a, b, c] = pendingOf(session, 'asking')
      assert.ok(a !== undefined && b !== undefined && c !== undefined)
      await decide(session, [
        { callId: a, granted: false, by: 'ana', reason: 'no \ud800' },
        { callId: b, granted: true, by: 'ana', edit: '{"p":"edited \\ud83d"}' },
        { callId: c, granted: true, by: 'ana' },
      ])
      return session
    },
  },
  {
    name: 'text tools',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, {
        thinking: 'Patch.',
        calls: [
          { name: 'patch', text: '*** Begin\n"x"\\ \u{1f600}' },
          { name: 'patch', text: '' },
        ],
      })
      await tell(session, 'Patch it.')
      return session
    },
  },
  {
    name: 'pictures, empty text and halves of surrogate pairs from the user',
    async play({ session }) {
      await until(session, () =>
        session.say({
          parts: [
            { type: 'text', text: '' },
            { type: 'image', url: PNG },
            { type: 'image', url: 'https://example.com/a.png' },
            {
              type: 'file',
              url: 'data:application/pdf;base64,JVBERi0xLjQK',
              mediaType: 'application/pdf',
              name: 'a.pdf',
            },
            { type: 'text', text: '\udfff' },
          ],
          wire: 'test',
        }),
      )
      await until(session, () => session.say({ parts: [{ type: 'text', text: ' ' }], wire: 'test' }))
      return session
    },
  },
  {
    name: 'cancelled in the middle of the text',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, {
        thinking: 'Long.',
        text: 'One two three four five six seven.',
        chunk: 4,
        calls: [{ name: 'read', input: {} }],
        fault: { kind: 'hang-after-frames', frames: 7 },
      })
      const over = tell(session, 'Talk.')
      await Promise.race([
        seen(session, item => item.type === 'delta' && item.delta.type !== 'step.started'),
        over,
      ])
      await session.cancel()
      await over
      return session
    },
  },
  {
    name: 'cancelled while a tool runs',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, {
        thinking: 'Wait.',
        calls: [
          { name: 'stuck', input: {} },
          { name: 'read', input: {} },
        ],
      })
      const over = tell(session, 'Wait for it.')
      await seen(session, item => item.type === 'event' && item.event.type === 'call.settled')
      await session.cancel()
      await over
      return session
    },
  },
  {
    name: 'a crash while tools run',
    async play({ table, session, vendors, vendor }) {
      say(vendors, session, vendor, {
        thinking: 'Crash.',
        calls: [
          { name: 'stuck', input: {} },
          { name: 'read', input: {} },
        ],
      })
      session.say({ parts: [{ type: 'text', text: 'Crash.' }], wire: 'test' }).catch(() => {})
      await seen(session, item => item.type === 'event' && item.event.type === 'call.settled')
      const again = await table.restart().engine.open(session.state.owner, session.id)
      session.lose(new Error('the process is gone'))
      if (again.status === 'running')
        await seen(again, item => item.type === 'status' && item.status !== 'running')
      assert.equal(again.status, 'idle')
      return again
    },
  },
  {
    name: 'abandoned for a new message',
    async play({ session, vendors, vendor }) {
      await session.configure({ clientTools: [clientTool('app.do')] })
      say(vendors, session, vendor, {
        thinking: 'Yours.',
        calls: [
          { name: 'app.do', input: {} },
          { name: 'write', input: { p: 'x' } },
          { name: 'app.do', input: { a: 1 } },
        ],
      })
      await tell(session, 'Do it.')
      assert.equal(session.status, 'waiting')
      await tell(session, 'Never mind.')
      return session
    },
  },
  {
    name: 'answers that were cut, blocked and refused',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, { thinking: 'Cut.', text: 'And so', stop: 'length' })
      await tell(session, 'Speak.')
      say(vendors, session, vendor, {
        thinking: 'Cut again.',
        calls: [
          { name: 'read', input: { p: 'whole' } },
          { name: 'write', text: '{"p":"ha', cut: true },
        ],
      })
      await tell(session, 'Call.')
      say(vendors, session, vendor, { thinking: 'No.', text: 'I would', stop: 'refusal' })
      await tell(session, 'Refuse.')
      return session
    },
  },
  {
    name: 'hosted tools of the vendor',
    async play({ session, vendors, vendor }) {
      say(vendors, session, vendor, { thinking: 'Search.', native: hosted[vendor], text: 'Found.' })
      await tell(session, 'Look it up.')
      say(vendors, session, vendor, {
        thinking: 'Search more.',
        native: hosted[vendor].map(again),
        calls: [{ name: 'read', input: {} }],
      })
      await tell(session, 'And read.')
      return session
    },
  },
  {
    name: 'ids that repeat',
    async play({ session, vendors, vendor }) {
      for (let round = 0; round < 2; round++) {
        say(vendors, session, vendor, { calls: [{ id: idOf(vendor), name: 'read', input: {} }] })
        await tell(session, 'Read.')
      }
      return session
    },
  },
]

const idOf = (vendor: Vendor): string => (vendor === 'anthropic' ? 'toolu_same' : 'call_same')

/** The same blocks as another search. */
function again(block: unknown): unknown {
  return JSON.parse(JSON.stringify(block).replaceAll('_a1"', '_a2"'))
}

/** A turn with thinking and answered calls. Its artifacts must go back to the vendor that made them. */
export async function thinkAndCall(vendors: Vendors, session: Session, vendor: Vendor): Promise<void> {
  say(vendors, session, vendor, {
    thinking: 'Clear thoughts.',
    calls: [
      { name: 'read', input: { p: 'x' } },
      { name: 'fs.read', input: {} },
    ],
  })
  await tell(session, 'Read, please.', vendor)
}
