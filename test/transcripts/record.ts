// Makes the transcripts that are not there yet, by playing sessions with counted ids and a counted clock. Those that are
// there stay as they are.
import { existsSync, writeFileSync } from 'node:fs'
import {
  fold,
  type OpenSessions,
  type Session,
  Suspended,
  type Tool,
  type ToolContext,
} from '../../src/engine/index.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Event } from '../../src/language/events.ts'
import type { PaymentRecord } from '../../src/language/payments.ts'
import { toolHash } from '../../src/language/tools.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import { deriveSigningKey, makeSigner } from '../../src/lib/signing/ed25519.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { later, tool } from '../../src/tools/index.ts'
import { begin, clientTool, makeRig, owner, type RigOptions, say, takeControl, until } from '../engine/rig.ts'
import { playAgents } from './agents.ts'
import { summaryOf, type Transcript } from './summary.ts'

const numbered = { type: 'object', properties: { n: { type: 'integer' } } }
const words = (text: string) => [{ type: 'text' as const, text }]
const call = (name: string, n = 1) => ({ name, input: { n } })
const declared = { description: 'For a transcript.', input: numbered }

type Hold = { open(): void; wait: Promise<void>; begun: Promise<void>; begin(): void }

function hold(): Hold {
  const [end, start] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  return { open: end.resolve, wait: end.promise, begun: start.promise, begin: start.resolve }
}

function counted(): NonNullable<RigOptions['world']> {
  let [ids, time] = [0, 1_700_000_000_000]
  return { now: () => ++time, id: prefix => `${prefix}_${++ids}` }
}

/** Calls one tool, then two at the same time. */
const several: Tool = {
  ...tool({ ...declared, name: 'several', trust: 'trusted', run: () => '' }),
  resumable: true,
  async run(_input, { nested }) {
    if (!nested) throw new Error('It can make no calls.')
    const waits = Promise.withResolvers<never>()
    nested.onWaiting(() => waits.reject(new Suspended()))
    const make = async (...names: string[]) => {
      const made = names.map(name => nested.call(name, name, '{"n":1}'))
      await Promise.race([Promise.all(made), waits.promise])
    }
    await make('look')
    await make('mine', 'mail')
    return { parts: words('three calls') }
  },
}

function rigOf(script: Script, over: RigOptions = {}, held = hold(), more: readonly Tool[] = []) {
  const tools = [
    tool({ ...declared, name: 'look', readOnly: true, trust: 'trusted', run: () => ({ found: 3 }) }),
    tool({ ...declared, name: 'pay', trust: 'trusted', run: () => 'paid' }),
    tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' }),
    tool({
      ...declared,
      name: 'slow',
      trust: 'trusted',
      timeoutMs: 1000,
      run: async () => {
        held.begin()
        await held.wait
        return 'at last'
      },
    }),
  ]
  return makeRig({ tools: [...tools, ...more], script, world: counted(), ...over })
}

const decide = (session: Session, name: string, over: object) => {
  const callId =
    session.state.batch.find(each => each.part.name === name && each.stage === 'asking')?.part.id ?? ''
  return { callId, by: owner, granted: true, ...over }
}

const sessions: Record<
  string,
  { about: string; play(): Promise<{ session: Session; engine: OpenSessions }> }
