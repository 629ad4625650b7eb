// Readers that come at every instant of a turn: before it, between any two deltas, while events are on their way to the
// store, while a call runs or waits, after the end, and after a restart. On every wire each of them sees what the first
// reader saw, under the same numbers. The model, the store and the tools go on one step at a time, so that an instant is a
// count of steps and no time.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type {
  Command,
  FollowItem,
  FollowOptions,
  Model,
  ModelAnswer,
  ModelDelta,
  SessionRef,
  Store,
} from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Delta } from '../../src/language/events.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { EventFrames } from '../../src/wires/aap/encode-events.ts'
import { turnFrames } from '../../src/wires/aap/encode-turn.ts'
import { runFrames as aguiFrames } from '../../src/wires/agui/encode.ts'
import { runFrames as jobFrames } from '../../src/wires/deltakit/encode-run.ts'
import { wholeRun } from '../../src/wires/deltakit/serve.ts'
import type { FrameEncoder } from '../../src/wires/http/stream.ts'
import { responseId } from '../../src/wires/responses/ids.ts'
import {
  findResponse,
  itemsRead,
  type StoredResponse,
  storedEncoder,
} from '../../src/wires/responses/stored-log.ts'
import { messageFrames } from '../../src/wires/ui/encode.ts'
import { makeRig, owner, type Rig, stopAll } from '../engine/rig.ts'

after(stopAll)

/** The session's first event makes it, the second accepts the request. */
const first = 2

// ---- one step at a time -----------------------------------------------------------------------------------------

class Steps {
  #waiting: (() => void)[] = []

  /** Resolves when it is this one's turn to go on. */
  pass(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Lets the one that has waited longest go on. False: nothing waits. */
  go(): boolean {
    const next = this.#waiting.shift()
    next?.()
    return next !== undefined
  }
}

/** Until everything that can go on without a step has gone on. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 8; turns += 1) await new Promise(resolve => setImmediate(resolve))
}

type Answer = { deltas: ModelDelta[]; answer: ModelAnswer | TurnwireError }

function steppedModel(steps: Steps, answers: readonly Answer[]): Model {
  let asked = 0
  return {
    id: 'stepped',
    async respond(_request, watch) {
      const { deltas, answer } = answers[asked++] ?? { deltas: [], answer: said('over') }
      for (const delta of deltas) {
        await steps.pass()
        watch(delta)
      }
      await steps.pass()
      if (answer instanceof TurnwireError) throw answer
      return answer
    },
  }
}

function steppedStore(steps: Steps, store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'append') return member.bind(target)
      return async (...given: unknown[]) => {
        await steps.pass()
        return member.apply(target, given)
      }
    },
  })
}

function said(text: string): ModelAnswer {
  return { parts: [{ type: 'text', text }], stop: 'end' }
}

// ---- readers ----------------------------------------------------------------------------------------------------

type Reader = {
  wire: string
  /** `late`: the client repeats its request, or asks for the rest. */
  options(late: boolean): FollowOptions
  encoder(rig: Rig, ref: SessionRef): FrameEncoder<FollowItem> | Promise<FrameEncoder<FollowItem>>
  /** The items of a turn that is over, for a wire that reads them without `follow`. */
  whenOver?(rig: Rig, ref: SessionRef): Promise<FollowItem[] | undefined>
  /** What it sees of what the reader before it in the list sees. */
  sees?(whole: Block[]): Block[]
  /** Deltas may be cut elsewhere: what they say together counts. */
  merges?: true
}

const resumedAfter = 2

const stop = (deltas: FollowOptions['deltas']) => (late: boolean) =>
  ({ from: first, until: 'stop', replay: late, deltas }) satisfies FollowOptions

