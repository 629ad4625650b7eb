// The search for tools finds what people mean, on a written set of tools and questions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Catalogue } from '../../../src/tools/search/catalogue.ts'
import { questions, writtenTools } from './catalogue.ts'

const catalogue = new Catalogue(writtenTools())
const ranked = (question: string): string[] =>
  catalogue.rank(question).map(({ index }) => catalogue.tools[index]!.name)

for (const { question, wanted, within } of questions)
  test(`"${question}" finds ${wanted} within ${within}`, () => {
    const names = ranked(question)
    const rank = names.indexOf(wanted) + 1
    assert.ok(rank > 0 && rank <= within, `rank ${rank} in: ${names.slice(0, 6).join(', ')}`)
  })

test('a question that shares no word with any tool finds nothing', () => {
  assert.deepEqual(ranked('xylophone quagmire'), [])
  assert.deepEqual(ranked('the of and'), [])
  assert.deepEqual(ranked(''), [])
})

test('names and words of other scripts are found', () => {
  const tools = writtenTools().slice(0, 3)
  const other = new Catalogue([
    ...tools,
    { ...tools[0]!, name: 'kalender', description: 'Erstellt Einträge im Kalender für Besprechungen' },
    { ...tools[0]!, name: 'rili', description: '创建日历事件并邀请参与者' },
  ])
  const first = (question: string): string | undefined =>
    other.tools[other.rank(question)[0]?.index ?? -1]?.name
  assert.equal(first('Eintrage'), 'kalender')
  assert.equal(first('日历事件'), 'rili')
})
