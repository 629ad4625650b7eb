// The log: one JSON object a line, on standard error. Values that are known to be secret are masked wherever they occur,
// and so is text that looks like a credential.

import type { Log } from './engine/ports/local.ts'
import type { Json } from './lib/json/index.ts'
import { printable, printableJson } from './lib/text/index.ts'

export type { Log }
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/**
 * Parts of paths that are as good as a key: the token of a callback, of an approval link or of a page to connect, and the id with
 * which a run is cancelled.
 */
const pathSecret = /(?<=\/callbacks\/|\/approve\/|\/connect\/|\/api\/jobs\/)[^\s/?#"\\]+/g
const credential =
  /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}|\b(?:sk|pk|rk|tw)[-_][\w-]{12,}|\bAIza[\w-]{30,}|(?<=:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/g

export type LogOptions = {
  level?: LogLevel
  write?: (line: string) => void
  /** Values that must never be written, such as keys from the configuration. */
  secrets?: () => Iterable<string>
}

export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', write = line => void process.stderr.write(line), secrets = () => [] } = options
  const least = logLevels.indexOf(level)
  return (at, message, fields = {}) => {
    if (logLevels.indexOf(at) < least) return
    const line = JSON.stringify({
      time: new Date().toISOString(),
      level: at,
      message,
      ...printableFields(fields),
    })
    write(`${printableJson(mask(line, secrets()))}\n`)
  }
}

function printableFields(fields: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? printable(value, 2000) : value,
    ]),
  )
}

export function mask(text: string, secrets: Iterable<string>): string {
  let masked = text
  for (const secret of secrets) if (secret.length >= 6) masked = masked.replaceAll(secret, '***')
  return masked.replace(credential, '***').replace(pathSecret, '***')
}
