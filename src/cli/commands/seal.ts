// Writes a session to one HTML file that shows it, checks itself in a browser, and says who allowed what.
import { writeFileSync } from 'node:fs'
import { printable } from '../../lib/text/index.ts'
import { readRedaction, redactable } from '../../proof/redaction.ts'
import { sealLog } from '../../proof/sealed-form.ts'
import { sealedPage } from '../../proof/sealed-page.ts'
import { type CliCommand, textValue, UsageError } from '../command.ts'
import { configOption, dataOption, sessionPlace } from '../setup.ts'
import { signSession, storedLog } from '../signed-log.ts'

export const command: CliCommand = {
  name: 'seal',
  usage: '<session> -o <file.html> [--redact <what>]',
  about: `Writes a session to one file that shows what was said and done, and who allowed it. It checks its signatures in the browser and
loads nothing. Secrets are not in it. Only what is signed is in it, so not a turn that is under way.
--redact leaves out more, and what is left out keeps its digest, so that the rest stays proved: ${redactable.join(', ')},
or events by their numbers, such as 4,7-9. Receipts of calls stay in it: tool, decision, outcome and time, without arguments and results.`,
  options: {
    output: { type: 'string', short: 'o', value: '<file>', help: 'The file to write' },
    redact: {
      type: 'string',
      value: '<what>',
      help: `Leave out: ${redactable.join(', ')}, or numbers of events`,
    },
    data: dataOption,
    config: configOption,
  },
  words: 1,
  async run({ values, words: [session] }) {
    const to = textValue(values, 'output')
    if (session === undefined || to === undefined)
      throw new UsageError('Say which session, and where to: turnwire seal <session> -o <file.html>')
    const asked = textValue(values, 'redact')
    const removes = asked === undefined ? undefined : readRedaction(asked)
    if (asked !== undefined && !removes)
      throw new UsageError(
        `--redact takes ${redactable.join(', ')}, or numbers of events such as 4,7-9; not "${printable(asked, 80)}".`,
      )
    const place = await sessionPlace(values)
    await signSession(place, session)
    const sealed = sealLog(session, await storedLog(place, session), removes)
    if (sealed.log.length === 0)
      throw new UsageError(
        `Nothing of ${printable(session, 80)} is signed, so there is nothing to seal. Set "receipts: true" in the configuration; a log is signed when its turn is over.`,
      )
    try {
      writeFileSync(to, sealedPage(sealed), { flag: 'wx', mode: 0o600 })
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' // Of a system call.
      throw new UsageError(
        isThere ? `${to} is there already. Name another file.` : `${to} cannot be written: ${String(error)}`,
      )
    }
    process.stdout.write(`${sealed.events} events of ${printable(session, 80)} are sealed in ${to}.\n`)
    return 0
  },
}