> = {
  'hidden-arguments': {
    about:
      'Arguments that were redacted, with the exact ones sealed beside them; a person puts in others, redacted too.',
    async play() {
      const redact = [{ name: 'number', pattern: '[0-9]{6}' }]
      const calls = [call('pay', 111_111), call('mail', 222_222)]
      const rig = rigOf([{ calls }, { text: 'Done.' }], { gate: { redact } })
      const session = await begin(rig)
      await say(session, 'Pay, then write to Bo.')
      const decisions = [decide(session, 'mail', { edit: '{"n":333333}' })]
      await until(session, () => session.respond({ results: [], decisions }))
      return { session, engine: rig.engine }
    },
  },
  policy: {
    about:
      'Rules of one version, which deny and allow, with shadow rules beside them that would decide otherwise.',
    async play() {
      const steps = [{ calls: [call('look'), call('pay')] }, { text: 'Done.' }]
      const gate = {
        rules: [
          { name: 'no-pay', tool: 'pay', then: 'deny' as const, reason: 'Nothing is paid here.' },
          { name: 'look', tool: 'look', then: 'allow' as const },
        ],
        shadow: [{ name: 'careful', tool: 'look', then: 'ask' as const, reason: 'Somebody should see it.' }],
      }
      const rig = rigOf(steps, { gate })
      const session = await begin(rig)
      await say(session, 'Pay')
      return { session, engine: rig.engine }
    },
  },
  budgets: {
    about: 'A budget of the session that a person lets grow once, and not a second time.',
    async play() {
      const usage = { input: 90, output: 10, cost: 1 }
      const steps = [1, 2, 3].map(() => ({ calls: [call('look')], usage }))
      const rig = rigOf(steps, { agent: { budgets: { session: { money: 1, then: 'ask' } } } })
      const session = await begin(rig)
      await say(session, 'Look around.')
      for (const action of ['accept', 'decline'] as const) {
        const question = session.state.batch[0]?.questions?.[0]?.id ?? ''
        const answers = [{ question, action, by: owner, ...(action === 'accept' && { content: {} }) }]
        await until(session, () => session.respond({ results: [], decisions: [], answers }))
      }
      return { session, engine: rig.engine }
    },
  },
  approvers: {
    about:
      'A call that two people of a role have to allow: one who may not tries, one votes, another changes the arguments, a vote each for these; and a remembered permission of such people.',
    async play() {
      const approvers = { roles: ['finance'], notRequester: true, quorum: 2 }
      const rules = [{ tool: 'mail', then: 'ask' as const, approvers }]
      const steps = [{ calls: [call('mail')] }, { calls: [call('mail')] }, { text: 'Sent.' }]
      const rig = rigOf(steps, { gate: { rules } })
      const session = await begin(rig)
      await until(session, () => session.say({ parts: words('Write.'), wire: 'test', requesters: ['kim'] }))
      const by = (name: string, over: object = {}) => {
        const people = [{ name, roles: ['finance'] }]
        const seen = session.state.batch[0]?.argsHash ?? ''
        const decisions = [decide(session, 'mail', { people, seen, remember: true, ...over })]
        return runCommand(session, { do: 'respond', results: [], decisions })
      }
      await by('kim').catch(() => {})
      await by('ben')
      await by('eve', { edit: '{"n":2}' })
      await until(session, () => by('ben'))
      return { session, engine: rig.engine }
    },
  },
  claimed: {
    about: 'A call of the application that one of its clients claims, and another answers.',
    async play() {
      const rig = rigOf([{ calls: [call('mine')] }, { text: 'Done.' }])
      const session = await begin(rig, { clientTools: [clientTool('mine')] })
      await say(session, 'Ask the application.')
      const callId = session.state.batch[0]?.part.id ?? ''
      await runCommand(session, { do: 'claim', callId, by: 'tab one', forMs: 1000 })
      const results = [{ callId, parts: words('done') }]
      await until(session, () => session.respond({ results, decisions: [] }))
      return { session, engine: rig.engine }
    },
  },
  expired: {
    about: 'A question that is not answered in time, and is then refused.',
    async play() {
      const rules = [{ tool: 'mail', then: 'ask' as const, expiresInMs: 5 }]
      const rig = rigOf([{ calls: [call('mail')] }, { text: 'Not sent.' }], { gate: { rules } })
      const session = await begin(rig)
      await say(session, 'Write to Bo.')
      while (!session.state.batch[0]?.expired) await new Promise(resolve => setTimeout(resolve, 5))
      await until(session, () =>
        session.respond({ results: [], decisions: [decide(session, 'mail', { granted: false })] }),
      )
      return { session, engine: rig.engine }
    },
  },
  'mixed-batch': {
    about:
      'Calls of every side and fate in one answer; an edit, a denial, a partial submission, a request key.',
    async play() {
      const calls = [call('mine'), call('mail', 1), call('mail', 2), call('look'), call('none')]
      const bad = { name: 'look', text: '{"n":"x"}' }
      const usage = { input: 12, output: 7 }
      const rig = rigOf([
        { thinking: 'Hm.', text: 'Let me see.', calls: [...calls, bad], usage },
        { text: 'Done.' },
      ])
      const session = await begin(rig, { clientTools: [clientTool('mine')] })
      const request = { key: 'k1', hash: 'h1' }
      await until(session, () => session.say({ parts: words('go'), wire: 'test', request }))
      const mine = session.state.batch.find(each => each.stage === 'handed')?.part.id ?? ''
      await until(session, () =>
        session.respond({ results: [{ callId: mine, parts: words('from the app') }], decisions: [] }),
      )
      const edited = decide(session, 'mail', { edit: '{"n":9}' })
      await until(session, () => session.respond({ results: [], decisions: [edited] }))
      const denied = decide(session, 'mail', { granted: false, reason: 'not now' })
      await until(session, () => session.respond({ results: [], decisions: [denied] }))
      return { session, engine: rig.engine }
    },
  },
  interrupted: {
    about:
      'A turn that is cancelled inside a tool whose result comes late, one that is abandoned, one whose model fails.',
    async play() {
      const held = hold()
      const fail = { code: 'model_failed' as const, message: 'overloaded' }
      const rig = rigOf([{ calls: [call('slow')] }, { calls: [call('mail')] }, { fail }], {}, held)
      const session = await begin(rig)
      const first = until(session, () => session.say({ parts: words('one'), wire: 'test' }))
      await held.begun
      await session.cancel()
      await first
      held.open()
      await session.driver.settle()
      await say(session, 'two')
      await say(session, 'three')
      return { session, engine: rig.engine }
    },
  },
  'manual-control': {
    about:
      'Someone takes manual control, answers for the model, changes arguments, answers a call, and releases the session.',
    async play() {
      const rig = rigOf([{ text: 'unused' }, { text: 'By myself again.' }])
      const session = await begin(rig)
      const control = await takeControl(rig, session.id, 'olga')
      await session.say({ parts: words('go'), wire: 'test' })
      const form = 'json' as const
      const calls = ['look', 'pay'].map(name => ({ type: 'call' as const, name, form, text: '{"n":1}' }))
      await control.answerModel({ parts: calls, stop: 'calls' })
      const [looked, paid] = session.state.batch.map(each => each.part.id)
      await control.replaceArguments(looked ?? '', '{"n":2}')
      await control.answerCall(paid ?? '', { parts: words('never mind') })
      await control.perform()
      await control.perform()
      await until(session, () => control.release())
      return { session, engine: rig.engine }
    },
  },
  asks: {
    about:
      'A request asks something of the model for its turn; the request that answers a call asks something else.',
    async play() {
      const rig = rigOf([{ calls: [call('mine')] }, { text: 'Thanks.' }])
      const session = await begin(rig, { clientTools: [clientTool('mine')] })
      const ask = { system: 'Be brief.', maxCalls: 3, choice: 'required' as const }
      await until(session, () => session.say({ parts: words('go'), wire: 'test', ask }))
      const callId = session.state.batch[0]?.part.id ?? ''
      const results = [{ callId, parts: words('done') }]
      await until(session, () => session.respond({ results, decisions: [], ask: { choice: 'none' } }))
      return { session, engine: rig.engine }
    },
  },
  grants: {
    about:
      'A grant with counted uses, one that is remembered with a decision, one that is revoked; settings that change.',
    async play() {
      const rig = rigOf([
        { calls: [call('mail')] },
        { text: 'Remembered.' },
        { calls: [call('mail')] },
        { text: 'Allowed.' },
      ])
      const session = await begin(rig)
      await say(session, 'first')
      const remembered = decide(session, 'mail', { remember: true })
      await until(session, () => session.respond({ results: [], decisions: [remembered] }))
      await session.configure({ tools: [{ name: 'mail', trust: false }] })
      const toolHash = [...session.state.grants.values()][0]?.toolHash ?? ''
      await session.grant({ tool: 'mail', toolHash, by: owner, usesLeft: 2 })
      await say(session, 'second')
      const [first] = session.state.grants.keys()
      await session.revoke(first ?? '', owner)
      return { session, engine: rig.engine }
    },
  },
  'started-at-once': {
    about:
      'Calls that are judged and started by one event: by trust, by a grant of counted uses, again after a failure; and one that policy took its time over.',
    async play() {
      const flaky = tool({
        ...declared,
        name: 'flaky',
        readOnly: true,
        retries: 1,
        trust: 'trusted',
        run: (_, { attempt }) => {
          if (attempt === 1) throw new Error('not yet')
          return 'at last'
        },
      })
      const mail = tool({ ...declared, name: 'mail', trust: 'ask', run: () => 'sent' })
      const wire = tool({ ...declared, name: 'wire', trust: 'ask', run: () => 'sent' })
      const rules = [{ tool: 'wire', then: 'allow' as const, when: () => Promise.resolve(true) }]
      const names = ['flaky', 'mail', 'mail', 'wire']
      const rig = makeRig({
        tools: [flaky, mail, wire],
        gate: { rules },
        script: [{ calls: names.map((name, n) => call(name, n)) }, { text: 'All sent.' }],
        world: counted(),
      })
      const session = await begin(rig)
      await session.grant({ tool: 'mail', toolHash: toolHash(mail), by: owner, usesLeft: 2 })
      await say(session, 'go')
      return { session, engine: rig.engine }
    },
  },
  crashed: {
    about: 'A process that went away in mid-turn: one call may have happened, the other was done again.',
    async play() {
      const store = memoryStore()
      const world = counted()
      const held = hold()
      const again = {
        name: 'again',
        description: 'Repeatable.',
        input: numbered,
        idempotent: true,
        trust: 'trusted',
      } as const
      const tools = [
        tool({ ...declared, name: 'pay', trust: 'trusted', run: () => held.wait.then(() => 'x') }),
        tool({
          ...again,
          run: async () => {
            held.begin()
            await held.wait
          },
        }),
      ]
      const script = [{ calls: [call('pay'), call('again')] }, { text: 'Recovered.' }]
      const before = await begin(makeRig({ tools, script, store, world }))
      await before.say({ parts: words('go'), wire: 'test' })
      await held.begun
      const after = makeRig({
        tools: [tools[0]!, tool({ ...again, run: () => 'done again' })],
        script,
        store,
        world,
      })
      const session = await after.engine.open(owner, before.id)
      await session.driver.settle()
      await session.flushed()
      return { session, engine: after.engine }
    },
  },
  questions: {
    about:
      'Running calls ask people: a form is answered, an address is declined, a question expires, and one is withdrawn with its call.',
    async play() {
      const schema = { type: 'object' as const, properties: { n: { type: 'integer' } }, required: ['n'] }
      const asking = (name: string, ask: (context: ToolContext) => Promise<unknown>) =>
        tool({
          ...declared,
          name,
          trust: 'trusted',
          run: async (_, context) => JSON.stringify(await ask(context)),
        })
      const tools = [
        asking('form', ({ ask }) => ask({ message: 'How many?', schema })),
        asking('address', ({ ask }) => ask({ message: 'Sign in.', url: 'https://shop.example/login' })),
        asking('late', ({ ask }) => ask({ message: 'Still there?', schema }, { expiresInMs: 3 })),
        asking('gone', ({ ask }) => ask({ message: 'Never answered?', schema })),
      ]
      const names = ['form', 'address', 'late', 'gone']
      const rig = makeRig({ tools, script: [{ calls: names.map(name => call(name)) }], world: counted() })
      const session = await begin(rig)
      await say(session, 'go')
      const idOf = (name: string): string =>
        session.state.batch.find(each => each.part.name === name)?.questions?.[0]?.id ?? ''
      while (session.state.batch[2]?.stage !== 'settled') await new Promise(resolve => setTimeout(resolve, 5))
      const answers = [
        { question: idOf('form'), action: 'accept' as const, content: { n: 3 }, by: 'olga' },
        { question: idOf('address'), action: 'decline' as const, by: 'olga' },
      ]
      await session.respond({ results: [], decisions: [], answers })
      while (session.state.batch.filter(({ stage }) => stage === 'settled').length < 3)
        await new Promise(resolve => setTimeout(resolve, 5))
      await session.cancel()
      return { session, engine: rig.engine }
    },
  },
  postponed: {
    about:
      'Results that come later: one is given, with details; one never comes; one is cancelled with its turn.',
    async play() {
      const names = ['given', 'missed', 'left']
      const tools = names.map(name =>
        tool({
          ...declared,
          name,
          trust: 'trusted',
          run: () => later({ expires: name === 'missed' ? 5 : 1_000_000 }),
        }),
      )
      const script = [{ calls: names.map(name => call(name)) }]
      const rig = makeRig({ tools, script, world: counted() })
      const session = await begin(rig)
      await say(session, 'go')
      const idOf = (name: string): string =>
        session.state.batch.find(each => each.part.name === name)?.part.id ?? ''
      const output = { parts: words('At last.'), details: { rows: 3 } }
      const ref = { owner, session: session.id }
      await rig.local.command(ref, { do: 'complete', callId: idOf('given'), output })
      while (session.state.batch.filter(({ stage }) => stage === 'settled').length < 2)
        await new Promise(resolve => setTimeout(resolve, 5))
      await session.cancel()
      return { session, engine: rig.engine }
    },
  },
  hooks: {
    about: 'A hook replaced the arguments of one call, refused another, and withheld the result of a third.',
    async play() {
      const rig = rigOf([{ calls: [call('look'), call('pay'), call('mail')] }, { text: 'Done.' }], {
        hooks: {
          beforeCall: ({ tool: name }) =>
            name === 'look' ? { input: { n: 2 } } : name === 'pay' ? { refuse: 'not today' } : undefined,
          afterCall: ({ tool: name }) => (name === 'look' ? { refuse: 'private' } : undefined),
        },
      })
      const session = await begin(rig)
      await say(session, 'go')
      const decisions = [decide(session, 'mail', {})]
      await until(session, () => session.respond({ results: [], decisions }))
      return { session, engine: rig.engine }
    },
  },
  'kept-output': {
    about: 'An output that is kept in the store, with a preview, and a part of it that the model reads.',
    async play() {
      const long = tool({
        ...declared,
        name: 'long',
        trust: 'trusted',
        outputLimit: 512,
        async *run() {
          for (let line = 0; line < 100; line += 1) yield `line ${line}\n`
        },
      })
      const script = [{ calls: [call('long')] }, { text: 'Long.' }]
      const rig = rigOf(script, {}, hold(), [long])
      const session = await begin(rig)
      await say(session, 'go')
      return { session, engine: rig.engine }
    },
  },
  'nested-calls': {
    about:
      'A call that makes calls of its own, one after another and two at a time; it is suspended twice, and one of its calls is changed by a person.',
    async play() {
      const rig = rigOf([{ calls: [call('several')] }, { text: 'All done.' }], {}, hold(), [several])
      const session = await begin(rig, { clientTools: [clientTool('mine')] })
      await say(session, 'go')
      const mine = session.state.batch.find(each => each.stage === 'handed')?.part.id ?? ''
      const results = [{ callId: mine, parts: words('from the app') }]
      await until(session, () => session.respond({ results, decisions: [] }))
      const decisions = [decide(session, 'mail', { edit: '{"n":9}' })]
      await until(session, () => session.respond({ results: [], decisions }))
      return { session, engine: rig.engine }
    },
  },
  agents: {
    about: 'An agent asks another one, whose call a person allows here; then it hands the conversation over.',
    play: () => playAgents(counted()),
  },
  'agent-at-work': {
    about: 'The session of an agent that works for a call of another session, within its budget.',
    async play() {
      const { worker, engine } = await playAgents(counted())
      return { session: worker, engine }
    },
  },
  sampled: {
    about: 'A running call asked the model something of its own, which counts to the turn.',
    async play() {
      const asks = tool({
        ...declared,
        name: 'asks',
        trust: 'trusted',
        run: async (_, context) => {
          const messages = [{ role: 'user' as const, parts: words('Which one?') }]
          return (await context.sample({ by: 'notes', messages, maxTokens: 10 })).text
        },
      })
      const rig = rigOf([{ calls: [call('asks')] }, { text: 'That one.' }, { text: 'Done.' }], {}, hold(), [
        asks,
      ])
      const session = await begin(rig)
      await say(session, 'go')
      return { session, engine: rig.engine }
    },
  },
  signed: {
    about: 'A log that is signed after its turn: a call that policy allowed, and one that a person allowed.',
    async play() {
      const key = deriveSigningKey('the secret of a transcript, no more', 'transcript')
      const receipts = { current: () => ({ key: key.x, sign: makeSigner(key) }), newSalt: () => 'salt' }
      const rig = rigOf([{ calls: [call('pay'), call('mail')] }, { text: 'Done.' }], { receipts })
      const session = await begin(rig)
      await say(session, 'go')
      const decisions = [decide(session, 'mail', {})]
      await until(session, () => session.respond({ results: [], decisions }))
      await runCommand(session, { do: 'sign' })
      return { session, engine: rig.engine }
    },
  },
  'signed-votes': {
    about:
      'A log that is signed in the second way, under rules with a version: two people allowed a call, and one of them changed its arguments.',
    async play() {
      const key = deriveSigningKey('the secret of a transcript, no more', 'transcript')
      const receipts = { current: () => ({ key: key.x, sign: makeSigner(key) }), newSalt: () => 'salt' }
      const approvers = { roles: ['finance'], quorum: 2 }
      const rules = [{ name: 'mail', tool: 'mail', then: 'ask' as const, approvers }]
      const rig = rigOf([{ calls: [call('mail')] }, { text: 'Sent.' }], { receipts, gate: { rules } })
      const session = await begin(rig)
      await say(session, 'go')
      const by = (name: string, over: object = {}) => {
        const seen = session.state.batch[0]?.argsHash ?? ''
        const decisions = [decide(session, 'mail', { people: [{ name, roles: ['finance'] }], seen, ...over })]
        return runCommand(session, { do: 'respond', results: [], decisions })
      }
      await by('eve', { edit: '{"n":2}' })
      await until(session, () => by('ben'))
      await runCommand(session, { do: 'sign' })
      return { session, engine: rig.engine }
    },
  },
  'messages-during': {
    about:
      'Messages while a turn is under way: one steers, one is withdrawn, one interrupts the model, one is queued and starts the next turn; and one call is cancelled alone.',
    async play() {
      const [held, spoken] = [hold(), hold()]
      const script: Script = [
        { calls: [call('slow'), call('mail')] },
        { text: 'I begin to say', hang: true, expect: () => void setImmediate(() => spoken.begin()) },
        { text: 'Then this.' },
        { text: 'And the queued one.' },
      ]
      const rig = rigOf(script, {}, held)
      const session = await begin(rig)
      await session.say({ parts: words('go'), wire: 'test' })
      await held.begun
      const during = (text: string, how: 'queue' | 'steer' | 'interrupt') =>
        runCommand(session, { do: 'say', parts: words(text), wire: 'test', during: how })
      await during('use blue', 'steer')
      await during('afterwards, tidy up', 'queue')
      const { message } = await during('never mind', 'queue')
      await runCommand(session, { do: 'withdraw', message: message?.id ?? '', by: owner, reason: 'a slip' })
      const [slow, mail] = session.state.batch.map(each => each.part.id)
      await runCommand(session, { do: 'cancel-call', callId: slow ?? '', by: owner, reason: 'too slow' })
      await session.respond({
        results: [],
        decisions: [{ callId: mail ?? '', granted: true, by: owner }],
      })
      await spoken.begun
      await until(session, () => during('stop, this instead', 'interrupt'))
      held.open()
      await session.flushed()
      return { session, engine: rig.engine }
    },
  },
  doubts: {
    about:
      'Calls that may have taken effect: one is found to have run before it is settled, one is unknown and is found to have run when a person asks, one when the model asks; and a call is undone.',
    async play() {
      const answers: ('unknown' | { ran: string })[] = [{ ran: 'receipt 1' }, 'unknown', 'unknown']
      const pay = tool({
        ...declared,
        name: 'pay',
        trust: 'trusted',
        run: async (_input, { refer }) => {
          await refer('payment-1')
          throw new Unanswered('The connection was lost.')
        },
        reconcile: () => answers.shift() ?? { ran: 'receipt 2' },
        undo: () => 'refunded',
      })
      const script: Script = [
        { calls: [call('pay', 1)] },
        { calls: [call('pay', 2)] },
        { calls: [call('pay', 3)] },
        { text: 'Nobody knows.' },
        { calls: [{ name: 'check_call', input: { call: 'call_7' } }] },
        { text: 'It ran.' },
      ]
      const rig = makeRig({ tools: [pay], script, world: counted() })
      const session = await begin(rig)
      await say(session, 'go')
      const [second = ''] = Object.keys(session.state.doubts ?? {})
      await runCommand(session, { do: 'reconcile', callId: second, by: owner })
      await say(session, 'and the other?')
      await until(session, () => runCommand(session, { do: 'undo', callId: second, by: owner, wire: 'test' }))
      return { session, engine: rig.engine }
    },
  },
  'said-anew': {
    about: 'A message that was changed and said anew; the calls that waited before it were abandoned.',
    async play() {
      const rig = rigOf([{ calls: [call('mail')] }, { text: 'One.' }, { text: 'Two.' }])
      const session = await begin(rig)
      const say = (text: string, key: string) =>
        rig.local.command(
          { owner, session: session.id },
          { do: 'say', parts: words(text), wire: 'test', request: { key, hash: text, again: 'changed' } },
        )
      for (const [text, key] of [
        ['mail it', 'k1'],
        ['never mind', 'k2'],
        ['what now?', 'k2'],
      ] as const)
        await until(session, () => say(text, key))
      return { session, engine: rig.engine }
    },
  },
}

