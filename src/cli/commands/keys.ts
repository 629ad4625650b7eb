// Makes, lists and removes the keys of clients. Only a hash is kept; the key itself is printed once.
import { join } from 'node:path'
import { keyText } from '../../callers/environment-keys.ts'
import { addKey, isRole, newKey, readKeys, removeKey, roleRule } from '../../callers/keys.ts'
import { isPostgresUrl } from '../../data/data-place.ts'
import { hasCode } from '../../language/errors.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, knownAction, self, UsageError, type Values } from '../command.ts'
import { configOption, dataFolder, dataOption, sessionData } from '../setup.ts'

export const command: CliCommand = {
  name: 'keys',
  usage:
    'add <name> [--operator] [--roles <a,b>] | list | remove <name> | hash <name> [--operator] [--roles <a,b>]',
  about: `Makes, lists and removes the keys that clients send as "Authorization: Bearer <key>". As soon as there is one, the
server answers nobody without. The name of a key is the owner of the sessions that are made with it. All of
this counts at once, also for a server that is running. "hash" keeps nothing: it prints a key and its hash for TURNWIRE_KEYS,
or the hash of the key on standard input.`,
  options: {
    operator: { type: 'boolean', help: 'The key sees the sessions of every owner, and the system' },
    roles: { type: 'string', help: 'Roles of the key, such as finance,legal: which approvals it may decide' },
    data: dataOption,
    config: configOption,
  },
  words: 2,
  async run({ values, words: [action = 'list', name] }) {
    const actions = { add: printAdded, list: listKeys, remove: printRemoved, hash: printHashed }
    const act = knownAction('keys', actions, action)
    if (action !== 'list' && name === undefined)
      throw new UsageError(`Say which: turnwire keys ${action} <name>`)
    const place = action === 'hash' ? noPlace : await findKeys(values)
    const roles = String(values['roles'] ?? '')
      .split(',')
      .map(role => role.trim())
      .filter(role => role !== '')
    process.stdout.write(await act(place, name ?? '', { operator: values['operator'] === true, roles }))
    return 0
  },
}

/** The scope of a new key. */
type Scope = { operator: boolean; roles: readonly string[] }

const noPlace = { folder: '', isShared: false }

async function findKeys(values: Values): Promise<Place> {
  return { folder: await dataFolder(values), isShared: isPostgresUrl(await sessionData(values)) }
}

/** `isShared`: sessions are in a database. Keys never are. */
type Place = { folder: string; isShared: boolean }

/** A key that is given is hashed; else one is made. Neither is kept. */
async function printHashed(_place: Place, name: string, scope: Scope): Promise<string> {
  if (!/^[\w.@-]{1,64}$/.test(name))
    throw new UsageError('The name of a key has 1 to 64 letters, digits, ".", "_", "@" or "-".')
  const given = process.stdin.isTTY ? '' : (await process.stdin.setEncoding('utf8').toArray()).join('').trim()
  if (given !== '' && given.length < 16)
    throw new UsageError(
      'The key on standard input is shorter than 16 characters. Make one: turnwire keys hash <name> </dev/null',
    )
  if (!scope.roles.every(isRole)) throw new UsageError(roleRule)
  const { key, entry } = newKey(name, scope.operator, scope.roles)
  if (given !== '') return `TURNWIRE_KEYS=${keyText({ ...entry, sha256: sha256(given) })}\n`
  return `${key}\n\nThat is the key of "${name}"${describeScope(scope)}. It is shown this once and kept nowhere. A server that has this in its environment takes it:\n\nTURNWIRE_KEYS=${keyText(entry)}\n\nSeveral are separated by commas. TURNWIRE_KEYS_FILE names a file of them.\n`
}

function describeScope({ operator, roles }: Scope): string {
  const sees = operator ? ', which sees the sessions of every owner' : ''
  return roles.length === 0
    ? sees
    : `${sees}, with the role${roles.length > 1 ? 's' : ''} ${roles.join(', ')}`
}

function listKeys({ folder }: Place): string {
  const known = readKeys(folder)
  if (known.length === 0)
    return `There are no keys in ${folder}: the server is open to this machine, and to it alone.\n`
  return known
    .map(({ name, sha256, operator, roles = [] }) => {
      const scope = `${operator ? '  operator' : ''}${roles.map(role => `  role ${role}`).join('')}`
      return `${printable(name, 80)}  sha256 ${printable(sha256.slice(0, 12), 20)}…${scope}\n`
    })
    .join('')
}

function printAdded({ folder, isShared }: Place, name: string, scope: Scope): string {
  const isFirst = readKeys(folder).length === 0
  const key = usable(() => addKey(folder, name, scope.operator, scope.roles))
  const first =
    isFirst && !scope.operator
      ? `\nFrom now on nobody is answered without a key. Sessions that were made before belong to "local"; to see them, and the console's\nsystem page, make a key for yourself: ${self} keys add <name> --operator\n`
      : ''
  return `${key}\n\nThat is the key of "${name}"${describeScope(scope)}. It is shown this once: ${join(folder, 'keys.json')} keeps only its hash.\n${isShared ? onThisMachine(folder) : 'It counts at once, also for a server that is running.\n'}${first}`
}

/** Keys are not in the database: its nodes may have different ones. */
function onThisMachine(folder: string): string {
  return `Sessions are in PostgreSQL, but keys are not: this one counts for servers that run here and had ${folder} when they started.\nOther nodes do not know it. For all of them, use the environment: ${self} keys hash <name>\n`
}

function usable<Result>(act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw hasCode(error, 'bad_request') ? new UsageError(error.message) : error
  }
}

function printRemoved({ folder }: Place, name: string): string {
  if (!removeKey(folder, name)) throw new UsageError(`There is no key named "${name}" in ${folder}.`)
  const open =
    readKeys(folder).length === 0
      ? ' It was the last: a running server answers nobody; after its next start it is open to this machine.'
      : ''
  return `The key "${name}" is removed, and is refused from now on.${open}\n`
}
