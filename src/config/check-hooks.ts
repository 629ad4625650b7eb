// Checks what a configuration says about the way around a call: its hooks, what may be fetched, and what is traced.
import { hookNames } from '../language/events.ts'
import { checkKinds, checkKnown, isRecord, type Wrong } from '../lib/checks/fields.ts'
import { isHostPattern } from '../lib/net/egress.ts'

export function checkHooks(hooks: unknown, wrong: Wrong): void {
  if (hooks === undefined) return
  if (!isRecord(hooks)) {
    wrong('hooks', 'must be an object of functions.')
    return
  }
  checkKnown(hooks, [...hookNames, 'timeoutMs'], 'hooks.', wrong)
  checkKinds(hooks, { timeoutMs: 'number' }, 'hooks.', wrong)
  for (const name of hookNames)
    if (hooks[name] !== undefined && typeof hooks[name] !== 'function')
      wrong(`hooks.${name}`, 'must be a function.')
}

export function checkEgress(egress: unknown, wrong: Wrong): void {
  if (egress === undefined) return
  if (!isRecord(egress)) {
    wrong('egress', 'must be an object.')
    return
  }
  const numbers = ['maxBytes', 'timeoutMs', 'maxRedirects', 'perMinute']
  checkKnown(egress, ['hosts', 'privateHosts', ...numbers], 'egress.', wrong)
  for (const key of ['hosts', 'privateHosts']) {
    const hosts = egress[key]
    if (hosts === undefined) continue
    if (!Array.isArray(hosts) || !hosts.every(host => typeof host === 'string' && isHostPattern(host)))
      wrong(`egress.${key}`, 'must list hosts: "api.example.com", "*.example.com" or "localhost:3000".')
  }
  for (const key of numbers) {
    const value = egress[key]
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0))
      wrong(`egress.${key}`, 'must be a whole number.')
  }
}

export function checkTelemetry(telemetry: unknown, wrong: Wrong): void {
  if (telemetry === undefined) return
  if (!isRecord(telemetry)) {
    wrong('telemetry', 'must be an object.')
    return
  }
  checkKnown(telemetry, ['content'], 'telemetry.', wrong)
  checkKinds(telemetry, { content: 'boolean' }, 'telemetry.', wrong)
}
