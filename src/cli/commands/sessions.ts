// Looks into the store itself: what was said, what ran, who allowed it. It starts no agent and takes nothing over, so it
// can be used beside a running server.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Recorded } from '../../language/events.ts'
import { printable } from '../../lib/text.ts'
import { openStore } from '../../runtime/turnwire.ts'
import { type Command, columns, textValue, UsageError, type Values } from '../command.ts'
import { configOption, dataFolder, dataOption } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'
import { spentIn, transcriptOf } from '../transcript.ts'

export const sessions: Command = {
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
    const actions: Record<string, Action> = { list, show, events, delete: remove }
    const act = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (!act)
      throw new UsageError(
        `turnwire sessions knows list, show, events and delete, not "${printable(action, 80)}".`,
      )
    if (action !== 'list' && id === undefined)
      throw new UsageError(`Say which: turnwire sessions ${action} <id>`)
    const folder = await dataFolder(values)
    if (!existsSync(join(folder, 'sessions.db')))
      throw new UsageError(`There are no sessions in ${folder}. Name the data folder with --data <folder>.`)
    const { store } = await openStore(folder)
    try {
      await act({ store, folder, values, id: id ?? '' })
      return 0
    } finally {
      await store.close()
    }
  },
}

type Store = Awaited<ReturnType<typeof openStore>>['store']
type Action = (asked: { store: Store; folder: string; values: Values; id: string }) => Promise<void>

const list: Action = async ({ store, folder, values }) => {
  const limit = Number(textValue(values, 'limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw new UsageError('--limit must be a whole number from 1 to 1000.')
  const owner = textValue(values, 'owner')
  const owners = owner === undefined ? await store.owners() : [owner]
  const pages = await Promise.all(owners.map(each => store.list(each, { limit })))
  const rows = pages
    .flatMap(page => page.rows)
    .sort((a, b) => b.createdAt - a.createdAt)
    .slice(0, limit)
  if (values['json'] === true) {
    for (const { summary, ...row } of rows)
      process.stdout.write(`${JSON.stringify({ ...row, opening: summary?.opening })}\n`)
    return
  }
  if (rows.length === 0) process.stdout.write(`There are no sessions in ${folder}.\n`)
  else
    process.stdout.write(
      columns(
        rows.map(row => [
          row.id,
          [
            row.status.padEnd(7),
            new Date(row.updatedAt).toISOString().slice(0, 16).replace('T', ' '),
            `${printable(row.agent, 40)}, ${printable(row.owner, 40)}, ${row.head} events`,
            printable(row.summary?.opening ?? '', 40),
          ]
            .join('  ')
            .trimEnd(),
        ]),
      ),
    )
}

const show: Action = async ({ store, values, id }) => {
  const { row, log } = await found(store, id)
  if (values['json'] === true) {
    process.stdout.write(`${JSON.stringify({ ...row, events: log })}\n`)
    return
  }
  const style = styles(wantsColour(process.stdout))
  process.stdout.write(
    `${style.bold(printable(row.id, 80))}  ${row.status}, agent ${printable(row.agent, 80)}, owner ${printable(row.owner, 80)}\n\n`,
  )
  process.stdout.write(transcriptOf(log, style))
  const spent = spentIn(log)
  if (spent !== '') process.stdout.write(`\n${style.dim(spent)}\n`)
}

const events: Action = async ({ store, id }) => {
  const { log } = await found(store, id)
  for (const recorded of log) process.stdout.write(`${JSON.stringify(recorded)}\n`)
}

const remove: Action = async ({ store, id }) => {
  await found(store, id)
  await store.remove(id)
  process.stdout.write(`${printable(id, 80)} is deleted.\n`)
}

async function found(
  store: Store,
  id: string,
): Promise<{ row: NonNullable<Awaited<ReturnType<Store['row']>>>; log: Recorded[] }> {
  const row = await store.row(id)
  if (!row)
    throw new UsageError(
      `There is no session ${printable(id, 80)} here. See them with: turnwire sessions list`,
    )
  return { row, log: await store.read(id) }
}