/** Before the request is accepted there is nothing to find. */
async function response({ local }: Rig, ref: SessionRef): Promise<StoredResponse> {
  const unread = { waited: [], suspended: [], settings: { clientTools: [] }, events: [], over: false }
  const found = await findResponse(
    { engine: local, owner },
    responseId({ session: ref.session, first }),
  ).catch(() => ({
    ...{ ref, first, agent: 'helper', ask: {} },
    ...unread,
  }))
  return { ...found, createdAt: 0 }
}

const readers: Reader[] = [
  { wire: 'DeltaKit', options: () => wholeRun(first), encoder: () => jobFrames(-1) },
  {
    wire: 'DeltaKit, resumed',
    options: () => wholeRun(first),
    encoder: () => jobFrames(resumedAfter),
    sees: whole => whole.filter(({ id = '99' }) => Number(id) > resumedAfter),
  },
  {
    wire: 'Responses',
    options: stop('fail'),
    merges: true,
    encoder: async (rig, ref) => storedEncoder([], await response(rig, ref), -1),
    whenOver: async (rig, ref) => {
      const read = await response(rig, ref)
      return read.over ? itemsRead(read) : undefined
    },
  },
  { wire: 'AAP delta', options: stop('append'), merges: true, encoder: () => turnFrames('delta') },
  { wire: 'AAP message', options: stop('none'), merges: true, encoder: () => turnFrames('message') },
  {
    wire: 'AAP events',
    options: () => ({ from: first, until: 'never', deltas: 'none' }),
    encoder: () => new EventFrames(undefined),
  },
  {
    wire: 'AG-UI',
    options: stop('take-back'),
    merges: true,
    encoder: () => {
      const before = { calls: [] }
      const own = new Set<string>()
      const run = { threadId: 't', runId: 'r', version: '1.0', messages: [], own, before } as const
      return aguiFrames({ ...run, messages: [], seal: value => JSON.stringify(value) })
    },
  },
  {
    wire: 'AI SDK',
    options: stop('take-back'),
    merges: true,
    encoder: () => messageFrames({ own: new Set() }),
  },
]

async function readAll(rig: Rig, ref: SessionRef, reader: Reader, late: boolean, over: AbortSignal) {
  const encoder = await reader.encoder(rig, ref)
  let frames = encoder.begin?.() ?? ''
  const items = await reader.whenOver?.(rig, ref)
  for (const item of items ?? []) frames += encoder.take(item)
  if (!items)
    for await (const batch of rig.local.follow(ref, reader.options(late), over))
      for (const item of batch) frames += encoder.take(item)
  return blocks(frames + (encoder.end?.() ?? ''), reader.merges)
}

type Block = { id?: string; event?: string; data: unknown }

function blocks(frames: string, merges = false): Block[] {
  const all: Block[] = []
  for (const frame of frames.split('\n\n').filter(text => text !== '')) {
    const line = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
    const text = line('data') ?? ''
    const [id, event] = [line('id'), line('event')]
    const block: Block = {
      ...(id !== undefined && { id }),
      ...(event !== undefined && { event }),
      data: text.startsWith('{') ? JSON.parse(text) : text,
    }
    if (!(merges && mergedInto(all.at(-1), block))) all.push(block)
  }
  return all
}

/** One number per character: the merged delta has the number of its last one. */
function mergedInto(last: Block | undefined, { event, data }: Block): boolean {
  const [before, here] = [deltaOf(last?.data), deltaOf(data)]
  if (!last || !before || !here || last.event !== event) return false
  if (JSON.stringify(before.others) !== JSON.stringify(here.others)) return false
  last.data = { ...(data as object), [here.name]: before.text + here.text }
  return true
}

function deltaOf(data: unknown): { name: string; text: string; others: object } | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { sequence_number: _, ...members } = data as Record<string, unknown>
  for (const name of ['delta', 'inputTextDelta']) {
    const { [name]: text, ...others } = members
    if (typeof text === 'string') return { name, text, others }
  }
  return undefined
}

// ---- turns ------------------------------------------------------------------------------------------------------