/** Events of a compaction, added to a recorded log. */
function compacted({ log }: Transcript): Transcript {
  const events: Event[] = log.map(({ event }) => event)
  const at = 1_700_000_001_000
  events.push({
    v: 1,
    at,
    type: 'history.compacted',
    replaces: 3,
    entries: [{ role: 'user', parts: words('So far: a batch of calls, all settled.') }],
  })
  events.push({ v: 1, at, type: 'turn.started', turn: 'turn_last', parts: words('and now?'), wire: 'test' })
  return frozen('The mixed batch, summarised for the model; a new turn begins.', events, 'sess_1')
}

/** The log of a payment, and the receipt in the session whose turn it paid for. */
function paid({ log }: Transcript): Record<'payment' | 'receipt', Transcript> {
  const at = 1_700_000_002_000
  const id = 'pay_1'
  const change = { state: 'settled', amount: '300', transaction: '0x01', settledAt: at } as const
  const settings = { tools: [], options: {}, clientTools: [] }
  const reserved: Omit<PaymentRecord, 'hash'> = {
    ...{
      id,
      state: 'reserved',
      open: true,
      kind: 'metered',
      form: 'x402-2',
      agent: 'helper',
      path: '/v1/responses',
    },
    ...{
      payer: '0x0a',
      payTo: '0x0b',
      network: 'eip155:8453',
      asset: '0x0c',
      cap: '1000000',
      validUntil: 1_700_000_600,
    },
    ...{ given: { x402Version: 2 }, asked: { scheme: 'upto' }, price: { inputToken: '1', outputToken: '4' } },
  }
  const recorded = (change: Partial<PaymentRecord>): Event => ({
    v: 1,
    at,
    type: 'payment.recorded',
    payment: id,
    change,
  })
  const events: Event[] = [
    {
      v: 1,
      at,
      type: 'session.created',
      owner: 'wallet:0x0a',
      agent: 'helper',
      wire: 'payments',
      settings,
      seed: [],
    },
    recorded(reserved),
    recorded({ state: 'settling', amount: '300', tries: 1 }),
  ]
  return {
    payment: frozen('A payment that is being settled.', events, 'sess_paid'),
    receipt: frozen(
      'A turn that was paid for.',
      [...log.map(({ event }) => event), recorded(change)],
      'sess_1',
    ),
  }
}

function frozen(about: string, events: readonly Event[], id: string): Transcript {
  const log = events.map((event, index) => ({ seq: index + 1, event }))
  return { about, log, summary: summaryOf(fold(id, log)) }
}

function keep(name: string, transcript: Transcript): void {
  const file = new URL(`./fixtures/${name}.json`, import.meta.url)
  if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(transcript, null, 2)}\n`)
}

for (const [name, { about, ...kind }] of Object.entries(sessions)) {
  const { session, engine } = await kind.play()
  const events = (await engine.events(owner, session.id)).map(({ event }) => event)
  const transcript = frozen(about, events, session.id)
  keep(name, transcript)
  if (name === 'mixed-batch') keep('compacted', compacted(transcript))
  if (name === 'said-anew') for (const [kind, made] of Object.entries(paid(transcript))) keep(kind, made)
}
process.exit(0)
