// Takes sessions from a file that `turnwire export` wrote.
import { existsSync } from 'node:fs'
import { importSessions } from '../../data/copies/import.ts'
import { isPostgresUrl, withStore } from '../../data/data-place.ts'
import { makePrivateFolder } from '../../data/private-folder.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { withProgress } from '../progress.ts'
import { configOption, databaseName, dataOption, sessionData } from '../setup.ts'

export const command: CliCommand = {
  name: 'import',
  usage: '<file>',
  about: `Takes the sessions of an exported file into the data folder or the database, under their ids and owners. The whole file is checked first:
if anything is missing, changed or unknown, nothing is imported. Sessions that are there already with the same log are left as
they are, so an import that was interrupted can be repeated. A server may be at work meanwhile.`,
  options: { data: dataOption, config: configOption },
  words: 1,
  async run({ values, words: [from] }) {
    if (from === undefined) throw new UsageError('Say what: turnwire import <file>')
    if (!existsSync(from)) throw new UsageError(`There is no file ${from}.`)
    const to = await sessionData(values)
    if (!isPostgresUrl(to)) makePrivateFolder(to)
    const { imported, there } = await withProgress('Importing', 'sessions', progress =>
      withStore(to, store => importSessions(store, from, done => progress.step(done))),
    )
    const place = isPostgresUrl(to) ? databaseName(to) : to
    process.stdout.write(`${imported} imported into ${place}, ${there} there already.\n`)
    return 0
  },
}
