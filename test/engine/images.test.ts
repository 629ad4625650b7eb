// Pictures that tools return: within the limits of the session's model, or a text that says why not.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PNG } from 'pngjs'
import type { Model } from '../../src/engine/index.ts'
import type { ResultPart } from '../../src/language/content.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../src/models/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say, stopAll } from './rig.ts'

after(stopAll)

function picture(width: number, height: number): string {
  return `data:image/png;base64,${PNG.sync.write(new PNG({ width, height })).toString('base64')}`
}

async function shownOf(url: string | string[], limits: Partial<Model>): Promise<ResultPart[]> {
  const look = tool({
    name: 'look',
    description: 'd',
    input: { type: 'object' },
    trust: 'trusted',
    run: () => [
      { type: 'text', text: 'Look:' },
      ...[url].flat().map(each => ({ type: 'image' as const, url: each })),
    ],
  })
  const model = { ...scripted([{ calls: [{ name: 'look' }] }, { text: 'ok' }]), ...limits }
  const session = await begin(makeRig({ model, tools: [look] }))
  await say(session, 'go')
  const entry = session.state.entries.find(each => each.role === 'tool')
  assert.ok(entry)
  return entry.results[0]!.outcome.parts
}

test('a large one is scaled to what the model takes, and the model is told', async () => {
  const parts = await shownOf(picture(600, 300), { images: { edge: 200, bytes: 100_000 } })
  assert.equal(parts.length, 3)
  const [, image, note] = parts
  assert.ok(image?.type === 'image')
  const { width, height } = PNG.sync.read(Buffer.from(image.url.split(',')[1]!, 'base64'))
  assert.deepEqual([width, height], [200, 100])
  assert.deepEqual(note, { type: 'text', text: '[the image was scaled from 600 × 300 to 200 × 100 pixels]' })
})

test('one that cannot be scaled is a text that says why', async () => {
  const gif =
    'data:image/gif;base64,R0lGODlhHgAUAIAAAP8AAP///ywAAAAAHgAUAAACFoSPqcvtD6OctNqLs968+w+G4kiW5lkAADs='
  const [, left] = await shownOf(gif, { images: { edge: 10, bytes: 100_000 } })
  assert.match(
    left?.type === 'text' ? left.text : '',
    /^\[image left out: it has 30 × 20 pixels.*gif cannot be scaled/,
  )
})

test('small ones, and those for a model without limits, stay as they are', async () => {
  const url = picture(600, 300)
  for (const limits of [{}, { images: { edge: 600, bytes: 100_000 } }])
    assert.deepEqual((await shownOf(url, limits))[1], { type: 'image', url })
})

test('every vendor has its limits', () => {
  const options = { model: 'm', apiKey: 'k' }
  const edges = [anthropic, gemini, geminiInteractions, openai, openaiChat].map(
    make => make(options).images?.edge,
  )
  assert.deepEqual(edges, [2000, 3072, 3072, 2048, 2048])
})

test('of many large ones in one result the later ones are left out', async () => {
  // Only its header says so: what counts is what would have to be decoded.
  const head = Buffer.from(picture(2, 2).split(',')[1]!, 'base64')
  head.writeUInt32BE(7000, 16)
  head.writeUInt32BE(7000, 20)
  const url = `data:image/png;base64,${head.toString('base64')}`
  const parts = await shownOf([url, url, url, url, url, url], { images: { edge: 100, bytes: 10_000 } })
  const words = parts.map(part => (part.type === 'text' ? part.text : part.type))
  for (const each of words.slice(1, 5)) assert.match(each, /it is too large to be scaled here/)
  for (const each of words.slice(5)) assert.match(each, /have more than 200000000 pixels in all/)
  assert.equal(words.length, 7)
})
