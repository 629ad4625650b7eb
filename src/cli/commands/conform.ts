// Runs the conformance suite at a server: which clauses of each protocol it holds, which it breaks, and which could not be tried.
import {
  clausesOfWire,
  conformConfig,
  conformWires,
  describeConform,
  runConform,
} from '../../conform/index.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, knownWord, printReport, textValue, UsageError, type Values } from '../command.ts'
import { withProgress } from '../progress.ts'

export const command: CliCommand = {
  name: 'conform',
  usage: '<url> | -- <command …> [--wire <name>] [--only <clauses>] [--json]',
  about: `Tries a server of yours: sends what clients send, and says which clauses of the protocols are held and which are broken,
with what was sent, expected and got. What the server or its agent gave no occasion to look at is "not tried".
Wires: ${conformWires.join(', ')}. Without --wire: all that the server speaks.
After -- comes the command of an agent that speaks ACP, or MCP with --wire mcp, on standard input and output.

Behind the server stands an agent with the tools echo, send, wait and fail; --print-config prints a configuration
of Turnwire with it, and the guide says what they do.

It exits with 0 if nothing is broken, and with 1 otherwise.`,
  options: {
    wire: { type: 'string', value: '<name>', help: 'Try this wire alone' },
    key: { type: 'string', value: '<key>', help: 'The key of the server. Default: $TURNWIRE_KEY' },
    agent: { type: 'string', value: '<name>', help: 'The agent or model to ask for. Default: the first' },
    only: {
      type: 'string',
      value: '<clauses>',
      help: 'Ids, or their beginnings, with commas: AAP-CALL,RESP',
    },
    timeout: { type: 'string', value: '<seconds>', help: 'For one check. Default: 30' },
    json: { type: 'boolean', help: 'Print the report as JSON' },
    list: { type: 'boolean', help: 'List the clauses that are tried, and try nothing' },
    'print-config': { type: 'boolean', help: 'Print a configuration with the agent of the suite' },
  },
  words: 1000,
  async run({ values, words }) {
    if (values['print-config'] === true) return print(conformConfig)
    const wire = readWire(values)
    if (values['list'] === true) return print(listClauses(wire))
    const at = readPlace(words, wire)
    const report = await withProgress('Checking', 'clauses', progress =>
      runConform({
        at,
        timeoutMs: readTimeout(values),
        onProgress: (done, total) => progress.step(done, total),
        ...present({
          wire,
          key: textValue(values, 'key') ?? process.env['TURNWIRE_KEY'],
          agent: textValue(values, 'agent'),
          only: textValue(values, 'only')
            ?.split(',')
            .map(each => each.trim()),
        }),
      }),
    )
    const lines = describeConform(report).map(line => printable(line, 2000))
    printReport(values, report, lines)
    return report.ok ? 0 : 1
  },
}

type Wire = (typeof conformWires)[number]

function readWire(values: Values): Wire | undefined {
  const given = textValue(values, 'wire')
  return given === undefined
    ? undefined
    : knownWord(given, conformWires, `There is no suite for "${printable(given, 80)}".`)
}

function readPlace(words: readonly string[], wire: Wire | undefined): string | readonly string[] {
  const [first] = words
  if (first === undefined)
    throw new UsageError('Say which server: turnwire conform http://127.0.0.1:4117, or -- and a command')
  if (/^(https?|wss?):\/\//.test(first)) {
    if (words.length > 1) throw new UsageError(`"${printable(words[1]!, 80)}" is one word too many.`)
    if (!URL.canParse(first)) throw new UsageError(`"${printable(first, 200)}" is no address.`)
    return first
  }
  if (words.length === 1 && /^[\w.-]+:\d+(?:\/|$)/.test(first))
    throw new UsageError(`"${printable(first, 200)}" is no address: it begins with http:// or https://.`)
  if (wire !== undefined && wire !== 'acp' && wire !== 'mcp')
    throw new UsageError(`${wire} is spoken over HTTP: give an address that begins with http:// or https://.`)
  return words
}

function readTimeout(values: Values): number {
  const given = textValue(values, 'timeout') ?? '30'
  const seconds = Number(given)
  if (!(seconds > 0 && seconds <= 3600))
    throw new UsageError(`--timeout is a number of seconds up to 3600, not "${printable(given, 40)}".`)
  return seconds * 1000
}

function listClauses(wire: Wire | undefined): string {
  return (wire === undefined ? conformWires : [wire])
    .flatMap(name => clausesOfWire(name).map(({ id, clause }) => `${id.padEnd(12)}  ${clause}\n`))
    .join('')
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}
