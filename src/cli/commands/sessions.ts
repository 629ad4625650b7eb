// Shows recorded sessions: what was said, what ran, who allowed it. It starts no agent, and uses the engine of a running
// server if there is one.

import { isPostgresUrl } from '../../data/data-place.ts'
import { printable, printableJson } from '../../lib/text/index.ts'
import { type Engine, findSession, readLog, type SessionSummary, visitSessions } from '../../library/visit.ts'
import { type CliCommand, columns, knownAction, textValue, UsageError, type Values } from '../command.ts'
import { configOption, dataOption, noSuchSession, sessionPlace } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'
import { spentIn, writeTranscript } from '../transcript.ts'

export const command: CliCommand = {
  name: 'sessions',
  usage: '[list | show <id> | events <id> | delete <id>] [--json]',
  about: `Looks at the sessions in the data folder.
  list         all sessions of this machine's own owner and of every key, newest first
  show <id>    what was said and done, and who allowed it
  events <id>  the log as it is recorded, one JSON object a line
  delete <id>  removes a session for good`,
  options: {
    data: dataOption,
    config: configOption,
    owner: {
      type: 'string',
      value: '<name>',
      help: 'list: only the sessions of this owner (the name of a key, or "local")',
    },
    limit: { type: 'string', value: '<n>', help: 'list: at most this many. Default 50' },
    json: { type: 'boolean', help: 'Print JSON' },
  },
  words: 2,
  async run({ values, words: [action = 'list', id] }) {
    const actions = { list: listSessions, show: showSession, events: showEvents, delete: deleteSession }
    const act = knownAction('sessions', actions, action)
    if (action !== 'list' && id === undefined)
      throw new UsageError(`Say which: turnwire sessions ${action} <id>`)
    const place = await sessionPlace(values)
    await visitSessions(place, undefined, engine => act({ engine, place, values, id: id ?? '' }))
    return 0
  },
}

type Look = (asked: { engine: Engine; place: string; values: Values; id: string }) => Promise<void>

const listSessions: Look = async ({ engine, place, values }) => {
  const limit = Number(textValue(values, 'limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw new UsageError('--limit must be a whole number from 1 to 1000.')
  const { rows } = await engine.list(textValue(values, 'owner') ?? null, { limit })
  if (values['json'] === true) {
    for (const { summary, ...row } of rows)
      process.stdout.write(`${printableJson(JSON.stringify({ ...row, opening: summary.opening }))}\n`)
    return
  }
  if (rows.length === 0)
    process.stdout.write(`There are no sessions in ${isPostgresUrl(place) ? 'the database' : place}.\n`)
  else
    process.stdout.write(
      columns(
        rows.map(row => [
          row.id,
          [
            (row.leftAlone ? 'left alone' : row.status).padEnd(7),
            new Date(row.updatedAt).toISOString().slice(0, 16).replace('T', ' '),
            `${printable(row.agent, 40)}, ${printable(row.owner, 40)}, ${row.head} events`,
            printable(row.summary.opening ?? '', 40),
          ]
            .join('  ')
            .trimEnd(),
        ]),
      ),
    )
}

const showSession: Look = async ({ engine, values, id }) => {
  const session = await requireSession(engine, id)
  const { owner, agent, status, createdAt, updatedAt, seq: head, leftAlone } = session
  const log = await readLog(engine, { owner, session: id })
  if (values['json'] === true) {
    const row = { id, owner, agent, status, createdAt, updatedAt, head, ...(leftAlone && { leftAlone }) }
    process.stdout.write(`${printableJson(JSON.stringify({ ...row, events: log }))}\n`)
    return
  }
  const style = styles(wantsColour(process.stdout))
  process.stdout.write(
    `${style.bold(printable(id, 80))}  ${status}${leftAlone ? `, left alone (${leftAlone})` : ''}, agent ${printable(agent, 80)}, owner ${printable(owner, 80)}\n\n`,
  )
  process.stdout.write(writeTranscript(log, style))
  const spent = spentIn(log)
  if (spent !== '') process.stdout.write(`\n${style.dim(spent)}\n`)
}

const showEvents: Look = async ({ engine, id }) => {
  const { owner } = await requireSession(engine, id)
  for (const recorded of await readLog(engine, { owner, session: id }))
    process.stdout.write(`${printableJson(JSON.stringify(recorded))}\n`)
}

const deleteSession: Look = async ({ engine, id }) => {
  const { owner } = await requireSession(engine, id)
  await engine.remove({ owner, session: id })
  process.stdout.write(`${printable(id, 80)} is deleted.\n`)
}

async function requireSession(engine: Engine, id: string): Promise<SessionSummary> {
  const session = await findSession(engine, id)
  if (!session) throw noSuchSession(id)
  return session
}
