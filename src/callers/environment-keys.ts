// Keys that the environment gives, for containers and clusters, where no folder is shared: TURNWIRE_KEYS, or a file that TURNWIRE_KEYS_FILE
// names, as secrets are mounted. Only hashes, in the form that `turnwire keys hash` prints.
import { readFileSync } from 'node:fs'
import { TurnwireError } from '../language/errors.ts'
import type { KeyEntry } from './keys.ts'

/** Throws `config_invalid` for an entry that cannot be read. */
export function environmentKeys(env = process.env): KeyEntry[] {
  const file = env['TURNWIRE_KEYS_FILE'] ?? ''
  return [
    ...readEntries(env['TURNWIRE_KEYS'] ?? '', 'TURNWIRE_KEYS'),
    ...(file === '' ? [] : readEntries(readKeyFile(file), file)),
  ]
}

/** One entry, as these variables have it. */
export function keyText({ name, sha256, operator, roles = [] }: KeyEntry): string {
  return `${name}=${sha256}${operator ? ':operator' : ''}${roles.map(role => `:role=${role}`).join('')}`
}

function readEntries(text: string, source: string): KeyEntry[] {
  return text
    .split(/[\s,]+/)
    .filter(entry => entry !== '' && !entry.startsWith('#'))
    .map((entry, index) => {
      const [, name, sha256, operator, given = ''] =
        /^([\w.@-]{1,64})=([\w-]{43})(:operator)?((?::role=[\w.@/-]{1,64})*)$/.exec(entry) ?? []
      const roles = given.split(':role=').slice(1)
      // The entry itself may be a key that someone put there by mistake.
      if (name === undefined || sha256 === undefined)
        throw new TurnwireError(
          'config_invalid',
          `Entry ${index + 1} of ${source} cannot be read. Each is <name>=<sha256>, with :operator and :role=<role> after it where they are wanted, as this prints it: turnwire keys hash <name>`,
        )
      return {
        name,
        sha256,
        ...(operator !== undefined && { operator: true as const }),
        ...(roles.length > 0 && { roles }),
      }
    })
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TurnwireError('config_invalid', `TURNWIRE_KEYS_FILE names ${file}, which cannot be read.`, {
      cause,
    })
  }
}
