// Shows the request that a session would send next, to any of the vendors: the body on standard output, exactly as it
// would be sent, and the rest on standard error. Nothing is sent and no key is read.

import { present } from '../../lib/json/present.ts'
import { printable, printableJson } from '../../lib/text/index.ts'
import { findSession, visitSessions } from '../../library/visit.ts'
import { modelApis, prepareSession } from '../../server/prepare.ts'
import { type CliCommand, knownWord, textValue, UsageError, type Values } from '../command.ts'
import { configOption, dataOption, noSuchSession, sessionPlace, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'prepare',
  usage: '<session> [--as <vendor>] [--model <name>] [--say <text>] [--pretty]',
  about: `Prints the body of the request that a session would send next, and on standard error the path, the headers
without any secret, and what could not be said to that vendor. It needs no key and sends nothing.
Vendors: ${modelApis.join(', ')}. Default: the session's own model.`,
  options: {
    as: { type: 'string', value: '<vendor>', help: 'In the form of this vendor' },
    model: { type: 'string', value: '<name>', help: 'With --as: the vendor\u2019s name of the model' },
    say: { type: 'string', value: '<text>', help: 'What the user says next. Default: a stand-in' },
    pretty: { type: 'boolean', help: 'Indent the body' },
    data: dataOption,
    config: configOption,
  },
  words: 1,
  async run({ values, words: [id] }) {
    if (id === undefined)
      throw new UsageError('Say which session: turnwire prepare <id>. See them with: turnwire sessions list')
    const { path, headers, body, warnings } = await preparedSession(values, id)
    process.stderr.write(`POST ${printable(path)}\ncontent-type: application/json\n`)
    for (const [name, value] of Object.entries(headers))
      process.stderr.write(`${name}: ${printable(value)}\n`)
    for (const warning of warnings) process.stderr.write(`warning: ${printable(warning, 1000)}\n`)
    const text = values['pretty'] === true ? JSON.stringify(JSON.parse(body), null, 2) : body
    process.stdout.write(`${printableJson(text)}\n`)
    return 0
  },
}

export async function preparedSession(values: Values, id: string) {
  const given = textValue(values, 'as')
  const as =
    given === undefined
      ? undefined
      : knownWord(given, modelApis, `"${printable(given, 80)}" is no vendor's API.`)
  const model = textValue(values, 'model')
  if (model !== undefined && as === undefined) throw new UsageError('--model needs --as <vendor>.')
  const place = await sessionPlace(values)
  const { config } = await setUp(values)
  return visitSessions(place, config, async engine => {
    const session = await findSession(engine, id)
    if (!session) throw noSuchSession(id)
    return prepareSession(engine, session, config, present({ as, model, say: textValue(values, 'say') }))
  })
}
