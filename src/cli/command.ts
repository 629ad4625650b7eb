// The type of a command: its help, its options and its function. Arguments are read here too, so that every command
// refuses a wrong one in the same way.
import { parseArgs } from 'node:util'
import { printable } from '../lib/text/index.ts'
import { nearest } from '../lib/text/nearest.ts'

export type CommandOption = {
  type: 'string' | 'boolean'
  short?: string
  /** It may be given several times. */
  many?: true
  /** How its value is shown in the help. */
  value?: string
  help: string
}

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

export type CliCommand = {
  name: string
  /** After `turnwire <name>`. */
  usage: string
  /** The description on its own help page. */
  about: string
  options: Readonly<Record<string, CommandOption>>
  /** The most words that it takes beside its options. */
  words: number
  /** Gives the exit code. */
  run(input: { values: Values; words: readonly string[] }): Promise<number>
}

/** How to start this command again. Under npm the shell may not find it, but npx does. */
export const self = process.env['npm_lifecycle_event'] === undefined ? 'turnwire' : 'npx turnwire'

/** Hints have the form "…: turnwire <command>"; they are shown as lines that this shell can run. */
export function hintsAsStarted(text: string, start = self): string {
  return text.replaceAll(/(?<=: |")turnwire (?=[a-z])/g, `${start} `)
}

/** The caller's mistake: exit code 2, and one line that says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const commonOptions: Readonly<Record<string, CommandOption>> = {
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
}

export function readArguments(
  command: Pick<CliCommand, 'name' | 'options' | 'words'>,
  args: readonly string[],
): { values: Values; words: string[] } {
  const options: Record<string, CommandOption> = { ...command.options, ...commonOptions }
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const values: Record<string, string | boolean | string[] | undefined> = {}
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined
    if (!option) throw unknownOption(command.name, token.rawName, Object.keys(options))
    if (option.type === 'boolean' && token.value !== undefined)
      throw new UsageError(`${token.rawName} takes no value.`)
    if (
      option.type === 'string' &&
      (token.value === undefined ||
        (!token.inlineValue && token.value.startsWith('-') && token.value !== '-'))
    )
      throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${option.value ?? '<value>'}`)
    if (option.many && token.value !== undefined)
      values[token.name] = [...textValues(values, token.name), token.value]
    else values[token.name] = token.value ?? true
  }
  if (words.length > command.words && values['help'] !== true)
    throw new UsageError(
      `"${printable(words[command.words]!, 80)}" is one word too many. See: turnwire help ${command.name}`,
    )
  return { values, words }
}

function unknownOption(command: string, given: string, known: readonly string[]): UsageError {
  const near = nearest(given.replace(/^-+/, ''), known)
  const hint = near === undefined ? `See: turnwire help ${command}` : `Did you mean --${near}?`
  return new UsageError(`turnwire ${command} has no option ${printable(given, 80)}. ${hint}`)
}

/** Prints what a command found: as JSON where that is asked for, else its lines. */
export function printReport(values: Values, data: object, lines: readonly string[]): void {
  const text = values['json'] === true ? JSON.stringify(data) : lines.join('\n')
  process.stdout.write(`${text}\n`)
}

/** What a wrong word may have meant, or what there is. */
export function suggestWord(given: string, known: readonly string[]): string {
  const near = nearest(given, known)
  if (near !== undefined) return `Did you mean "${printable(near, 80)}"?`
  return `There are: ${printable(known.join(', '), 500)}.`
}

/** `problem`: why a word that is not known cannot be used. */
export function knownWord<Word extends string>(given: string, known: readonly Word[], problem: string): Word {
  const found = known.find(word => word === given)
  if (found === undefined) throw new UsageError(`${problem} ${suggestWord(given, known)}`)
  return found
}

/** The action of a command that has several. */
export function knownAction<Action>(
  command: string,
  actions: Readonly<Record<string, Action>>,
  given: string,
): Action {
  const action = Object.hasOwn(actions, given) ? actions[given] : undefined
  if (action !== undefined) return action
  const names = new Intl.ListFormat('en-GB').format(Object.keys(actions))
  throw new UsageError(`turnwire ${command} knows ${names}, not "${printable(given, 80)}".`)
}

export function textValue(values: Values, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** Of an option that may be given several times. */
export function textValues(values: Values, name: string): readonly string[] {
  const value = values[name]
  return typeof value === 'object' ? value : []
}

/** In quotes where a shell needs them. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A port from an option or the environment. `source` is named if it is not a port. */
export function readPort(text: string | undefined, source: string): number | undefined {
  if (text === undefined || text === '') return undefined
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65535)
    throw new UsageError(
      `${source} must be a number from 0 (any free port) to 65535, not "${printable(text, 40)}".`,
    )
  return port
}

export function commandHelp(command: CliCommand): string {
  const options = Object.entries({ ...command.options, ...commonOptions }).map(
    ([name, option]): [string, string] => {
      const short = option.short !== undefined ? `-${option.short}, ` : '    '
      const value = option.type === 'string' ? ` ${option.value ?? '<value>'}` : ''
      return [`${short}--${name}${value}`, option.help]
    },
  )
  return `turnwire ${command.name}${command.usage === '' ? '' : ` ${command.usage}`}\n\n${command.about}\n\nOptions\n${columns(options)}`
}

export function columns(rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}
