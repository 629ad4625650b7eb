// Bearer keys. A key is shown once, when it is made; only its hash is kept. The name of a key is the owner of the
// sessions that are created with it.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { closeFolder } from '../lib/files/close-folder.ts'
import { sha256 } from '../lib/json/hash.ts'
import type { Principal } from './caller.ts'

/** The owner of sessions that are made without a key: by the library, the command, and a server without keys. */
export const localOwner = 'local'

/** `operator`: the key sees the sessions of every owner, and the system. `roles`: which approvals it may decide. */
export type KeyEntry = { name: string; sha256: string; operator?: true; roles?: readonly string[] }

/** An admitted caller. Connections may outlive the key: they ask `holds`, which never throws, at each frame. */
export type AdmittedKey = { principal: Principal; holds: () => boolean }

/** So long another process's change of the keys may go unnoticed. */
const goodForMs = 5

/** The caller of a server without keys. */
const anyone: Principal = { owner: localOwner, name: localOwner, operator: true }

/** The keys of the configuration and those of a data folder. The folder's are read again when its file has changed. */
export class Keys {
  readonly #fixed: readonly KeyEntry[]
  readonly #folder: string | undefined
  /** The file of the folder's keys. */
  readonly #file: string | undefined
  #byHash = new Map<string, Principal>()
  #names: ReadonlySet<string> = new Set()
  #stamp = ''
  /** When the file was looked at last, and how many writes of this process came before. */
  #lookedAt = -Infinity
  #lookedAfter = 0
  #hadKeys: boolean

  /** `guarded`: callers are identified in another way too, so without any key nobody is let in. */
  constructor(fixed: readonly KeyEntry[], folder?: string, guarded = false) {
    this.#fixed = fixed
    this.#hadKeys = guarded
    this.#folder = folder
    this.#file = folder === undefined ? undefined : keyFile(folder)
    this.#read(this.#file === undefined ? '' : keyFileStamp(this.#file))
  }

  /**
   * No key exists and none has existed since the start: every caller is let in. When the last key is removed, no caller
   * is let in until there is another key or the server is started again.
   */
  get open(): boolean {
    this.#refresh()
    return !this.#hadKeys
  }

