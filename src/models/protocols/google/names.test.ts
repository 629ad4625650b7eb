// Names that a model made up, or that another vendor allows: both of Google's APIs get them in a spelling that they take,
// the same in each request, for the call and its result alike.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import type { ModelTarget } from '../../protocol.ts'
import { geminiGenerate } from '../gemini/index.ts'
import { geminiInteractions } from '../interactions/index.ts'
import {
  answerOf,
  assistant,
  call,
  entryOf,
  older,
  type Protocol,
  request,
  results,
  rows,
  startTalk,
  target,
  tool,
  user,
} from './harness.test.ts'

const REFUSED_NAMES = ['wipe disk', 'w'.repeat(400), '9lives', 'löschen']
const protocols: Protocol[] = [geminiGenerate, geminiInteractions]
const targets: ModelTarget[] = [target(), older, target({ stateful: true })]

/** The names of calls and results in a body, in their order. */
function sentNames(body: JsonObject): unknown[] {
  const contents = body['contents']
  if (contents === undefined) return rows(body['input']).flatMap(step => step['name'] ?? [])
  return rows(contents).flatMap(content =>
    rows(content['parts']).flatMap(part => {
      const named = part['functionCall'] ?? part['functionResponse']
      return isJsonObject(named) ? [named['name']] : []
    }),
  )
}

for (const protocol of protocols) {
  for (const name of REFUSED_NAMES) {
    const shown = name.slice(0, 12)
    test(`${protocol.name}: a call of "${shown}" that the model made up goes back in an allowed spelling`, () => {
      for (const to of targets) {
        const talk = startTalk(protocol)
        const ask = (history: Entry[]): [AssistantEntry, JsonObject] => {
          const heard = talk.ask(
            {
              thinking: 'hm',
              calls: [
                { name, input: {} },
                { name: 'read', input: {} },
              ],
            },
            request({ history }),
            to,
          )
          return [entryOf(answerOf(heard)), heard.body]
        }
        const [first] = ask([user('go')])
        assert.equal(first.parts.find(part => part.type === 'call')?.name, name)
        const before = [user('go'), first, results(first)]
        const [second, body] = ask(before)
        const [called] = sentNames(body)
        assert.match(String(called), /^[a-zA-Z_][\w.:-]{0,63}$/)
        assert.deepEqual(sentNames(body), [called, 'read', called, 'read'])
        const [, later] = ask([...before, second, results(second)])
        assert.deepEqual(sentNames(later).slice(-4), [called, 'read', called, 'read'])
      }
    })
  }

  test(`${protocol.name}: a respelled name of another vendor's history never becomes that of an offered tool`, () => {
    const entry = assistant(call('c1', 'wipe disk'))
    const history = [user('go'), entry, results(entry)]
    const ask = (over: Partial<ModelRequest>): unknown[] => {
      const asked = request({ history, ...over })
      assert.deepEqual(startTalk(protocol).judge(asked), [])
      return sentNames(JSON.parse(protocol.prepare(asked, target()).body) as JsonObject) // a body is an object
    }
    const [spelling] = ask({})
    assert.notEqual(spelling, 'wipe_disk')
    const [other] = ask({ tools: [tool(String(spelling))] })
    assert.notEqual(other, spelling)
    const { reading } = protocol.prepare(request({ tools: [tool('wipe disk')] }), target())
    assert.deepEqual([...reading.names], [[spelling, 'wipe disk']])
  })
}
