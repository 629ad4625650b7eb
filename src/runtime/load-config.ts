// Finds and reads a configuration file. TypeScript is loaded as it is.
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { TurnwireError } from '../language/errors.ts'
import { checkConfig, type TurnwireConfig } from './config.ts'

const names = ['turnwire.config.ts', 'turnwire.config.mts', 'turnwire.config.js', 'turnwire.config.mjs']

/** The file given, else the first of the usual names in `folder`, else undefined. */
export function findConfig(given: string | undefined, folder: string): string | undefined {
  if (given === undefined) return names.map(name => resolve(folder, name)).find(file => existsSync(file))
  const file = resolve(folder, given)
  if (!existsSync(file))
    throw new TurnwireError('config_invalid', `There is no file ${file}. Make one with: turnwire init`)
  return file
}

export async function loadConfig(file: string): Promise<TurnwireConfig> {
  let loaded: { default?: unknown }
  findOurselves()
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    throw new TurnwireError('config_invalid', `${file} cannot be loaded: ${words}`, { cause })
  }
  if (loaded.default === undefined)
    throw new TurnwireError(
      'config_invalid',
      `${file} has no default export. End it with: export default defineConfig({ … })`,
    )
  checkConfig(loaded.default, file)
  return loaded.default
}

let found = false

/**
 * A configuration imports `turnwire`. Where that package is not installed beside it (the command came from a checkout or
 * a global installation), this one is meant.
 */
function findOurselves(): void {
  if (found) return
  found = true
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'turnwire' && !specifier.startsWith('turnwire/')) return next(specifier, context)
      try {
        return next(specifier, context)
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}
