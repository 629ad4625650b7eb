// Says why a vendor would refuse a history, rule by rule, what the least repair is, and whether the repaired history passes.
// It reads files in a vendor's own form, and recorded sessions.
import { existsSync, readFileSync } from 'node:fs'
import { type DoctorVendor, doctorVendors, type HistoryFinding } from '../../doctor/index.ts'
import { wordsOf } from '../../language/errors.ts'
import type { Json } from '../../lib/json/index.ts'
import { printable, printableJson } from '../../lib/text/index.ts'
import { type CliCommand, knownWord, textValue, UsageError, type Values } from '../command.ts'
import { configOption, dataOption } from '../setup.ts'
import { styles, wantsColour } from '../style.ts'
import { preparedSession } from './prepare.ts'

export const command: CliCommand = {
  name: 'doctor',
  usage: '<history.json | session> --as <vendor> [--fix]',
  about: `Says why a vendor would refuse a history, rule by rule, and what the least repair is. The file holds a request
body or a list of messages in that vendor's own form, "-" reads standard input; the id of a session stands for
what it would send next. The exit code is 1 when something is wrong.
Vendors: ${doctorVendors.join(', ')}`,
  options: {
    as: { type: 'string', value: '<vendor>', help: 'Whose rules are asked' },
    fix: {
      type: 'boolean',
      help: 'Print the repaired body on standard output, and the rest on standard error',
    },
    json: { type: 'boolean', help: 'Print the findings and the changes as JSON' },
    data: dataOption,
    config: configOption,
  },
  words: 1,
  async run({ values, words: [given] }) {
    if (given === undefined)
      throw new UsageError('Say what to look at: turnwire doctor <history.json | session> --as <vendor>')
    const vendor = readDoctorVendor(textValue(values, 'as'))
    const history = await readHistory(given, values)
    const { checkHistory, repairHistory } = await import('../../doctor/index.ts')
    const findings = checkHistory(vendor, history)
    const { body, changes, left } = repairHistory(vendor, history)
    if (values['json'] === true)
      process.stdout.write(`${printableJson(JSON.stringify({ vendor, findings, changes, left }))}\n`)
    else {
      const out = values['fix'] === true ? process.stderr : process.stdout
      out.write(report(vendor, findings, changes, left, wantsColour(out)))
      if (values['fix'] === true) process.stdout.write(`${printableJson(JSON.stringify(body, null, 2))}\n`)
    }
    return findings.length === 0 ? 0 : 1
  },
}

function readDoctorVendor(given: string | undefined): DoctorVendor {
  if (given === undefined)
    throw new UsageError(`Say whose rules are asked: --as <${doctorVendors.join(' | ')}>`)
  return knownWord(given, doctorVendors, `"${printable(given, 80)}" is no vendor that is known here.`)
}

async function readHistory(given: string, values: Values): Promise<Json> {
  if (given !== '-' && !existsSync(given)) {
    if (/[./\\]/.test(given)) throw new UsageError(`There is no file ${printable(given, 200)}.`)
    return JSON.parse((await preparedSession(values, given)).body) as Json // A body is JSON text.
  }
  const text = given === '-' ? readFileSync(0, 'utf8') : readFileSync(given, 'utf8')
  const parsed = parseHistory(text)
  if (typeof parsed === 'object' && parsed !== null) return parsed
  throw new UsageError('The file must hold a request body (an object) or a list of messages, as JSON.')
}

function parseHistory(text: string): Json {
  try {
    return JSON.parse(text) as Json // JSON text yields nothing but Json.
  } catch (error) {
    throw new UsageError(`The file is not JSON: ${wordsOf(error)}`)
  }
}

function report(
  vendor: DoctorVendor,
  findings: readonly HistoryFinding[],
  changes: readonly string[],
  left: readonly HistoryFinding[],
  colour: boolean,
): string {
  const { bold, dim, green, red, yellow } = styles(colour)
  if (findings.length === 0) return `${green('Sound.')} ${vendor} takes this history as it is.\n`
  let text = `${red(`${vendor} would refuse this history`)}, first for the first of these:\n\n`
  for (const { rule, message, why } of findings)
    text += `${bold(rule)}  ${printable(why, 1000)}\n${dim(`      ${printable(message, 600)}`)}\n`
  if (changes.length > 0) {
    text += `\n${bold('The least repair')}\n`
    for (const change of changes) text += `  - ${printable(change, 600)}\n`
  }
  if (left.length === 0)
    return `${text}\n${green('With it, the history passes every rule.')} Print it with --fix.\n`
  text += `\n${yellow('No repair is known for')}\n`
  for (const { rule, message } of left) text += `  ${bold(rule)}  ${printable(message, 600)}\n`
  return text
}