type Turn = {
  name: string
  answers: Answer[]
  /** A command that is sent once the model has said so much. */
  then?: { after: string; command: Command }
  approves?: true
}

const pieces = (type: 'text' | 'thinking', text: string): ModelDelta[] =>
  [...(text.match(/.{1,7}/gs) ?? [])].map(piece => ({ type, text: piece }))

const call = (name: string): ModelAnswer['parts'][number] => ({
  type: 'call',
  name,
  form: 'json',
  text: '{}',
})
const calling = (name: string): ModelDelta[] => [
  { type: 'call', index: 0, name, form: 'json' },
  { type: 'arguments', index: 0, text: '{' },
  { type: 'arguments', index: 0, text: '}' },
]

const last: Answer = {
  deltas: pieces('text', 'It was found at last. '),
  answer: said('It was found at last. '),
}

const long = 'many words of one long answer that goes on and on '.repeat(10)

const turns: Turn[] = [
  {
    name: 'with more deltas than are kept in memory, and a step after them',
    answers: [
      {
        deltas: [...pieces('text', long), ...calling('search')],
        answer: { parts: [{ type: 'text', text: long }, call('search')], stop: 'calls' },
      },
      last,
    ],
  },
  {
    name: 'with thinking, a call and an answer',
    answers: [
      {
        deltas: [
          ...pieces('thinking', 'let me see now'),
          ...pieces('text', 'Looking. '),
          ...calling('search'),
        ],
        answer: {
          parts: [
            { type: 'thinking', text: 'let me see now' },
            { type: 'text', text: 'Looking. ' },
            call('search'),
          ],
          stop: 'calls',
        },
      },
      last,
    ],
  },
  {
    name: 'that speaks in two phases, with thinking between them',
    answers: [
      {
        deltas: [
          { type: 'text', text: 'First a ', phase: 'commentary' },
          { type: 'text', text: 'remark. ', phase: 'commentary' },
          { type: 'thinking', text: 'hm, so ' },
          { type: 'thinking', text: 'it is' },
          { type: 'text', text: 'Then ', phase: 'final_answer' },
          { type: 'text', text: 'the answer.', phase: 'final_answer' },
        ],
        answer: {
          parts: [
            { type: 'text', text: 'First a remark. ', phase: 'commentary' },
            { type: 'thinking', text: 'hm, so it is' },
            { type: 'text', text: 'Then the answer.', phase: 'final_answer' },
          ],
          stop: 'end',
        },
      },
    ],
  },
  {
    name: 'that waits for an approval',
    approves: true,
    answers: [
      {
        deltas: [...pieces('text', 'May I? '), ...calling('mail')],
        answer: { parts: [{ type: 'text', text: 'May I? ' }, call('mail')], stop: 'calls' },
      },
      last,
    ],
  },
  {
    name: 'that is cancelled while the model speaks',
    answers: [
      {
        deltas: [...pieces('thinking', 'what a long thought this is'), ...pieces('text', 'So it begins and')],
        answer: said('never'),
      },
    ],
    then: { after: 'begins', command: { do: 'cancel' } },
  },
  {
    name: 'that is cancelled while the model thinks',
    answers: [{ deltas: pieces('thinking', 'what a long thought this is'), answer: said('never') }],
    then: { after: 'thought', command: { do: 'cancel' } },
  },
  {
    name: 'whose model fails while it speaks',
    answers: [
      {
        deltas: [...pieces('thinking', 'all is well'), ...pieces('text', 'One two three fo')],
        answer: new TurnwireError('model_failed', 'The provider is away.'),
      },
    ],
  },
  {
    name: 'whose model answers without a delta',
    answers: [{ deltas: [], answer: said('All at once.') }],
  },
]

type Played = { reads: Read[]; instants: number }
type Read = { instant: number; reader: Reader; seen: Promise<Block[]> }

