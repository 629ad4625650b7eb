// Finds and loads a configuration file. TypeScript is run as it is.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import { checkConfig } from './check-config.ts'
import type { TurnwireConfig } from './config.ts'

export const configNames = [
  'turnwire.config.ts',
  'turnwire.config.mts',
  'turnwire.config.js',
  'turnwire.config.mjs',
]

/** The file given, or the first of the usual names in the folder given, else in `folder`; undefined if there is none. */
export function findConfig(given: string | undefined, folder: string): string | undefined {
  if (given === undefined) return configIn(folder)
  const file = resolve(folder, given)
  if (!existsSync(file))
    throw new TurnwireError('config_invalid', `There is no file ${file}. Make one with: turnwire init`)
  if (!statSync(file).isDirectory()) return file
  const inside = configIn(file)
  if (inside !== undefined) return inside
  throw new TurnwireError(
    'config_invalid',
    `There is no ${configNames[0]} in ${file}. Make one with: turnwire init ${given}`,
  )
}

function configIn(folder: string): string | undefined {
  return configNames.map(name => resolve(folder, name)).find(file => existsSync(file))
}

export async function loadConfig(file: string): Promise<TurnwireConfig> {
  const config = await loadDefault(file, 'export default defineConfig({ … })')
  checkConfig(config, file)
  return config
}

/** The default export of a file of the operator's. `wanted`: how it ends, for those who forgot it. */
export async function loadDefault(file: string, wanted: string): Promise<unknown> {
  let loaded: { default?: unknown }
  if (!existsSync(file)) throw new TurnwireError('config_invalid', `There is no file ${file}.`)
  hookImports()
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (cause) {
    const words = wordsOf(cause)
    throw new TurnwireError('config_invalid', `${whereThrown(cause, file)} cannot be loaded: ${words}`, {
      cause,
    })
  }
  if (loaded.default === undefined)
    throw new TurnwireError('config_invalid', `${file} has no default export. End it with: ${wanted}`)
  // An async function would wait for it. The check says what to do instead.
  if (loaded.default instanceof Promise) checkConfig(loaded.default, file)
  return loaded.default
}

/** The first place in the stack that is neither Node's nor of a package: also of a file that the configuration imports. */
function whereThrown(cause: unknown, file: string): string {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  for (const [, place = '', line] of stack.matchAll(STACK_PLACE)) {
    const path = place.startsWith('file:') ? fileURLToPath(place) : place
    if (!/[/\\]node_modules[/\\]/.test(path) && !path.startsWith(ownFolder)) return `${path}:${line}`
  }
  return file
}

const STACK_PLACE = /(?:^|at |\()((?:file:\/\/|\/|[A-Za-z]:\\).*?\.[cm]?[jt]sx?):(\d+)/gm
const ownFolder = fileURLToPath(new URL('..', import.meta.url))

let isHooked = false

/**
 * A configuration imports `turnwire`, and zod for the schemas of its tools. Where these packages are not installed beside
 * it (the command came from a checkout or a global installation), this package and its own zod are used.
 */
function hookImports(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context
      const isForeign = parentURL.includes('/node_modules/') && parentURL !== import.meta.url
      if (isForeign) return next(specifier, context)
      if (!/^(?:turnwire|zod)(?:\/|$)/.test(specifier)) return asModule(next(specifier, context))
      try {
        return next(specifier, context)
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}

/** `npm init -y` marks every folder as CommonJS. A file there that is written as a module is loaded as one. */
function asModule(found: ResolveFnOutput): ResolveFnOutput {
  const { url, format } = found
  if (format !== 'commonjs' && format !== 'commonjs-typescript') return found
  if (!/\.[jt]s$/.test(url) || url.includes('/node_modules/') || !isModuleText(fileURLToPath(url)))
    return found
  return { ...found, format: format === 'commonjs' ? 'module' : 'module-typescript' }
}

/** Only a module has a line that begins with `import` or `export`. A call of `import()` is allowed in both. */
function isModuleText(file: string): boolean {
  return /^(?:import|export)\b(?!\s*\()/m.test(readFileSync(file, 'utf8'))
}
