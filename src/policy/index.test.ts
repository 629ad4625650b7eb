import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateContract } from '../../test/contracts/gate.ts'
import { createGate, type GateOptions } from './index.ts'

gateContract('the default gate', () => createGate())
gateContract('a gate that redacts', () =>
  createGate({ redact: ['secrets', { name: 'ssn', pattern: '[0-9]{3}-[0-9]{2}-[0-9]{4}' }] }),
)

for (const [name, options, message] of [
  ['maxDepth', { maxDepth: 0 }, /"maxDepth".*whole number/],
  ['maxDepth above what can be written', { maxDepth: 501 }, /"maxDepth".*from 1 to 500/],
  ['maxArgumentBytes', { maxArgumentBytes: 1.5 }, /"maxArgumentBytes"/],
  ['mediaLimit', { mediaLimit: Number.POSITIVE_INFINITY }, /"mediaLimit"/],
  // A configuration file can hold any value.
  ['rules', { rules: 'deny' } as unknown as GateOptions, /"rules".*list/],
] as const)
  test(`an invalid ${name} is refused when the gate is made`, () => {
    assert.throws(() => createGate(options), { code: 'config_invalid', message })
  })
