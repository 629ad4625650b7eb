// The tools that OpenAI defines and its caller runs, and how their items become calls of ours and our outcomes their
// output items. How another one is bound is said in common/vendor-typed.ts.

import type { Outcome } from '../../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { flaggedText, isFailed } from '../../common/history.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import type { VendorTyped } from '../../common/vendor-typed.ts'
import { computerTool } from './computer.ts'

/** The call of a tool is an item `<type>_call`, and its result an item `<type>_call_output`. */
function itemTool(
  type: string,
  rest: Pick<VendorTyped, 'form' | 'read' | 'write' | 'result'>,
  declare: VendorTyped['declare'] = given => given,
): VendorTyped {
  return {
    type: new RegExp(`^${type}$`),
    declare,
    isCall: call => call['type'] === `${type}_call`,
    ...rest,
  }
}

export const responsesTyped: readonly VendorTyped[] = [
  itemTool('shell', { form: 'json', read: readShell, result: shellResult }, given => ({
    // It says that the caller runs the commands, and not a container of the vendor's.
    environment: { type: 'local' },
    ...given,
  })),
  itemTool('local_shell', { form: 'json', read: readLocalShell, result: localShellResult }),
  itemTool('apply_patch', { form: 'text', read: readPatch, result: patchResult }),
  computerTool,
]

/** The binding for an item, whether or not a tool of this request has it: by it kept items are read again. */
export function typedItem(item: JsonObject): VendorTyped | undefined {
  return responsesTyped.find(typed => typed.isCall(item, {}))
}

// ---- shell -----------------------------------------------------------------------------------------------

function readShell({ action }: JsonObject): string {
  const { commands, timeout_ms, max_output_length } = asObject(action)
  return JSON.stringify({
    commands: asList(commands),
    ...(typeof timeout_ms === 'number' && { timeout_ms }),
    ...(typeof max_output_length === 'number' && { max_output_length }),
  })
}

/** One command as a list of words; our shell takes a line. */
function readLocalShell({ action }: JsonObject): string {
  const { command, env, timeout_ms, working_directory: folder, user } = asObject(action)
  const variables = Object.entries(asObject(env)).map(([name, value]) =>
    quoteWord(`${name}=${asString(value)}`),
  )
  const words = asList(command).map(word => quoteWord(asString(word)))
  const line = [...(variables.length > 0 ? ['env', ...variables] : []), ...words].join(' ')
  const place = asString(folder) === '' ? '' : `cd ${quoteWord(asString(folder))} && `
  return JSON.stringify({
    commands: [`${place}${line}`],
    ...(typeof timeout_ms === 'number' && { timeout_ms }),
    // Our shell has one user: its schema refuses this, and the model reads why.
    ...(asString(user) !== '' && { user }),
  })
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

type CommandResult = { stdout: string; stderr: string; outcome: JsonObject }

/** The result of each command in our shell's structured result. Any other outcome becomes one command's result. */
function commandResults(outcome: Outcome): CommandResult[] {
  const given = isJsonObject(outcome.structured) ? asList(outcome.structured['results']) : []
  const results = given.flatMap(each => (isJsonObject(each) ? [commandResult(each)] : []))
  if (results.length > 0) return results
  const text = flaggedText(outcome)
  return isFailed(outcome)
    ? [{ stdout: '', stderr: text, outcome: exit(1) }]
    : [{ stdout: text, stderr: '', outcome: exit(0) }]
}

function commandResult({ stdout, stderr, exit_code: code, timed_out: late }: JsonObject): CommandResult {
  const outcome = late === true ? { type: 'timeout' } : exit(typeof code === 'number' ? code : 1)
  return { stdout: asString(stdout), stderr: asString(stderr), outcome }
}

const exit = (exit_code: number): JsonObject => ({ type: 'exit', exit_code })

function shellResult(outcome: Outcome, call: JsonObject): JsonObject {
  const most: Json | undefined = asObject(call['action'])['max_output_length']
  return { output: commandResults(outcome), ...(typeof most === 'number' && { max_output_length: most }) }
}

function localShellResult(outcome: Outcome): JsonObject {
  const [{ stdout, stderr, outcome: ended }] = commandResults(outcome) as [CommandResult]
  return { output: JSON.stringify({ stdout, stderr, exit_code: ended['exit_code'] ?? null }) }
}

// ---- patches ---------------------------------------------------------------------------------------------

const HEADERS: Readonly<Record<string, string>> = {
  create_file: 'Add',
  update_file: 'Update',
  delete_file: 'Delete',
}

/** One file's change, as a patch that may hold several. A path with a line break gives no patch, and is refused as such. */
function readPatch({ operation }: JsonObject): string {
  const { type, path, diff } = asObject(operation)
  const verb = HEADERS[asString(type)]
  if (verb === undefined || /[\r\n]/.test(asString(path)))
    return `[not a patch: ${JSON.stringify(operation)}]`
  const body = verb === 'Delete' || asString(diff) === '' ? '' : `${asString(diff).replace(/\n$/, '')}\n`
  return `*** Begin Patch\n*** ${verb} File: ${asString(path)}\n${body}*** End Patch`
}

function patchResult(outcome: Outcome): JsonObject {
  return { status: isFailed(outcome) ? 'failed' : 'completed', output: flaggedText(outcome) }
}