/** Plays a turn, and lets one reader of each wire come at each instant. `alone`: only at the start and at this instant. */
async function play({ answers, then, approves }: Turn, alone?: number): Promise<Played> {
  const steps = new Steps()
  const store = memoryStore()
  const isLong = (ms: number): boolean => ms >= 1000
  const options = {
    model: steppedModel(steps, answers),
    tools: ['search', 'mail'].map(name =>
      tool({
        name,
        description: 'Waits for its step.',
        input: { type: 'object', properties: {} },
        trust: name === 'mail' ? 'ask' : 'trusted',
        run: async () => {
          await steps.pass()
          return 'done'
        },
      }),
    ),
    world: {
      timer(ms: number, run: () => void) {
        const soon = isLong(ms) ? undefined : setImmediate(run)
        return () => clearImmediate(soon)
      },
    },
  }
  const rig = makeRig({ ...options, store: steppedStore(steps, store) })
  const { session } = await rig.local.create({
    ...{ owner, agent: 'helper', wire: 'test', seed: [] },
    settings: { tools: null, options: {}, clientTools: [] },
  })
  const ref = { owner, session }
  const over = new AbortController()
  const reads: Read[] = []
  const attach = (at: Rig, instant: number): void => {
    for (const reader of readers)
      reads.push({ instant, reader, seen: readAll(at, ref, reader, instant > 0, over.signal) })
  }
  const heard = hear(rig, ref, over.signal)
  const request = { key: 'test-key', hash: 'h' }
  const parts = [{ type: 'text' as const, text: 'go' }]
  const sent: Promise<unknown>[] = [rig.local.command(ref, { do: 'say', wire: 'test', parts, request })]
  let instant = 0
  for (; ; instant += 1) {
    await quiet()
    if (alone === undefined || instant === 0 || instant === alone) attach(rig, instant)
    await quiet()
    if (then && heard().includes(then.after)) {
      sent.push(rig.local.command(ref, then.command))
      then = undefined
    } else if (!steps.go()) {
      const { calls } = await rig.local.summary(ref)
      const asking = approves && calls.find(({ stage }) => stage === 'asking')
      if (!asking) break
      const decisions = [{ callId: asking.part.id, granted: true, by: 'ana' }]
      sent.push(rig.local.command(ref, { do: 'respond', results: [], decisions }))
    }
  }
  await Promise.all(sent)
  attach(makeRig({ ...options, store }), instant + 1)
  await quiet()
  over.abort()
  return { reads, instants: instant }
}

/** The text and thinking that were said so far. Checks that every piece belongs to a step that has begun. */
function hear(rig: Rig, ref: SessionRef, signal: AbortSignal): () => string {
  let text = ''
  const take = (delta: Delta): void => {
    if ('text' in delta && (delta.type === 'text' || delta.type === 'thinking')) text += delta.text
  }
  void (async () => {
    for await (const batch of rig.local.follow(ref, { from: first, until: 'never', deltas: 'raw' }, signal))
      for (const item of batch) if (item.type === 'delta') take(item.delta)
  })()
  return () => text
}

async function checkAlike({ reads }: Played): Promise<void> {
  let expected: Block[] = []
  for (const reader of readers) {
    const own = reads.filter(read => read.reader === reader)
    expected = reader.sees?.(expected) ?? (await own[0]!.seen)
    assert.ok(expected.length > 0, reader.wire)
    for (const { instant, seen } of own)
      assert.deepEqual(await seen, expected, `${reader.wire}, a reader that came at instant ${instant}`)
  }
}

describe('a reader that comes at any instant sees what the first one saw, of a turn', () => {
  for (const turn of turns)
    test(turn.name, async () => {
      const played = await play(turn)
      assert.ok(played.instants > 3, `${played.instants} instants`)
      await checkAlike(played)
    })
})

test('so does a reader that no other has come before, so that nothing of the log is in memory for it', async () => {
  const [turn] = turns
  const { instants } = await play(turn!)
  for (let instant = instants - 12; instant < instants; instant += 1)
    await checkAlike(await play(turn!, instant))
})
