// Writes whole sessions to a file, as JSON lines.
import { closeSync, openSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { allRows, exportSessions } from '../../data/copies/export.ts'
import { withStore } from '../../data/data-place.ts'
import type { SessionRow, Store } from '../../engine/index.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, textValue, UsageError } from '../command.ts'
import { progressPlace, withProgress } from '../progress.ts'
import { configOption, dataOption, noSuchSession, sessionPlace } from '../setup.ts'

export const command: CliCommand = {
  name: 'export',
  usage: '<file> [--session <id>] [--owner <name>] [--agent <name>]',
  about: `Writes whole sessions to a new file, as JSON lines: their logs, and the results that are kept beside them. A server may
be at work meanwhile; sessions that are at work are left out. The file is not encrypted. Secrets in it stay sealed: to use them
elsewhere, vault.key has to be there too.`,
  options: {
    data: dataOption,
    config: configOption,
    session: { type: 'string', value: '<id>', help: 'Only this session' },
    owner: {
      type: 'string',
      value: '<name>',
      help: 'Only sessions of this owner (the name of a key, or "local")',
    },
    agent: { type: 'string', value: '<name>', help: 'Only sessions that began with this agent' },
  },
  words: 1,
  async run({ values, words: [to] }) {
    if (to === undefined) throw new UsageError('Say where to: turnwire export <file>')
    const [session, owner, agent] = ['session', 'owner', 'agent'].map(name => textValue(values, name))
    const from = await sessionPlace(values)
    makeFile(to)
    try {
      const { sessions, leftOut } = await withStore(from, async store => {
        const file = await open(to, 'w')
        try {
          const done = await withProgress('Exporting', 'sessions', async progress => {
            const total = progressPlace() === 'nowhere' ? 0 : await countRows(store)
            let seen = 0
            const wants = (row: Pick<SessionRow, 'id' | 'owner' | 'agent'>): boolean => {
              progress.step(Math.min(seen++, total), total)
              return (
                row.id === (session ?? row.id) &&
                row.owner === (owner ?? row.owner) &&
                row.agent === (agent ?? row.agent)
              )
            }
            return exportSessions(store, wants, line => file.appendFile(line))
          })
          await file.sync()
          return done
        } finally {
          await file.close()
        }
      })
      if (session !== undefined && sessions + leftOut.length === 0) throw noSuchSession(session)
      process.stdout.write(`${sessions} session${sessions === 1 ? ' is' : 's are'} exported to ${to}.\n`)
      for (const id of leftOut)
        process.stderr.write(`${printable(id, 80)} is at work and was left out. Export it when it rests.\n`)
      return 0
    } catch (error) {
      rmSync(to, { force: true })
      throw error
    }
  },
}

async function countRows(store: Store): Promise<number> {
  let rows = 0
  for await (const _ of allRows(store)) rows += 1
  return rows
}

/** Only for its user: sessions hold what people said. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' // Of a system call.
    throw new UsageError(
      isThere
        ? `${file} is there already. Name another file.`
        : `${file} cannot be written: ${String(error)}`,
    )
  }
}
