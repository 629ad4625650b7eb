// Gives the space of deleted sessions back.
import { isPostgresUrl } from '../../data/data-place.ts'
import { vacuum } from '../../data/vacuum.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { withProgress } from '../progress.ts'
import { configOption, dataOption, sessionPlace } from '../setup.ts'

export const command: CliCommand = {
  name: 'vacuum',
  usage: '',
  about: `Gives the space of deleted sessions back to the file system. Space that is free in the file is used again by itself, so this is
needed only if many sessions were deleted for good. Stop the server first.`,
  options: { data: dataOption, config: configOption },
  words: 0,
  async run({ values }) {
    const folder = await sessionPlace(values)
    if (isPostgresUrl(folder))
      throw new UsageError('PostgreSQL does this by itself (autovacuum). The command is for a data folder.')
    const { before, after } = await withProgress('Rewriting sessions.db', '', () => vacuum(folder), {
      atOnce: true,
    })
    process.stdout.write(`${folder} has ${kiB(after)} KiB of sessions, and had ${kiB(before)}.\n`)
    return 0
  },
}

function kiB(bytes: number): string {
  return Math.ceil(bytes / 1024).toLocaleString('en')
}
