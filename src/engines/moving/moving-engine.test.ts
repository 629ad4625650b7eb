// A stream that moves from one engine to another, with engines that give what the test says.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine, FollowItem, FollowOptions } from '../../engine/ports/boundary.ts'
import type { Delta, Event } from '../../language/events.ts'
import { isStopping } from '../socket/index.ts'
import { MovingEngine } from './moving-engine.ts'
import type { Find } from './place.ts'

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

/** Finds these engines one after the other. Each gives its items, whatever it is asked. */
class Moves extends MovingEngine {
  readonly asked: FollowOptions[] = []
  readonly #engines: (readonly FollowItem[])[]

  constructor(engines: readonly (readonly FollowItem[])[]) {
    super()
    this.#engines = [...engines]
  }

  protected override locate(): Find {
    return async () => {
      const items = this.#engines.shift() ?? []
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
        leave: async () => {},
      }
    }
  }
}

async function read(nodes: readonly (readonly FollowItem[])[], options: FollowOptions) {
  const engine = new Moves(nodes)
  const { asked } = engine
  const items: FollowItem[] = []
  for await (const batch of engine.follow(ref, options)) items.push(...batch)
  const said = (delta: Delta): string => ('text' in delta ? delta.text : delta.type)
  const shown = items.map(item => {
    if (item.type === 'event') return `${item.seq} ${item.event.type}`
    return item.type === 'delta' ? said(item.delta) : item.type
  })
  return { shown, asked }
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
