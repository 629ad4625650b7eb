// Makes, lists and removes the keys of clients. Only a hash is kept; the key itself is printed once.
import { join } from 'node:path'
import { printable } from '../../lib/text.ts'
import { localOwner, newKey, readKeys, writeKeys } from '../../runtime/keys.ts'
import { type CliCommand, UsageError } from '../command.ts'
import { configOption, dataFolder, dataOption } from '../setup.ts'

export const keys: CliCommand = {
  name: 'keys',
  usage: 'add <name> | list | remove <name>',
  about: `Makes, lists and removes the keys that clients send as "Authorization: Bearer <key>". As soon as there is one, the
server answers nobody without. The name of a key is the owner of the sessions that are made with it. All of
this counts at once, also for a server that is running.`,
  options: { data: dataOption, config: configOption },
  words: 2,
  async run({ values, words: [action = 'list', name] }) {
    const act = readAction(action, name)
    process.stdout.write(act(await dataFolder(values)))
    return 0
  },
}

function readAction(action: string, name: string | undefined): (folder: string) => string {
  if (action === 'list') return listKeys
  if (action !== 'add' && action !== 'remove')
    throw new UsageError(`turnwire keys knows add, list and remove, not "${printable(action, 80)}".`)
  const checked = checkName(action, name)
  return folder => (action === 'add' ? addKey(folder, checked) : removeKey(folder, checked))
}

function checkName(action: string, name: string | undefined): string {
  if (name === undefined) throw new UsageError(`Say which: turnwire keys ${action} <name>`)
  if (!/^[\w.@-]{1,64}$/.test(name))
    throw new UsageError('The name of a key has 1 to 64 letters, digits, ".", "_", "@" or "-".')
  return name
}

function listKeys(folder: string): string {
  const known = readKeys(folder)
  if (known.length === 0)
    return `There are no keys in ${folder}: the server is open to this machine, and to it alone.\n`
  return known
    .map(({ name, sha256 }) => `${printable(name, 80)}  sha256 ${printable(sha256.slice(0, 12), 20)}…\n`)
    .join('')
}

function addKey(folder: string, name: string): string {
  const known = readKeys(folder)
  if (known.some(each => each.name === name))
    throw new UsageError(
      `There is a key named "${name}". Remove it first (turnwire keys remove ${name}), or choose another name.`,
    )
  if (name === localOwner)
    throw new UsageError(
      `"${localOwner}" owns the sessions of programs on this machine. Choose another name for the key.`,
    )
  const { key, entry } = newKey(name)
  writeKeys(folder, [...known, entry])
  return `${key}\n\nThat is the key of "${name}". It is shown this once: ${join(folder, 'keys.json')} keeps only its hash.\nIt counts at once, also for a server that is running.\n`
}

function removeKey(folder: string, name: string): string {
  const known = readKeys(folder)
  const left = known.filter(each => each.name !== name)
  if (left.length === known.length) throw new UsageError(`There is no key named "${name}" in ${folder}.`)
  writeKeys(folder, left)
  const open =
    left.length === 0
      ? ' It was the last: a running server answers nobody; after its next start it is open to this machine.'
      : ''
  return `The key "${name}" is removed, and is refused from now on.${open}\n`
}
