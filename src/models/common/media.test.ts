// Pictures and files that tools and people give, on the way to each vendor: what a vendor would refuse (and would refuse
// again in every later request of the session) is mentioned, what it takes is sent under the type of its bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model, ModelRequest } from '../../engine/ports/index.ts'
import type { FilePart, ImagePart } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat, preparedFor } from '../index.ts'
import { acceptedPicture, readInline } from './media.ts'

const bytes = {
  png: 'iVBORw0KGgoAAAANSUhEUg==',
  jpeg: '/9j/4AAQSkZJRgABAQ==',
  gif: 'R0lGODlhAQABAAAAACw=',
  webp: 'UklGRhoAAABXRUJQVlA4TA==',
  heic: 'AAAAGGZ0eXBoZWljAAAAAA==',
  svg: 'PHN2ZyB4bWxucz0iIi8+',
  garbage: 'aGVsbG8gd29ybGQgaGVsbG8=',
} as const

const at = { model: 'm', apiKey: 'k' }
const vendors: [name: string, model: Model, pictures: (keyof typeof bytes)[]][] = [
  ['anthropic', anthropic(at), ['png', 'jpeg', 'gif', 'webp']],
  ['openai-responses', openai(at), ['png', 'jpeg', 'gif', 'webp']],
  ['openai-chat', openaiChat(at), ['png', 'jpeg', 'gif', 'webp']],
  ['gemini', gemini(at), ['png', 'jpeg', 'webp', 'heic']],
  ['gemini-interactions', geminiInteractions(at), ['png', 'jpeg', 'webp', 'heic']],
]

function sent(model: Model, part: ImagePart | FilePart): { body: string; warnings: string[] } {
  const call = { type: 'call', id: 'call_1', name: 'look', form: 'json', text: '{}' } as const
  const outcome = { kind: 'ok', parts: [part], from: { source: 'tool', tool: 'look' } } as const
  const history: Entry[] = [
    { role: 'user', parts: [part] },
    { role: 'assistant', parts: [call] },
    { role: 'tool', results: [{ callId: 'call_1', name: 'look', outcome: { ...outcome, parts: [part] } }] },
  ]
  const request: ModelRequest = {
    session: 's',
    history,
    tools: [],
    choice: 'auto',
    parallel: true,
    options: {},
  }
  const prepared = preparedFor(model, request)
  assert.ok(prepared)
  return prepared
}

for (const [name, model, pictures] of vendors) {
  test(`${name}: a picture is sent with the type of its bytes, in messages and results`, () => {
    for (const kind of pictures) {
      const { body, warnings } = sent(model, { type: 'image', url: `data:image/png;base64,${bytes[kind]}` })
      assert.equal(body.split(bytes[kind]).length, 3, kind)
      assert.equal(body.split(`image/${kind}`).length, 3, kind)
      assert.deepEqual(warnings, [])
    }
  })

  test(`${name}: a picture that the vendor would refuse is mentioned`, () => {
    const others = (Object.keys(bytes) as (keyof typeof bytes)[]).filter(kind => !pictures.includes(kind))
    for (const kind of others)
      for (const declared of ['png', kind === 'svg' ? 'svg+xml' : kind]) {
        const url = `data:image/${declared};base64,${bytes[kind]}`
        const { body, warnings } = sent(model, { type: 'image', url })
        assert.doesNotMatch(body, /base64,|"data"|"inlineData"/, `${kind} as ${declared}`)
        assert.match(body, /\[image\]/)
        assert.match(warnings.join(), /only mentioned/)
      }
  })

  test(`${name}: a PDF is sent as a document, a text as text, and an archive is mentioned`, () => {
    const file = (mediaType: string, text: string): FilePart => ({
      type: 'file',
      mediaType,
      name: 'a.bin',
      url: `data:${mediaType};base64,${Buffer.from(text).toString('base64')}`,
    })
    const pdf = file('application/pdf', '%PDF-1.7 hello')
    assert.ok(sent(model, pdf).body.includes(pdf.url.split(',')[1] ?? '?'))
    const json = file('application/json', '{"answer":42}')
    const read = sent(model, json)
    assert.ok(read.body.includes(json.url.split(',')[1] ?? '?') || read.body.includes('{\\"answer\\":42}'))
    assert.deepEqual(read.warnings, [])
    const zip = sent(model, file('application/zip', 'PK-and-so-on'))
    assert.doesNotMatch(zip.body, /UEst/)
    assert.match(zip.body, /\[file: a\.bin\]/)
    assert.match(zip.warnings.join(), /only mentioned/)
  })
}

test('base64 may have blanks and no padding; anything else is refused', () => {
  const of = (base64: string) => readInline({ type: 'image', url: `data:image/png;base64,${base64}` })
  assert.equal(of('iVBORw0K\nGgoAAAA')?.base64, 'iVBORw0KGgoAAAA=')
  assert.equal(of('iVBO*'), undefined)
  assert.equal(of('iVBOR'), undefined)
  assert.equal(acceptedPicture(of('iVBORw0KGgoAAAA='), new Set(['image/jpeg'])), undefined)
})
