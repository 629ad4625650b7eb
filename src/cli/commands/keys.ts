// Makes, lists and removes the keys of clients. Only a hash is kept; the key itself is printed once.
import { join } from 'node:path'
import { addKey, readKeys, removeKey } from '../../callers/keys.ts'
import { TurnwireError } from '../../language/errors.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, knownAction, self, UsageError } from '../command.ts'
import { configOption, dataFolder, dataOption } from '../setup.ts'

export const command: CliCommand = {
  name: 'keys',
  usage: 'add <name> [--operator] | list | remove <name>',
  about: `Makes, lists and removes the keys that clients send as "Authorization: Bearer <key>". As soon as there is one, the
server answers nobody without. The name of a key is the owner of the sessions that are made with it. All of
this counts at once, also for a server that is running.`,
  options: {
    operator: { type: 'boolean', help: 'The key sees the sessions of every owner, and the system' },
    data: dataOption,
    config: configOption,
  },
  words: 2,
  async run({ values, words: [action = 'list', name] }) {
    const act = knownAction('keys', { add: printAdded, list: listKeys, remove: printRemoved }, action)
    if (action !== 'list' && name === undefined)
      throw new UsageError(`Say which: turnwire keys ${action} <name>`)
    process.stdout.write(act(await dataFolder(values), name ?? '', values['operator'] === true))
    return 0
  },
}

function listKeys(folder: string): string {
  const known = readKeys(folder)
  if (known.length === 0)
    return `There are no keys in ${folder}: the server is open to this machine, and to it alone.\n`
  return known
    .map(({ name, sha256, operator }) => {
      const scope = operator ? '  operator' : ''
      return `${printable(name, 80)}  sha256 ${printable(sha256.slice(0, 12), 20)}…${scope}\n`
    })
    .join('')
}

function printAdded(folder: string, name: string, operator: boolean): string {
  const isFirst = readKeys(folder).length === 0
  const key = usable(() => addKey(folder, name, operator))
  const scope = operator ? ', which sees the sessions of every owner' : ''
  const first =
    isFirst && !operator
      ? `\nFrom now on nobody is answered without a key. Sessions that were made before belong to "local"; to see them, and the console's\nsystem page, make a key for yourself: ${self} keys add <name> --operator\n`
      : ''
  return `${key}\n\nThat is the key of "${name}"${scope}. It is shown this once: ${join(folder, 'keys.json')} keeps only its hash.\nIt counts at once, also for a server that is running.\n${first}`
}

function usable<Result>(act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw error instanceof TurnwireError && error.code === 'bad_request'
      ? new UsageError(error.message)
      : error
  }
}

function printRemoved(folder: string, name: string): string {
  if (!removeKey(folder, name)) throw new UsageError(`There is no key named "${name}" in ${folder}.`)
  const open =
    readKeys(folder).length === 0
      ? ' It was the last: a running server answers nobody; after its next start it is open to this machine.'
      : ''
  return `The key "${name}" is removed, and is refused from now on.${open}\n`
}
