// Copies the data folder, also while a server is at work in it.
import { backUp } from '../../data/backup.ts'
import { defaultFolder, isPostgresUrl } from '../../data/data-place.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { configOption, dataOption, sessionPlace } from '../setup.ts'

export const command: CliCommand = {
  name: 'backup',
  usage: '<folder>',
  about: `Copies the data folder into a new one: sessions, keys, and the key that seals secrets. A server may be at work
meanwhile. To go back, stop the server and start it with --data <folder>, or put the copy in the folder's place.`,
  options: { data: dataOption, config: configOption },
  words: 1,
  async run({ values, words: [to] }) {
    if (to === undefined) throw new UsageError('Say where to: turnwire backup <folder>')
    const from = await sessionPlace(values)
    if (isPostgresUrl(from))
      throw new UsageError(
        `The sessions are in PostgreSQL: back it up with its own tools (docs/operations/postgres.md). Keys and secrets are in ${defaultFolder}.`,
      )
    const files = await backUp(from, to)
    process.stdout.write(`${from} is backed up in ${to}: ${files.join(', ')}.\n`)
    return 0
  },
}