  /** False: the keys cannot be read now. Then new callers are refused, and open connections end. */
  #isCurrent(): boolean {
    try {
      this.#refresh()
      return true
    } catch {
      return false
    }
  }

  /** Looks up the hash, so that the time it takes does not depend on the key. */
  findHash(hash: string): Principal | undefined {
    this.#refresh()
    return this.#byHash.get(hash)
  }

  /** The caller who has this key, for as long as the key is there and has the same scope. */
  admit(hash: string): AdmittedKey | undefined {
    const principal = this.findHash(hash)
    if (!principal) return undefined
    return { principal, holds: () => this.#isCurrent() && isSameKey(this.#byHash.get(hash), principal) }
  }

  /** Admits a caller without a key, as long as no key exists. */
  admitAnyone(): AdmittedKey | undefined {
    this.#refresh()
    if (this.#hadKeys) return undefined
    return { principal: anyone, holds: () => this.#isCurrent() && !this.#hadKeys }
  }

  /** `fixed`: from the configuration, so it cannot be removed here. */
  list(): { name: string; operator: boolean; fixed: boolean; roles?: readonly string[] }[] {
    const kept = this.#folder === undefined ? [] : readKeys(this.#folder)
    const listed = ({ name, operator, roles }: KeyEntry, fixed: boolean) => {
      return { name, operator: operator === true, fixed, ...(roles && { roles }) }
    }
    return [...this.#fixed.map(entry => listed(entry, true)), ...kept.map(entry => listed(entry, false))]
  }

  /** There is a key of this name, so the name is its owner's. */
  hasName(name: string): boolean {
    this.#refresh()
    return this.#names.has(name)
  }

  /** Requests, and frames of streams, share a look at the file. A write of this process counts at once. */
  #refresh(): void {
    if (this.#file === undefined) return
    const now = performance.now()
    if (this.#lookedAfter === writes && now - this.#lookedAt < goodForMs) return
    const stamp = keyFileStamp(this.#file)
    if (stamp !== this.#stamp) this.#read(stamp)
    this.#lookedAfter = writes
    this.#lookedAt = now
  }

  /** A file that cannot be read is no reason to let anyone in: it throws, and the next request tries again. */
  #read(stamp: string): void {
    const entries = [...this.#fixed, ...(this.#folder === undefined ? [] : readKeys(this.#folder))]
    this.#byHash = new Map(
      entries.map(({ name, sha256: hash, operator, roles }) => [
        hash,
        { owner: name, name, ...(operator && { operator }), ...(roles?.length && { roles }) },
      ]),
    )
    this.#names = new Set(entries.map(({ name }) => name))
    this.#stamp = stamp
    this.#hadKeys ||= entries.length > 0
  }
}

function isSameKey(found: Principal | undefined, { owner, operator, roles = [] }: Principal): boolean {
  const now = found?.roles ?? []
  return (
    found?.owner === owner &&
    found.operator === operator &&
    now.length === roles.length &&
    now.every((role, index) => role === roles[index])
  )
}

/** Changes with every write, since a write puts a new file in the old one's place. */
function keyFileStamp(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`
}

export function newKey(
  name: string,
  operator = false,
  roles: readonly string[] = [],
): { key: string; entry: KeyEntry } {
  const key = `tw_${randomBytes(24).toString('base64url')}`
  const scope = { ...(operator && { operator }), ...(roles.length > 0 && { roles }) }
  return { key, entry: { name, sha256: sha256(key), ...scope } }
}

export const roleRule = 'A role has 1 to 64 letters, digits, ".", "_", "@", "/" or "-".'
const roleForm = /^[\w.@/-]{1,64}$/

export function isRole(role: unknown): role is string {
  return typeof role === 'string' && roleForm.test(role)
}

/** Adds a key to a data folder, and gives it. Throws `bad_request` for a name that cannot be used. */
export function addKey(
  folder: string,
  name: string,
  operator = false,
  roles: readonly string[] = [],
): string {
  if (!/^[\w.@-]{1,64}$/.test(name))
    throw refusedName('The name of a key has 1 to 64 letters, digits, ".", "_", "@" or "-".')
  if (name === localOwner)
    throw refusedName(
      `"${localOwner}" owns the sessions of programs on this machine. Choose another name for the key.`,
    )
  const known = readKeys(folder)
  if (known.some(each => each.name === name))
    throw refusedName(`There is a key named "${name}". Remove it first, or choose another name.`)
  if (!roles.every(isRole)) throw refusedName(roleRule)
  const { key, entry } = newKey(name, operator, roles)
  writeKeys(folder, [...known, entry])
  return key
}

/** False: there is none of this name. */
export function removeKey(folder: string, name: string): boolean {
  const known = readKeys(folder)
  const left = known.filter(each => each.name !== name)
  if (left.length < known.length) writeKeys(folder, left)
  return left.length < known.length
}

const refusedName = (message: string): TurnwireError => new TurnwireError('bad_request', message)

function keyFile(folder: string): string {
  return join(folder, 'keys.json')
}

export function readKeys(folder: string): KeyEntry[] {
  const file = keyFile(folder)
  if (!existsSync(file)) return []
  const text = orInvalid(() => readFileSync(file, 'utf8'), `${file} cannot be read`)
  try {
    const entries: unknown = JSON.parse(text)
    if (Array.isArray(entries) && entries.every(isKeyEntry)) return entries
  } catch (cause) {
    throw new TurnwireError(
      'config_invalid',
      `${file} is not valid JSON. Repair it, or delete it: the server then has no keys, and listens on loopback only.`,
      { cause },
    )
  }
  throw new TurnwireError(
    'config_invalid',
    `${file} must be a list of {"name", "sha256"}, the hash in base64url.`,
  )
}

/** Of this process. */
let writes = 0

function writeKeys(folder: string, entries: readonly KeyEntry[]): void {
  writes += 1
  const file = keyFile(folder)
  orInvalid(() => {
    closeFolder(folder, `The data folder ${folder}`)
    writeFileSync(`${file}.new`, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }, `${file} cannot be written`)
}

function orInvalid<Result>(work: () => Result, failed: string): Result {
  try {
    return work()
  } catch (cause) {
    throw new TurnwireError('config_invalid', `${failed}: ${wordsOf(cause)}`, { cause })
  }
}

export function isKeyEntry(value: unknown): value is KeyEntry {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'sha256' in value &&
    typeof value.sha256 === 'string' &&
    /^[\w-]{43}$/.test(value.sha256) &&
    (!('operator' in value) || value.operator === true) &&
    (!('roles' in value) || (Array.isArray(value.roles) && value.roles.every(isRole)))
  )
}
