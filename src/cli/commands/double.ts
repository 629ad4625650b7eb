// Runs a strict stand-in for a vendor's API, which answers from a script and refuses what the real API refuses. For tests of
// a client by hand, or from another language.
import { existsSync, readFileSync } from 'node:fs'
import { wordsOf } from '../../language/errors.ts'
import { printable } from '../../lib/text/index.ts'
import type { Exchange, ScriptedTurn, VendorName } from '../../testing/doubles/index.ts'
import { type CliCommand, knownWord, readPort, textValue, UsageError } from '../command.ts'
import { untilSignalled } from '../guard-process.ts'
import { styles, wantsColour } from '../style.ts'

const vendors: readonly VendorName[] = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'openai-compatible',
  'gemini',
  'gemini-interactions',
]

export const command: CliCommand = {
  name: 'double',
  usage: '<vendor> --script <file> [--port <n>] [--lenient]',
  about: `Serves a stand-in for a model API on 127.0.0.1: it plays the script, and answers what the real API refuses with
the words that the real API uses. Any key will do.
Vendors: ${vendors.join(', ')}`,
  options: {
    script: {
      type: 'string',
      short: 's',
      value: '<file>',
      help: 'The turns to play: a list in YAML or JSON',
    },
    port: {
      type: 'string',
      short: 'p',
      value: '<n>',
      help: 'The port; 0 for any free one. Default: $PORT, else 0',
    },
    lenient: { type: 'boolean', help: 'Let pass what the live API was seen to let pass' },
  },
  words: 1,
  async run({ values, words: [given] }) {
    const vendor = readDoubleVendor(given)
    const file = textValue(values, 'script')
    if (file === undefined) throw new UsageError('Say what it is to play: --script <file>')
    const port = readPort(textValue(values, 'port'), '--port') ?? readPort(process.env['PORT'], 'PORT') ?? 0
    const { startDouble } = await import('../../testing/doubles/index.ts')
    const script = await readScriptFile(file)
    const running = await startDouble({
      vendor,
      script,
      port,
      mode: values['lenient'] === true ? 'lenient' : 'strict',
      log: report,
    })
    process.stdout.write(
      `A strict ${vendor} listens on ${running.url}: ${script.length} turns to play. Ctrl-C stops it.\n`,
    )
    await untilSignalled()
    const refused = running.rejections().length + running.harnessErrors().length
    await running.close()
    process.stdout.write(`\n${running.exchanges.length} requests, ${refused} refused.\n`)
    return refused === 0 ? 0 : 1
  },
}

function readDoubleVendor(given: string | undefined): VendorName {
  if (given === undefined) throw new UsageError(`Say whose API: turnwire double <${vendors.join(' | ')}>`)
  return knownWord(given, vendors, `There is no double of "${printable(given, 80)}".`)
}

async function readScriptFile(file: string): Promise<ScriptedTurn[]> {
  const [{ readScript }, { parse }] = await Promise.all([
    import('../../testing/doubles/index.ts'),
    import('yaml'),
  ])
  if (!existsSync(file)) throw new UsageError(`There is no file ${printable(file, 200)}.`)
  try {
    return readScript(parse(readFileSync(file, 'utf8')), file)
  } catch (error) {
    throw new UsageError(`The script cannot be used: ${wordsOf(error)}`)
  }
}

function report({ method, path, status, turn, rejections, harness }: Exchange): void {
  const { red, green, yellow, dim } = styles(wantsColour(process.stdout))
  const shown = `${printable(method, 20)} ${printable(path, 200)}`
  if (harness !== null) {
    process.stdout.write(`${yellow('script')}   ${shown}  ${printable(harness, 1000)}\n`)
    return
  }
  if (rejections.length === 0) {
    process.stdout.write(
      `${green(String(status))}      ${shown}${turn === null ? '' : dim(`  turn ${turn + 1}`)}\n`,
    )
    return
  }
  process.stdout.write(`${red(String(status))}      ${shown}\n`)
  for (const { rule, message, param } of rejections)
    process.stdout.write(
      `         ${red(rule.padEnd(8))} ${printable(message, 1000)}${param ? dim(` (${printable(param, 200)})`) : ''}\n`,
    )
}
