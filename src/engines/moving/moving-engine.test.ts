// A stream that moves from one engine to another, with engines that give what the test says.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine, FollowItem, FollowOptions } from '../../engine/ports/boundary.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Delta, Event } from '../../language/events.ts'
import { isStopping } from '../socket/index.ts'
import { MovingEngine } from './moving-engine.ts'
import type { Search } from './place.ts'

const ref = { owner: 'ana', session: 's' }

const text = (said: string): FollowItem => ({ type: 'delta', delta: { type: 'text', text: said } })
const step = (number: number): FollowItem => ({
  type: 'delta',
  delta: { type: 'step.started', step: number },
})
const lost: FollowItem = { type: 'lost', error: { code: 'stopping', message: 'It stops.' } }

function event(seq: number, type: 'turn.started' | 'model.answered' | 'call.settled', said = ''): FollowItem {
  const parts = said === '' ? [] : [{ type: 'text', text: said }]
  // Only what the stream looks at.
  return { type: 'event', seq, event: { v: 1, at: 0, type, parts, turn: 't' } as unknown as Event }
}

type Found = readonly FollowItem[] | 'nobody'

/** Finds these engines one after the other. Each gives its items, whatever it is asked. `nobody`: there is none just then. */
class Moves extends MovingEngine {
  readonly asked: FollowOptions[] = []
  /** Per search, the steps that it took. */
  readonly searches: string[][] = []
  readonly #engines: Found[]

  constructor(engines: readonly Found[]) {
    super()
    this.#engines = [...engines]
  }

  protected override locate(): Search {
    const steps: string[] = []
    this.searches.push(steps)
    const find = async () => {
      const items = this.#engines.shift() ?? []
      steps.push(items === 'nobody' ? 'nobody' : 'found')
      if (items === 'nobody') throw new TurnwireError('stopping', 'This one stops, and nobody has it yet.')
      const { asked } = this
      const engine: Pick<Engine, 'follow'> & { summary(): Promise<{ seq: number }> } = {
        summary: async () => ({ seq: 4 }),
        async *follow(_ref, options) {
          asked.push(options)
          for (const item of items) yield [item]
        },
      }
      return {
        engine: engine as unknown as Engine, // The stream uses nothing else of it.
        hasMoved: isStopping,
        hasMovedQuietly: async () => false,
      }
    }
    return { find, again: async () => void steps.push('again'), renew: () => void steps.push('renewed') }
  }
}

async function read(nodes: readonly Found[], options: FollowOptions) {
  const engine = new Moves(nodes)
  const { asked, searches } = engine
  const items: FollowItem[] = []
  for await (const batch of engine.follow(ref, options)) items.push(...batch)
  const said = (delta: Delta): string => ('text' in delta ? delta.text : delta.type)
  const shown = items.map(item => {
    if (item.type === 'event') return `${item.seq} ${item.event.type}`
    return item.type === 'delta' ? said(item.delta) : item.type
  })
  return { shown, asked, searches }
}

const begun = [
  event(2, 'turn.started'),
  step(1),
  text('Look'),
  text('ing.'),
  event(3, 'model.answered', 'Looking.'),
]
const settled = event(4, 'call.settled')

describe('a repeated request whose session moves', () => {
  for (const deltas of ['append', 'take-back', 'fail'] as const)
    test(`gives each delta once (${deltas})`, async () => {
      const { shown, asked } = await read(
        [
          [...begun, lost],
          [...begun, settled, step(2), text('Found'), event(5, 'model.answered', 'Found'), { type: 'ended' }],
        ],
        { from: 2, until: 'stop', replay: true, deltas },
      )
      assert.deepEqual(
        asked.map(({ from }) => from),
        [2, 2],
      )
      assert.deepEqual(shown, [
        '2 turn.started',
        'step.started',
        'Look',
        'ing.',
        '3 model.answered',
        '4 call.settled',
        'step.started',
        'Found',
        '5 model.answered',
        'ended',
      ])
    })

  test('gives the step that was cut off to its end', async () => {
    const { shown } = await read(
      [
        [...begun, settled, step(2), text('Fou'), lost],
        [...begun, settled, step(2), text('Found'), event(5, 'model.answered', 'Found'), { type: 'ended' }],
      ],
      { from: 2, until: 'stop', replay: true, deltas: 'append' },
    )
    assert.equal(shown.filter(each => !/^\d|started|ended/.test(each)).join(''), 'Looking.Found')
  })
})

test('a reader that names no event gets the deltas of the step that runs', async () => {
  const items: FollowItem[] = []
  const options: FollowOptions = { until: 'stop', deltas: 'append' }
  for await (const batch of new Moves([[step(2), text('Found')]]).follow(ref, options)) items.push(...batch)
  assert.deepEqual(items, [step(2), text('Found')])
})

test('a reader that was given something goes on with its search, which knows where not to look', async () => {
  const { shown, searches } = await read(
    [[event(2, 'turn.started'), lost], 'nobody', 'nobody', [settled, { type: 'ended' }]],
    { from: 2, until: 'stop', deltas: 'none' },
  )
  assert.deepEqual(shown, ['2 turn.started', '4 call.settled', 'ended'])
  assert.deepEqual(searches, [
    'found renewed again nobody again nobody again found renewed renewed'.split(' '),
  ])
})
